#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/columns.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// Coordinate descent for penalty l1 with the squared hinge (Yuan, Chang, Hsieh and Lin 2010): in a
// new random order, each weight takes the Newton step of
//
//   |w_j| + sum_i C_i max(0, 1 - y_i f(x_i))^2
//
// in w_j alone, halved until the objective falls enough. b / s is a weight like the others; a bias
// without penalty is one too, whose |.| is left out. Weights at 0 whose slope is far from moving
// them are set aside until the gap is evaluated (shrinking).
//
// The dual: maximise sum_i alpha_i - alpha_i^2 / (4 C_i) subject to alpha >= 0 and
// |sum_i alpha_i y_i x_ij| <= 1 for every j (= 0 for a bias without penalty). The losses' slopes
// alpha_i = 2 C_i max(0, 1 - y_i f(x_i)), scaled down until they satisfy that, are a point of it,
// which proves the duality gap that ends the work: gap <= tol * primal objective.
//
// The logistic loss, log(1 + exp(-y_i f(x_i))), has its place likewise, with its own dual: alpha_i
// <= C_i is its slope there, too.
//
// beta of the solution is y_i alpha_i; options.start is not used. n_iter counts passes over the
// features; max_iter = -1 stands for kDefaultFeaturePasses.
inline constexpr index_t kDefaultFeaturePasses = 10000;

LinearSolution solve_l1_coordinate_descent(const Columns& columns, const LinearProblem& problem,
                                           const LinearOptions& options, Control& control);

} // namespace maxmargin::linear
