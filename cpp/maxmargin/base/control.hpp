#pragma once

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <thread>

namespace maxmargin {

// What a running computation reports to its caller.
struct Progress {
  index_t n_iter = 0;
  double kkt_violation = 0.0;
  double relative_gap = -1.0;         // of solvers that stop by it, in place of the violation
  double dual_objective = 0.0;        // minimised; an estimate
  std::optional<double> measure = {}; // of trainers that go by passes: what is to fall, per example
  index_t n_free = 0;
  index_t n_bounded = 0;
  double share_done = -1.0; // of a search that trains many machines
  double seconds = 0.0;
};

// Lets the caller watch and stop a computation. The computation calls poll() often from any thread;
// the hook runs on the thread that made the Control, at most once in `period`. A hook that returns
// false, or throws, ends the computation with Cancelled, or what the hook threw: the same on every
// thread, so that it does not matter whose exception reaches the caller.
class Control {
 public:
  using Clock = std::chrono::steady_clock;
  using Hook = std::function<bool(const Progress&)>;

  Control() = default;
  explicit Control(Hook hook, Clock::duration period = std::chrono::milliseconds(50))
      : hook_(std::move(hook)), period_(period) {}

  // `progress` is called for the state of the computation, once or twice in a period.
  template <class Get> void poll(const Get& progress) {
    if (hook_ && std::this_thread::get_id() == owner_) {
      const auto now = Clock::now();
      if (now - last_known_ >= period_ / 2) {
        progress_ = progress();
        last_known_ = now;
      }
    }
    poll();
  }

  // As above; the hook gets the last known progress.
  void poll() {
    if (ended_.load(std::memory_order_acquire)) std::rethrow_exception(reason_);
    if (!hook_ || std::this_thread::get_id() != owner_) return;
    const auto now = Clock::now();
    if (now - last_ < period_) return;
    last_ = now;
    progress_.share_done = share_done_.load(std::memory_order_relaxed);
    progress_.seconds = seconds();
    try {
      if (!hook_(progress_)) throw Cancelled();
    } catch (...) {
      reason_ = std::current_exception();
      ended_.store(true, std::memory_order_release);
      throw;
    }
  }

  // What later reports say; any thread may call it.
  void note_share_done(double share) { share_done_.store(share, std::memory_order_relaxed); }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  Hook hook_;
  Clock::duration period_{};
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  Clock::time_point last_known_;
  std::thread::id owner_ = std::this_thread::get_id();
  Progress progress_;         // touched by the owner only
  std::exception_ptr reason_; // set before ended_
  std::atomic<bool> ended_{false};
  std::atomic<double> share_done_{-1.0};
};

} // namespace maxmargin
