#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// Newton's method for the logistic loss with penalty l2,
//
//   minimise R(w, b) + sum_i C_i log(1 + exp(-y_i f(x_i))).
//
// A step solves H step = -gradient, H = R + sum_i C_i s_i (1 - s_i) x~_i x~_i' and
// s_i = 1 / (1 + exp(y_i f(x_i))), and is halved until the objective falls. Of few features H is
// factored, which takes a pass of d^2 for each sample; of more, conjugate gradients take a pass for
// each of their steps, to an accuracy that rises as the gradient falls (Lin, Weng and Keerthi 2008).
//
// beta_i = C_i y_i s_i proves the gap: half the square of the gradient. n_iter counts steps;
// max_iter = -1 stands for kDefaultLogisticSteps. Memory: O(n + d), and d^2 of few features,
// besides X.
inline constexpr index_t kDefaultLogisticSteps = 200;

LinearSolution solve_logistic_newton(const LinearProblem& problem, const LinearOptions& options,
                                     Control& control);

} // namespace maxmargin::linear
