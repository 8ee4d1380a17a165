#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/types.hpp"
#include "maxmargin/optim/stop_reason.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace maxmargin::dual {

// The variables whose sum is fixed: from begin to end.
struct Group {
  index_t begin = 0, end = 0;
};

// The quadratic program that every kernel SVM formulation is put into, in signed form:
//
//   minimise  1/2 beta' (K + diag(ridge)) beta + linear' beta
//   subject to  lower_i <= beta_i <= upper_i,
//               sum of beta_i over each group = the same sum of the start
//
// K is the plain kernel matrix; labels live in the linear term and the box. The start is beta = 0
// where none is given, and must be feasible. A variable with lower_i = upper_i never moves
// (padding). There is one group, of all variables, or there are two (the nu formulations), of which
// the second begins at second_group, a multiple of a line. Bounds may be infinite.
struct DualProblem {
  std::vector<double> linear;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> ridge; // empty: zero
  std::vector<double> start; // empty: zero
  // K start, where it is known (else empty), and the sum of |change| over the steps that it was
  // added up in.
  std::vector<double> start_sums;
  double start_step = 0.0;
  index_t second_group = -1; // none
  // Whether the objective may have no lower bound: the solver then tests for that.
  bool may_be_unbounded = false;

  index_t size() const { return static_cast<index_t>(linear.size()); }
  std::size_t n_groups() const { return second_group < 0 ? 1 : 2; }
  Group group(std::size_t g) const {
    return {g == 0 ? 0 : second_group, g == 0 && second_group >= 0 ? second_group : size()};
  }
};

// A variable within this share of the largest |beta| of a bound is at the bound, up to rounding.
inline constexpr double kBoundTolerance = 64 * std::numeric_limits<double>::epsilon();

struct SolverOptions {
  double tol = 1e-3;
  index_t max_iter = -1; // pair steps; -1 is default_max_iter
  bool shrinking = true;
  double time_limit = std::numeric_limits<double>::infinity(); // seconds
};

// Whether the time is over, where it has a limit: a clock costs as much as a pair step.
inline bool is_past(double time_limit, const Control& control) {
  return std::isfinite(time_limit) && control.seconds() > time_limit;
}

// LIBSVM's limit where the caller sets none.
constexpr index_t default_max_iter(index_t n) {
  return n > 100000 ? 100 * n : 10000000;
}

} // namespace maxmargin::dual
