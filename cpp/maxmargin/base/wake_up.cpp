#include "maxmargin/base/wake_up.hpp"

#include <algorithm>
#include <atomic>

namespace maxmargin {
namespace {

// The shortest of so many counts: the others include a wait for a processor that is busy.
constexpr int kMeasurements = 16;
// A thread needs some microseconds to fall asleep. Until then it is not woken but kept.
constexpr std::chrono::microseconds kFallingAsleep{50};
// Microseconds of a wake-up where ratio() is 1: the shortest of 16 took 8 to 26 in nine processes.
constexpr double kMicroseconds = 20.0;
constexpr double kSlower = 2.0, kLargest = 16.0; // the least and the greatest ratio but 1

std::atomic<int> n_measured{0};
std::atomic<double> shortest{1e9}; // microseconds

} // namespace

void WakeUp::measure(Clock::time_point slept_from, Clock::time_point woken, Clock::time_point ran) {
  if (n_measured.load(std::memory_order_relaxed) >= kMeasurements ||
      woken - slept_from < kFallingAsleep)
    return;
  const double taken = std::chrono::duration<double, std::micro>(ran - woken).count();
  double least = shortest.load(std::memory_order_relaxed);
  while (taken < least && !shortest.compare_exchange_weak(least, taken)) {
  }
  n_measured.fetch_add(1, std::memory_order_release);
}

double WakeUp::ratio() {
  if (n_measured.load(std::memory_order_acquire) < kMeasurements) return 1.0;
  const double ratio = shortest.load(std::memory_order_relaxed) / kMicroseconds;
  return ratio < kSlower ? 1.0 : std::min(ratio, kLargest);
}

} // namespace maxmargin
