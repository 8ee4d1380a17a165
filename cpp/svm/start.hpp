#pragma once

#include "base/types.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace maxmargin {

// Coefficients up to the bounds C that sum up to `sum`, the first ones at their bounds and the last
// zero (LIBSVM's start), times `sign`. No more than the bounds allow.
inline std::vector<double> filled_up(std::span<const double> C, double sum, double sign) {
  std::vector<double> start;
  for (const double bound : C) {
    const double beta = std::min(bound, sum);
    start.push_back(sign * beta);
    sum -= beta;
  }
  return start;
}

} // namespace maxmargin
