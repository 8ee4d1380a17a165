#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// What a machine of all classes together minimises (Crammer and Singer 2001), with f_m(x) = w_m.x +
// b_m for every class m and s = intercept_scaling as in LinearProblem, but finite:
//
//   sum_m (1/2 ||w_m||^2 + 1/2 (b_m / s)^2)
//     + sum_i C_i max(0, 1 - (f of the class y_i - the greatest f of another))
//
// Requires: y and C have an element for every row of X; y_i in [0, n_classes); C_i >= 0 and finite,
// at least one positive; n_classes >= 2.
struct MulticlassProblem {
  const MatrixView& X;
  std::span<const index_t> y;
  index_t n_classes = 0;
  std::span<const double> C;
  double intercept_scaling = 1.0;
};

struct MulticlassSolution : LinearOutcome {
  std::vector<LinearSeparator> separators; // by class
  // The dual variables, those of all classes for one sample after the other: w_m = sum_i beta_i^m
  // x_i. They serve as a start for another C.
  std::vector<double> beta;
};

// Dual coordinate descent for the problem above (Keerthi, Sundararajan, Chang, Hsieh and Lin 2008).
// With x_i having the further feature s, the dual is: minimise
//
//   1/2 sum_m ||w_m||^2 - sum_i sum_(m != y_i) share_i^m,   w_m = sum_i beta_i^m x_i,
//   beta_i^m = C_i [m = y_i] - share_i^m
//   subject to share_i^m >= 0, sum_m share_i^m = C_i
//
// At the optimum share_i^m > 0 only for classes m with the greatest f_m + [m != y_i]: the sample's
// own alone where it wins by the margin. The passes, over all shares of one sample
// after the other, are those of dual_descent.hpp; a minimum is a projection onto a simplex
// (Michelot 1986). A sample rests where it leaves all to one class.
//
// The gap is the sum of every share times what its class falls short of the greatest, so that
// nothing cancels.
//
// One thread; a start is feasible for C_i that are no less than those it comes from, else it is
// scaled down.
MulticlassSolution solve_crammer_singer(const CompactSamples& samples,
                                        const MulticlassProblem& problem,
                                        const LinearOptions& options, Control& control);

} // namespace maxmargin::linear
