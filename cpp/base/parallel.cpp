#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#define MAXMARGIN_HAS_FORK 1
#endif

// The thread sanitizer cannot see how OpenMP's library starts and joins a team, so it is told.
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* event);
extern "C" void __tsan_release(void* event);
#define MAXMARGIN_UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define MAXMARGIN_UNCHECKED
#endif

namespace maxmargin {
namespace {

constexpr double kSmallWork = 2e6; // multiplications

// The process in which a team of threads was first started, 0 before that. A forked child inherits
// the value but not the threads (libgomp waits for them for ever), so it must not start a team.
std::atomic<long> team_owner{0};

long this_process() {
#ifdef MAXMARGIN_HAS_FORK
  return static_cast<long>(getpid());
#else
  return 1;
#endif
}

[[maybe_unused]] bool threads_lost_in_fork() {
  const long owner = team_owner.load(std::memory_order_relaxed);
  return owner != 0 && owner != this_process();
}

// Something that happens on one thread before another goes on.
class Event {
 public:
#ifdef __SANITIZE_THREAD__
  void has_happened() { __tsan_release(this); }
  void is_awaited() { __tsan_acquire(this); }
#else
  void has_happened() {}
  void is_awaited() {}
#endif
};

class FirstException {
 public:
  template <class F> void guard(const F& f) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
};

} // namespace

int thread_count(int requested) {
#ifdef _OPENMP
  if (omp_in_parallel() || threads_lost_in_fork()) return 1;
  return std::max(1, requested > 0 ? requested : omp_get_max_threads());
#else
  (void)requested;
  return 1;
#endif
}

int thread_count_for(int requested, double work) {
  return work < kSmallWork ? 1 : thread_count(requested);
}

MAXMARGIN_UNCHECKED void parallel_for(index_t n_tasks, int threads,
                                      const std::function<void(index_t task, int thread)>& task) {
  threads = static_cast<int>(std::min<index_t>(thread_count(threads), n_tasks));
  if (threads <= 1) {
    for (index_t i = 0; i < n_tasks; ++i) task(i, 0);
    return;
  }
#ifdef _OPENMP
  team_owner.store(this_process(), std::memory_order_relaxed);
  FirstException first;
  Event start;
  Event end;
  start.has_happened();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (index_t i = 0; i < n_tasks; ++i) {
    start.is_awaited();
    first.guard([&] { task(i, omp_get_thread_num()); });
    end.has_happened();
  }
  end.is_awaited();
  first.rethrow();
#endif
}

void parallel_ranges(index_t n, index_t grain, int threads,
                     const std::function<void(index_t begin, index_t end, int thread)>& body) {
  if (n <= 0) return;
  const index_t n_grains = (n + grain - 1) / grain;
  threads = static_cast<int>(std::min<index_t>(thread_count(threads), n_grains));
  const index_t share = (n_grains + threads - 1) / threads * grain;
  parallel_for(threads, threads, [&](index_t part, int thread) {
    const index_t begin = part * share;
    const index_t end = std::min(n, begin + share);
    if (begin < end) body(begin, end, thread);
  });
}

} // namespace maxmargin
