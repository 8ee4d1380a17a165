#include "maxmargin/base/wake_up.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// A thread needs some microseconds to fall asleep. Until then it is not woken but kept.
constexpr std::chrono::microseconds kFallingAsleep{50};
// Microseconds of a wake-up where ratio() is 1: the shortest of 16 took 8 to 26 in six processes.
constexpr double kMicroseconds = 20.0;
constexpr double kSlower = 2.0, kLargest = 16.0; // the least and the greatest ratio but 1

constinit WakeUp wake_up_of_process;

} // namespace

WakeUp& WakeUp::of_process() {
  return wake_up_of_process;
}

void WakeUp::measure(Clock::time_point slept_from, Clock::time_point woken, Clock::time_point ran) {
  if (n_measured_.load(std::memory_order_relaxed) >= kMeasurements ||
      woken - slept_from < kFallingAsleep)
    return;
  const double taken = std::chrono::duration<double, std::micro>(ran - woken).count();
  double least = shortest_.load(std::memory_order_relaxed);
  while (taken < least && !shortest_.compare_exchange_weak(least, taken)) {
  }
  n_measured_.fetch_add(1, std::memory_order_release);
}

double WakeUp::ratio() const {
  if (n_measured_.load(std::memory_order_acquire) < kMeasurements) return 1.0;
  const double ratio = shortest_.load(std::memory_order_relaxed) / kMicroseconds;
  return ratio < kSlower ? 1.0 : std::min(ratio, kLargest);
}

} // namespace maxmargin
