#pragma once

#include "base/control.hpp"
#include "base/types.hpp"

#include <limits>
#include <string>
#include <vector>

namespace maxmargin {

// The quadratic program that every kernel SVM formulation is put into, in signed form:
//
//   minimise  1/2 beta' K beta + linear' beta
//   subject to  lower_i <= beta_i <= upper_i,  sum_i beta_i = sum of the start
//
// K is the plain kernel matrix; labels live in the linear term and the box. The start is beta = 0
// where none is given, and must be feasible. A variable with lower_i = upper_i never moves
// (padding).
struct DualProblem {
  std::vector<double> linear;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> start; // empty: zero

  index_t size() const { return static_cast<index_t>(linear.size()); }
};

// imprecise: the kernel values are too inexact for the tolerance, and the problem is to be solved
// with better ones.
enum class StopReason { converged, max_iter, time_limit, stalled, imprecise };

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
  }
  return "";
}

struct SolverOptions {
  double tol = 1e-3;
  index_t max_iter = -1; // pair steps; -1 is default_max_iter
  bool shrinking = true;
  double time_limit = std::numeric_limits<double>::infinity(); // seconds
};

// LIBSVM's cap: no input runs for ever.
constexpr index_t default_max_iter(index_t n) {
  return n > 100000 ? 100 * n : 10000000;
}

struct Solution {
  std::vector<double> beta;
  std::vector<double> gradient; // K beta + linear
  double up = 0.0;              // max -gradient over the variables that may grow
  double low = 0.0;             // min -gradient over those that may fall
  index_t n_iter = 0;           // pair steps
  StopReason stop_reason = StopReason::converged;

  double kkt_violation() const { return up > low ? up - low : 0.0; }
};

} // namespace maxmargin
