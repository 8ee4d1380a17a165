#pragma once

#include <string>

namespace maxmargin::optim {

// imprecise: the kernel values are too inexact for the tolerance, and the problem is to be solved
// with better ones. unbounded: the objective has no least value within the precision.
enum class StopReason { converged, max_iter, time_limit, stalled, imprecise, unbounded };

inline std::string name_of(StopReason reason) {
  switch (reason) {
  case StopReason::converged:
    return "converged";
  case StopReason::max_iter:
    return "max_iter";
  case StopReason::time_limit:
    return "time_limit";
  case StopReason::stalled:
    return "stalled";
  case StopReason::imprecise:
    return "imprecise";
  case StopReason::unbounded:
    return "unbounded";
  }
  return "";
}

} // namespace maxmargin::optim
