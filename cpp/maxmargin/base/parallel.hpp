#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/base/types.hpp"

#include <functional>

namespace maxmargin {

// The number of threads to use: `requested`, but no more than cpu_limits() allows, or all of these
// if it is 0. It is 1 inside a parallel region. The limits may change from call to call: what is
// sized by a number of threads must be used with that number.
MAXMARGIN_INSIDE int thread_count(int requested);
// Likewise for work of about so many multiplications: no more than it pays to wake.
int thread_count_for(int requested, double work);

// Wakes the threads of a parallel_for that begins in about the time that waking takes, some 20
// microseconds.
void wake_threads(int threads);

// Runs task(i, thread) for every i in [0, n_tasks), each once, on at most `threads` threads;
// `thread` is in [0, threads). Which thread runs which task is unspecified: results must not depend
// on it. The first exception thrown by a task is thrown again here after the others have ended;
// tasks not yet begun are then skipped. Thread 0 is the calling thread, and takes every task that
// no other thread takes.
void parallel_for(index_t n_tasks, int threads,
                  const std::function<void(index_t task, int thread)>& task);

// Splits [0, n) into a few contiguous ranges per thread, each a multiple of `grain` except the
// last, and runs body(begin, end, thread) on them.
void parallel_ranges(index_t n, index_t grain, int threads,
                     const std::function<void(index_t begin, index_t end, int thread)>& body);

// Likewise, in more ranges, before each of which `control` is polled.
MAXMARGIN_INSIDE void
parallel_ranges(index_t n, index_t grain, int threads, Control& control,
                const std::function<void(index_t begin, index_t end, int thread)>& body);

} // namespace maxmargin
