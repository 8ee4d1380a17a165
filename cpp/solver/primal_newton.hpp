#pragma once

#include "base/control.hpp"
#include "solver/linear_problem.hpp"

namespace maxmargin {

// Newton's method in the primal (Mangasarian 2002; Keerthi and DeCoste 2005) for the squared losses
// with penalty l2:
//
//   minimise R(w, b) + sum_i C_i max(0, u_i)^2,   u_i = 1 - y_i f(x_i) or |y_i - f(x_i)| - epsilon.
//
// The objective is a quadratic as long as the same samples have a loss. A step goes towards the
// minimum of the present one, H step = -gradient with H = R + 2 sum over these samples of
// C_i x_i x_i', and ends at the exact minimum along its way. It finds the solution after finitely
// many steps, about ten. A step takes two passes over the samples and one d x d factorisation; H is
// updated by the samples that have won or lost a loss. Made for n >> d. Memory: O(n + d^2) beside
// X.
//
// beta_i = 2 C_i (y_i - f(x_i) -+ epsilon) where there is a loss: it proves the gap. n_iter counts
// steps; max_iter = -1 stands for kDefaultNewtonSteps.
inline constexpr index_t kDefaultNewtonSteps = 200;

LinearSolution solve_primal_newton(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control);

} // namespace maxmargin
