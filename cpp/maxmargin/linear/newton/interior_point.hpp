#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// A primal-dual interior point method (Mehrotra 1992; Ferris and Munson 2003; Fine and Scheinberg
// 2001 for the low rank) for the hinge and the epsilon-insensitive loss with penalty l2. Every
// sample has one dual variable alpha_j, or two in regression, of sign s_j and target t_j:
//
//   hinge                 s = y,  t = 1
//   epsilon-insensitive   s = +1, t = y - epsilon   and   s = -1, t = -y - epsilon
//
// (Without a tube the two would be one beyond the other: beta_i + C_i in [0, 2 C_i] is the
// variable.) With z_j = t_j - s_j f(x_j) the conditions that are solved are
//
//   R w~ = sum_j s_j alpha_j x~_j           (x~ has the intercept's feature, row_passes.hpp)
//   xi_j - lambda_j = z_j                    (xi is the loss)
//   alpha_j lambda_j = (C_j - alpha_j) xi_j = mu -> 0,   all of them > 0
//
// A step solves (R + sum_j d_j x~_j x~_j') step = .. twice with one factorisation, where
//
//   d_j = 1 / (lambda_j / alpha_j + xi_j / (C_j - alpha_j))
//
// The prediction gives how far mu may fall and what the second order adds. A step takes three
// passes over the samples; ten to twenty of them reach a relative gap of 1e-8, whatever C. Made for
// n >> d. Memory: O(n + d^2) besides X.
//
// n_iter counts steps; max_iter = -1 stands for kDefaultInteriorSteps.
inline constexpr index_t kDefaultInteriorSteps = 200;

LinearSolution solve_interior_point(const LinearProblem& problem, const LinearOptions& options,
                                    Control& control);

} // namespace maxmargin::linear
