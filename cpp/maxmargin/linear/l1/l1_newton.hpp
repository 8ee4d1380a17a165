#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

#include <limits>

namespace maxmargin::linear {

// Proximal Newton's method for the squared hinge with penalty l1 (Lee, Sun and Saunders 2014; Yuan,
// Ho and Lin 2012, whose newGLMNET it is for few features):
//
//   minimise sum_j |w_j| + |b / s| + sum_i C_i max(0, 1 - y_i f(x_i))^2
//
// The losses are a quadratic as long as the same samples have one. A step goes towards the minimum
// of the present one and the penalty, which l1_quadratic.hpp finds on a d x d matrix, and
// ends at the minimum along its way. The samples are read twice a step, however often the small
// problem goes through its features. The penalty begins where it leaves no weight and falls to its
// own size in stages, each from the weights of the one before: classes that a separator splits, at
// a large C, would take hundreds of steps from 0. About ten steps suffice. Made for n >> d.
// Memory: O(n + d^2) besides X.
//
// The logistic loss has its place likewise; its quadratic changes with every step.
//
// The dual, and the point of it that proves the gap, are those of l1_coordinate_descent.hpp.
// options.start is not used. n_iter counts steps; max_iter = -1 stands for kDefaultL1NewtonSteps.
inline constexpr index_t kDefaultL1NewtonSteps = 500;

// Stalls where its quadratics take more than `most_products`.
LinearSolution solve_l1_newton(const LinearProblem& problem, const LinearOptions& options,
                               Control& control,
                               double most_products = std::numeric_limits<double>::infinity());

} // namespace maxmargin::linear
