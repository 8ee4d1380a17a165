#pragma once

#include <atomic>
#include <chrono>

namespace maxmargin {

// What it takes to wake a sleeping thread, as a multiple of what it took where the constants of this
// folder were measured: 20 microseconds, on 2 processors of a virtual machine.
class WakeUp {
 public:
  using Clock = std::chrono::steady_clock;

  static WakeUp& of_process();

  // Of a thread that slept from `slept_from`, was woken at `woken` and ran at `ran`.
  void measure(Clock::time_point slept_from, Clock::time_point woken, Clock::time_point ran);
  // At least 1; 1 until it is measured, and where a wake-up takes less than twice as long.
  double ratio() const;

  // The shortest of so many counts: the others include a wait for a processor that is busy.
  static constexpr int kMeasurements = 16;

 private:
  std::atomic<int> n_measured_{0};
  std::atomic<double> shortest_{1e9}; // microseconds
};

} // namespace maxmargin
