#pragma once

#include "base/types.hpp"
#include "solver/dual_problem.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// Coefficients up to the bounds C that sum up to `sum`, the first ones at their bounds and the last
// zero (LIBSVM's start), times `sign`. No more than the bounds allow. What is left of the sum by
// rounding is nothing.
inline std::vector<double> filled_up(std::span<const double> C, double sum, double sign) {
  std::vector<double> start;
  const double dust = kDust * sum;
  for (const double bound : C) {
    const double beta = sum > 0.0 && sum >= bound - dust ? bound : sum;
    start.push_back(sign * beta);
    sum = sum - beta > dust ? sum - beta : 0.0;
  }
  return start;
}

} // namespace maxmargin
