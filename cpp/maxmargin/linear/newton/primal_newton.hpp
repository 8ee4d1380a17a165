#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// Newton's method in the primal for all losses with penalty l2:
//
//   minimise R(w, b) + sum_i C_i loss(u_i),   u_i = 1 - y_i f(x_i) or |y_i - f(x_i)| - epsilon.
//
// With the squared losses (Mangasarian 2002; Keerthi and DeCoste 2005) the objective is a quadratic
// as long as the same samples have a loss. A step goes towards the minimum of the present one,
// H step = -gradient with H = R + 2 sum over these samples of C_i x_i x_i', and ends at the exact
// minimum along its way. It finds the solution after finitely many steps, about ten.
//
// The others are made smooth by a term that keeps each dual variable near its last value beta_i',
//
//   loss_i = max over beta in its box of beta u_i - width / (2 C_i) (beta - beta_i')^2:
//
// the proximal method of multipliers (Rockafellar 1976; Yan and Li 2020 for these machines). H then
// is the sum over those samples alone whose beta is inside its box, most often few of them. Where a
// step has made the gap of the weights small compared to that of the losses, beta' moves on, and
// the width narrows. It takes about twenty steps. Classes that a separator splits at a large C may
// take hundreds, or stall by rounding.
//
// A step takes two passes over the samples and one d x d factorisation; H is updated by the samples
// that have joined or left its sum. Made for n >> d. Memory: O(n + d^2) besides X.
//
// beta proves the gap; with squared losses it is 2 C_i (y_i - f(x_i) -+ epsilon) where there is a
// loss. n_iter counts steps; max_iter = -1 stands for kDefaultNewtonSteps.
inline constexpr index_t kDefaultNewtonSteps = 200;

LinearSolution solve_primal_newton(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control);

} // namespace maxmargin::linear
