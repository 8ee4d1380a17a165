#pragma once

#include "base/types.hpp"

#include <functional>

namespace maxmargin {

// The number of threads to use: `requested`, or OpenMP's own default (OMP_NUM_THREADS, the limits
// of threadpoolctl, the cores) when `requested` is 0. It is 1 in a child forked after threads have
// run, since the pool of threads does not exist there, and inside a parallel region.
int thread_count(int requested);
// Likewise for work of about so many multiplications: 1 where that is so little that waking the
// other threads costs more than they save. (On busy cores it costs a thousand times more.)
int thread_count_for(int requested, double work);

// Runs task(i, thread) for every i in [0, n_tasks), each once, on `threads` threads; `thread` is in
// [0, threads). Which thread runs which task is unspecified: results must not depend on it. The
// first exception thrown by a task is thrown again here after the others have ended; tasks not yet
// begun are then skipped. Thread 0 is the calling thread.
void parallel_for(index_t n_tasks, int threads,
                  const std::function<void(index_t task, int thread)>& task);

// Splits [0, n) into one contiguous range per thread, each a multiple of `grain` except the last,
// and runs body(begin, end, thread) on them.
void parallel_ranges(index_t n, index_t grain, int threads,
                     const std::function<void(index_t begin, index_t end, int thread)>& body);

} // namespace maxmargin
