#include "maxmargin/base/parallel.hpp"

#include "maxmargin/base/cpu_limits.hpp"
#include "maxmargin/base/thread_pool.hpp"
#include "maxmargin/base/wake_up.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// Multiplications that a thread must have to do, lest waking it cost more: some 50 microseconds,
// where a wake-up takes 20.
constexpr double kWorkOfThread = 1e6;

// Ranges per thread: one that comes late leaves the others a part of its share.
constexpr index_t kRangesOfThread = 2;
// In all, of work that is polled: a pass over 100 GB, at 2 GB a second, is polled every 0.1 s.
constexpr index_t kPolledRanges = 512;

void for_ranges(index_t n, index_t grain, index_t most_parts, int threads,
                const std::function<void(index_t begin, index_t end, int thread)>& body) {
  const index_t n_grains = (n + grain - 1) / grain;
  const index_t n_parts = std::min(most_parts, n_grains);
  parallel_for(n_parts, threads, [&](index_t part, int thread) {
    const index_t begin = part * n_grains / n_parts * grain;
    const index_t end = std::min(n, (part + 1) * n_grains / n_parts * grain);
    body(begin, end, thread);
  });
}

} // namespace

int thread_count(int requested) {
  if (requested == 1 || ThreadPool::is_inside()) return 1;
  const CpuLimits limits = cpu_limits();
  const int wanted = requested > 0 ? std::min(requested, limits.most_threads()) : limits.threads();
  return std::clamp(wanted, 1, ThreadPool::kMostThreads);
}

int thread_count_for(int requested, double work) {
  if (requested != 1) check_thread_variables(); // whether it fails does not depend on the work
  const double useful = work / (kWorkOfThread * WakeUp::of_process().ratio());
  if (useful < 2.0) return 1;
  const double most = std::min(useful, static_cast<double>(ThreadPool::kMostThreads));
  return std::min(thread_count(requested), static_cast<int>(most));
}

void wake_threads(int threads) {
  if (threads > 1 && !ThreadPool::is_inside()) ThreadPool::of_process().rouse(threads);
}

void parallel_for(index_t n_tasks, int threads,
                  const std::function<void(index_t task, int thread)>& task) {
  if (n_tasks <= 1 ||
      (threads = static_cast<int>(std::min<index_t>(thread_count(threads), n_tasks))) <= 1) {
    for (index_t i = 0; i < n_tasks; ++i) task(i, 0);
    return;
  }
  SharedTasks tasks(n_tasks, task);
  ThreadPool::of_process().run(tasks, threads);
}

void parallel_ranges(index_t n, index_t grain, int threads,
                     const std::function<void(index_t begin, index_t end, int thread)>& body) {
  if (n <= 0) return;
  threads = static_cast<int>(std::min<index_t>(thread_count(threads), (n + grain - 1) / grain));
  for_ranges(n, grain, threads > 1 ? threads * kRangesOfThread : 1, threads, body);
}

void parallel_ranges(index_t n, index_t grain, int threads, Control& control,
                     const std::function<void(index_t begin, index_t end, int thread)>& body) {
  for_ranges(n, grain, kPolledRanges, threads, [&](index_t begin, index_t end, int thread) {
    control.poll();
    body(begin, end, thread);
  });
}

} // namespace maxmargin
