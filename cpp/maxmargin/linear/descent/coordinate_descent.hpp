#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// Dual coordinate descent for a linear problem with penalty l2 (Hsieh, Chang, Lin, Keerthi and
// Sundararajan 2008; Ho and Lin 2012 for regression). In signed form the dual is: minimise
//
//   1/2 ||sum_i beta_i x_i||^2 + sum_i (ridge_i / 2 beta_i^2 - y_i beta_i + epsilon |beta_i|)
//   subject to lower_i <= beta_i <= upper_i
//
// with the box and the ridge of dual_coordinate.hpp, and x_i with the further feature
// intercept_scaling. The passes, over one beta_i after the other, are those of dual_descent.hpp.
//
// A bias without penalty (intercept_scaling = infinity) adds the constraint sum_i beta_i = 0. It is
// kept by multipliers (augmented Lagrangian): b is held near its last value by a penalty, which is
// a further feature again, and moves with every round. So it is where intercept_scaling is far
// greater than the samples are long, with sum_i beta_i = b / intercept_scaling^2.
//
// Results do not depend on threads.
LinearSolution solve_coordinate_descent(const CompactSamples& samples, const LinearProblem& problem,
                                        const LinearOptions& options, Control& control);

// Likewise, reading the samples where the problem has them.
LinearSolution solve_coordinate_descent(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control);

} // namespace maxmargin::linear
