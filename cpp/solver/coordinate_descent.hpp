#pragma once

#include "base/control.hpp"
#include "data/compact_samples.hpp"
#include "solver/linear_problem.hpp"

namespace maxmargin {

// Dual coordinate descent for a linear problem with penalty l2 (Hsieh, Chang, Lin, Keerthi and
// Sundararajan 2008; Ho and Lin 2012 for regression). In signed form the dual is: minimise
//
//   1/2 ||sum_i beta_i x_i||^2 + sum_i (ridge_i / 2 beta_i^2 - y_i beta_i + epsilon |beta_i|)
//   subject to lower_i <= beta_i <= upper_i
//
// with the box and the ridge of dual_coordinate.hpp, and x_i with the further feature
// intercept_scaling. A pass takes the samples in a new random order and minimises over one beta_i
// after the other, while w = sum_i beta_i x_i is kept up to date: a product with a row and an
// addition of it. Samples whose beta_i rests at a bound more firmly than any was out of place in
// the last pass are set aside (shrinking), until all are looked at again.
//
// It ends when the duality gap, evaluated over all samples, is at most tol * primal objective. The
// gap is a sum over samples; what a pass meets of it on its way tells when it is worth evaluating.
//
// A bias without penalty (intercept_scaling = infinity) adds the constraint sum_i beta_i = 0. It is
// kept by multipliers (augmented Lagrangian): b is held near its last value by a penalty, which is
// a further feature again, and moves with every round.
//
// n_iter counts passes; max_iter = -1 stands for kDefaultPasses. Results do not depend on threads.
inline constexpr index_t kDefaultPasses = 10000;

LinearSolution solve_coordinate_descent(const CompactSamples& samples, const LinearProblem& problem,
                                        const LinearOptions& options, Control& control);

// Likewise, with samples compacted for this problem alone.
LinearSolution solve_coordinate_descent(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control);

} // namespace maxmargin
