#pragma once

#include "maxmargin/base/patience.hpp"
#include "maxmargin/base/types.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace maxmargin {

// Tasks that are taken one by one, by the thread that calls run() and by helpers from the pool. A
// task that nobody has begun is never waited for: the caller takes it.
class SharedTasks {
 public:
  using Task = std::function<void(index_t task, int thread)>;

  SharedTasks(index_t n_tasks, const Task& task) : n_tasks_(n_tasks), task_(task) {}

  // Takes the next task and runs it as `thread`; false if there is none left.
  bool run_next(int thread);
  bool are_taken() const { return next_.load(std::memory_order_relaxed) >= n_tasks_; }
  // The first exception that a task threw; the tasks not yet begun were then left out.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const index_t n_tasks_;
  const Task& task_;
  std::atomic<index_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// The threads of a process that help others with their tasks. They are made on first need, as many
// as can be made, and sleep when nobody needs them. Several threads may call at once: they share
// the processors. A child of fork() begins with a new pool.
class ThreadPool {
 public:
  static constexpr int kMostThreads = 1024;

  static ThreadPool& of_process();
  // Whether the calling thread is running tasks.
  static bool is_inside();

  // Wakes threads for a run() that is about to come.
  void rouse(int threads);
  // Runs all tasks on at most `threads` threads, numbered from 0, the caller's number.
  void run(SharedTasks& tasks, int threads);

 private:
  class Worker;
  class Team;

  // A new thread with these tasks on offer; nullptr if none can be made.
  Worker* add_worker(SharedTasks& tasks, int thread);
  // How many threads a caller may use, while others call too.
  int share() const;

  std::array<std::atomic<Worker*>, kMostThreads> workers_{};
  std::atomic<int> n_workers_{0};
  std::atomic<int> n_callers_{0};
  std::atomic<int> n_processors_{1};
  std::mutex adding_;
  Patience::Clock::time_point may_add_from_{};
};

} // namespace maxmargin
