#pragma once

#include <chrono>

namespace maxmargin {

// What it takes to wake a sleeping thread of this process, as a multiple of what it took where the
// constants of this folder were measured: 20 microseconds, on 2 processors of a virtual machine.
class WakeUp {
 public:
  using Clock = std::chrono::steady_clock;

  // Of a thread that slept from `slept_from`, was woken at `woken` and ran at `ran`.
  static void measure(Clock::time_point slept_from, Clock::time_point woken, Clock::time_point ran);
  // At least 1; 1 until it is measured, and where a wake-up takes less than twice as long.
  static double ratio();
};

} // namespace maxmargin
