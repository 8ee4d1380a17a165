#include "maxmargin/base/thread_pool.hpp"

#include "maxmargin/base/cpu_limits.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#include <pthread.h>
#define MAXMARGIN_POSIX 1
#endif
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace maxmargin {
namespace {

std::atomic<ThreadPool*> process_pool{nullptr};

// Where a thread could not be made, it is not tried again for so long.
constexpr std::chrono::seconds kPauseOfAdding{1};

thread_local bool is_inside_tasks = false;

class InsideTasks {
 public:
  InsideTasks() { is_inside_tasks = true; }
  ~InsideTasks() { is_inside_tasks = false; }
  InsideTasks(const InsideTasks&) = delete;
  InsideTasks& operator=(const InsideTasks&) = delete;
};

#ifdef MAXMARGIN_POSIX
// A child of fork() has none of the threads: it makes a new pool. Registered when the library is
// loaded, since a fork may come at any time after.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { process_pool.store(nullptr); });

// Signals are for the threads of the program: a handler that runs here would wake none of them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};
#else
class SignalsBlocked {};
#endif

// Linux (from 6.12) lets a thread that has asked for short turns run sooner when it is woken.
// With it, SVC on a9a and on 20,000 x 20 took 0.83 of the time next to four busy processes on 2
// processors (geometric mean of medians of 5 runs in turn).
void ask_for_short_turns() {
#if defined(__linux__) && defined(SYS_sched_setattr)
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  // Where the call fails, turns are as long as before.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  constexpr std::uint32_t normal = 0; // SCHED_OTHER
  if (attributes.policy != normal) return;
  attributes.size = sizeof(attributes);
  attributes.flags = 0;
  attributes.runtime = 100'000; // ns
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
#endif
}

} // namespace

bool SharedTasks::run_next(int thread) {
  const index_t i = next_.fetch_add(1, std::memory_order_relaxed);
  if (i >= n_tasks_) return false;
  try {
    task_(i, thread);
  } catch (...) {
    next_.store(n_tasks_, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  return true;
}

// A thread of the pool. Its state is a phase and, above it, the number of the last offer: idle ->
// claimed -> offered by a caller, then offered -> working -> idle by the thread, or offered -> idle
// by the caller, who takes back what was not accepted.
class ThreadPool::Worker {
 public:
  enum Phase : std::uint32_t { idle, claimed, offered, working };
  using State = std::uint32_t;

  static constexpr State kOffer = 4; // the place of the offer's number in a state
  static constexpr State kFirstAccepted = kOffer + working;

  explicit Worker(const ThreadPool& pool) : pool_(pool) {}

  // Offers the tasks if the worker is idle; the state that accepting them leads to, else 0.
  State offer(SharedTasks& tasks, int thread) {
    State state = state_.load(std::memory_order_relaxed);
    if (phase_of(state) != idle ||
        !state_.compare_exchange_strong(state, state + claimed, std::memory_order_acquire))
      return 0;
    tasks_ = &tasks;
    thread_ = thread;
    offered_at_ = Patience::Clock::now();
    publish(state + kOffer + offered);
    return state + kOffer + working;
  }

  // Ends the sleep of an idle worker, which then waits on: an offer is about to come.
  void rouse() {
    State state = state_.load(std::memory_order_relaxed);
    if (phase_of(state) == idle &&
        state_.compare_exchange_strong(state, state + kOffer, std::memory_order_seq_cst))
      state_.notify_one();
  }

  // Takes an offer back; false if it has been accepted.
  bool withdraw(State accepted) {
    State state = accepted - working + offered;
    return state_.compare_exchange_strong(state, accepted - working, std::memory_order_acquire);
  }
  bool is_at(State accepted) const {
    const State state = state_.load(std::memory_order_acquire);
    return state == accepted || state == accepted - working + offered;
  }
  void wait_for_end(State accepted, Patience& patience) const {
    patience.wait([&] { return state_.load(std::memory_order_acquire) != accepted; },
                  [&] { state_.wait(accepted, std::memory_order_acquire); });
  }

  [[noreturn]] void serve() {
    const InsideTasks inside;
    ask_for_short_turns();
    State last = 0;
    for (bool is_roused = false;;) {
      State state = last;
      Patience::Clock::time_point slept_from = Patience::Clock::time_point::max();
      (is_roused ? roused_patience_ : patience_)
          .wait(
              [&] {
                state = state_.load(std::memory_order_acquire);
                return phase_of(state) == offered || (phase_of(state) == idle && state != last);
              },
              [&] {
                slept_from = std::min(slept_from, Patience::Clock::now());
                state_.wait(state, std::memory_order_acquire);
              });
      is_roused = phase_of(state) == idle;
      last = state;
      if (is_roused) continue;
      if (!state_.compare_exchange_strong(state, state - offered + working,
                                          std::memory_order_acquire))
        continue;
      if (slept_from < offered_at_)
        WakeUp::of_process().measure(slept_from, offered_at_, Patience::Clock::now());
      while (thread_ < pool_.share() && tasks_->run_next(thread_)) {
      }
      last = state - offered;
      publish(last);
    }
  }

 private:
  // Whether anyone sleeps must not be read before the new state can be seen: hence the order.
  void publish(State state) {
    state_.store(state, std::memory_order_seq_cst);
    state_.notify_one();
  }

  static Phase phase_of(State state) { return static_cast<Phase>(state % kOffer); }

  const ThreadPool& pool_;
  SharedTasks* tasks_ = nullptr;
  int thread_ = 0;
  Patience::Clock::time_point offered_at_{};
  Patience patience_, roused_patience_;
  alignas(kAlignment) std::atomic<State> state_{0};
};

// The caller of run() and its helpers, by number of thread less 1.
class ThreadPool::Team {
 public:
  Team(ThreadPool& pool, SharedTasks& tasks, int threads)
      : pool_(pool), tasks_(tasks), helpers_(static_cast<std::size_t>(threads - 1)) {
    if (pool_.n_callers_.fetch_add(1, std::memory_order_relaxed) == 0) return;
    CpuLimits limits = cpu_limits();
    limits.by_call = 0; // of this caller alone
    pool_.n_processors_.store(limits.most_threads(), std::memory_order_relaxed);
  }
  ~Team() { pool_.n_callers_.fetch_sub(1, std::memory_order_relaxed); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run() {
    const InsideTasks inside;
    do recruit();
    while (tasks_.run_next(0));
    dismiss();
  }

 private:
  struct Helper {
    Worker* worker = nullptr;
    Worker::State accepted = 0;
  };

  // Offers the tasks where fewer help than may: workers may be idle now that were not before.
  void recruit() {
    const int n = std::min(pool_.share() - 1, static_cast<int>(helpers_.size()));
    if (n == n_helpers_ || tasks_.are_taken()) return;
    n_helpers_ = 0;
    int next = 0;
    for (int h = 0; h < n; ++h) {
      Helper& helper = helpers_[h];
      if (helper.worker == nullptr || !helper.worker->is_at(helper.accepted))
        helper = find_helper(h + 1, next);
      if (helper.worker == nullptr) return;
      ++n_helpers_;
    }
  }

  // An idle worker, from number `next` on, or a new one.
  Helper find_helper(int thread, int& next) {
    for (; next < pool_.n_workers_.load(std::memory_order_acquire); ++next) {
      Worker* const worker = pool_.workers_[next].load(std::memory_order_relaxed);
      if (const Worker::State accepted = worker->offer(tasks_, thread); accepted != 0)
        return {worker, accepted};
    }
    if (next >= static_cast<int>(helpers_.size())) return {};
    return {pool_.add_worker(tasks_, thread), Worker::kFirstAccepted};
  }

  void dismiss() {
    thread_local Patience patience;
    bool are_lost = false;
    for (const Helper& helper : helpers_) {
      if (helper.worker == nullptr || helper.worker->withdraw(helper.accepted)) continue;
      if (process_pool.load(std::memory_order_relaxed) != &pool_)
        are_lost |= helper.worker->is_at(helper.accepted);
      else
        helper.worker->wait_for_end(helper.accepted, patience);
    }
    if (are_lost)
      throw std::runtime_error("the process was forked during a computation on several threads, "
                               "which the child does not have: it cannot go on there");
  }

  ThreadPool& pool_;
  SharedTasks& tasks_;
  std::vector<Helper> helpers_;
  int n_helpers_ = 0; // found last
};

ThreadPool& ThreadPool::of_process() {
  ThreadPool* pool = process_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  auto* const made = new ThreadPool; // for as long as the process lives, since its threads do
  if (process_pool.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *pool;
}

void ThreadPool::rouse(int threads) {
  const int n = std::min({threads, share(), n_workers_.load(std::memory_order_acquire) + 1}) - 1;
  for (int w = 0; w < n; ++w) workers_[w].load(std::memory_order_relaxed)->rouse();
}

bool ThreadPool::is_inside() {
  return is_inside_tasks;
}

int ThreadPool::share() const {
  const int n_callers = n_callers_.load(std::memory_order_relaxed);
  if (n_callers <= 1) return kMostThreads;
  return std::max(1, n_processors_.load(std::memory_order_relaxed) / n_callers);
}

ThreadPool::Worker* ThreadPool::add_worker(SharedTasks& tasks, int thread) {
  const std::unique_lock lock(adding_, std::try_to_lock);
  const int n = n_workers_.load(std::memory_order_relaxed);
  if (!lock || n == kMostThreads || Patience::Clock::now() < may_add_from_) return nullptr;
  try {
    [[maybe_unused]] const SignalsBlocked blocked;
    auto worker = std::make_unique<Worker>(*this);
    worker->offer(tasks, thread);
    std::thread([it = worker.get()] { it->serve(); }).detach();
    workers_[n].store(worker.get(), std::memory_order_relaxed);
    n_workers_.store(n + 1, std::memory_order_release);
    return worker.release();
  } catch (const std::exception&) { // no thread, or no memory for one
    may_add_from_ = Patience::Clock::now() + kPauseOfAdding;
    return nullptr;
  }
}

void ThreadPool::run(SharedTasks& tasks, int threads) {
  Team(*this, tasks, threads).run();
  tasks.rethrow();
}

} // namespace maxmargin
