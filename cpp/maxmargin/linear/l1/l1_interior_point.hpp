#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// The squared hinge with penalty l1 by a primal-dual interior point method (Mehrotra 1992) on the
// dual. With t_j = (y_i x_ij)_i, weights w_j = u_j - v_j and y_i f(x_i) = (sum_j w_j t_j)_i, the
// conditions are
//
//   s_i = y_i f(x_i) + alpha_i / (2 C_i) - 1,   p_j = 1 - t_j.alpha,   q_j = 1 + t_j.alpha
//   alpha_i s_i = u_j p_j = v_j q_j = mu -> 0,   all of them > 0
//
// and with the diagonal matrices D = s_i / alpha_i + 1 / (2 C_i) and W = u_j / p_j + v_j / q_j, a
// step solves D step + sum_j h_j t_j = .., h_j = W_j t_j.step, twice with one factorisation: of
// D + sum_j W_j t_j t_j', or, of fewer features than samples, of 1 / W + sum_i x_i x_i' / D_i.
// Twenty to forty steps suffice, whatever C and however many samples there are for a feature. The
// weights that are not 0 are those with u_j > p_j or v_j > q_j. Made for about as many samples as
// features, where proximal Newton's quadratics are of less than full rank. Memory: 8 bytes for
// every sample and feature, and O(min(n, d)^2).
//
// The dual, and the point of it that proves the gap, are those of l1_coordinate_descent.hpp.
// options.start is not used. n_iter counts steps; max_iter = -1 stands for kDefaultL1InteriorSteps.
inline constexpr index_t kDefaultL1InteriorSteps = 100; // beyond, rounding is in the way

LinearSolution solve_l1_interior_point(const LinearProblem& problem, const LinearOptions& options,
                                       Control& control);

// About so many products, of numbers that the processor multiplies several at a time, it takes.
double l1_interior_products(double n, double d);

// By the method above where it is the faster, else by proximal Newton's, which also follows it
// where it fails. Requires: a loss that penalty l1 goes with.
LinearSolution solve_l1_by_steps(const LinearProblem& problem, const LinearOptions& options,
                                 Control& control);

} // namespace maxmargin::linear
