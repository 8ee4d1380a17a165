#pragma once

#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/linear/newton/row_passes.hpp"

#include <optional>
#include <span>
#include <vector>

namespace maxmargin::linear {

// The separator of the weights of x~ (newton/row_passes.hpp), and the bounds that it and beta prove
// with penalty l2. beta is moved into its box; where the intercept has no penalty, its sum becomes
// 0 by scaling the heavier side down. Where that does not prove the gap to be within tol, all of
// beta is scaled down as far as its bound rises, to 0 if need be: no relative gap is beyond 1. The
// gap is a sum of what every sample adds to it, which is never negative, so that nothing cancels.
// Throws NumericError where the objectives overflow.
LinearSolution certify(const LinearProblem& problem, const InterceptFeature& intercept,
                       RowPasses& passes, std::span<const double> weights, std::vector<double> beta,
                       double tol);

// C_i times the loss of sample i at f(x_i) = value.
double loss_at(const LinearProblem& problem, index_t i, double value);

// Makes the sum of beta 0, as an intercept without penalty has it, by scaling the heavier side
// down.
void balance(std::vector<double>& beta);

// Of the weights of x~, with penalty l1.
std::vector<double> l1_penalties(const LinearProblem& problem, const InterceptFeature& intercept);

// The share of beta that has the best dual objective with penalty l1, and that objective,
// minimised. `steepest` is the greatest of |sum_i beta_i x~_ik| / lambda_k. Requires: beta has the
// signs of y.
struct L1DualPoint {
  double share, objective;
};
L1DualPoint l1_dual_point(const LinearProblem& problem, std::span<const double> beta,
                          double steepest);
double steepest(std::span<const double> lambda, std::span<const double> sum);
// At weights of 0, a steepest above this moves them: the gap alone may be small where the losses
// can hardly be less.
inline constexpr double kSteepestAtZero = 1.0 + 1e-10;

// The separator of the weights of x~, whose penalties are lambda, and the bounds that it and the
// slopes of its losses prove for the squared hinge, or the logistic loss, with penalty l1. Throws as the above.
LinearSolution certify_l1(const LinearProblem& problem, const InterceptFeature& intercept,
                          RowPasses& passes, std::span<const double> lambda,
                          std::span<const double> weights, std::vector<double> beta);

// A separator without weights and without losses, if there is one: it solves the problem where its
// intercept costs nothing.
std::optional<LinearSolution> solve_without_weights(const LinearProblem& problem);

} // namespace maxmargin::linear
