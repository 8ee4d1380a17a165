#pragma once

#include <array>
#include <string>
#include <string_view>

namespace maxmargin::optim {

// imprecise: the kernel values are too inexact for the tolerance, and the problem is to be solved
// with better ones. unbounded: the objective has no least value within the precision.
enum class StopReason { converged, max_iter, time_limit, stalled, imprecise, unbounded };

inline constexpr std::array<std::string_view, 6> kStopReasonNames{
    "converged", "max_iter", "time_limit", "stalled", "imprecise", "unbounded"};

inline std::string name_of(StopReason reason) {
  return std::string(kStopReasonNames[static_cast<std::size_t>(reason)]);
}

} // namespace maxmargin::optim
