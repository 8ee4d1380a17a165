#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/crammer_singer.hpp"

namespace maxmargin::linear {

// A primal-dual interior point method (Mehrotra 1992) for the machine of all classes together,
// whose problem and dual are in crammer_singer.hpp. The conditions that are solved are
//
//   theta_i = max_m f_m(x_i) + [m != y_i]
//   R w~_m = sum_i beta_i^m x~_i       (x~ has the intercept's feature, linear/row_passes.hpp)
//   sum_m share_i^m = C_i
//   slack_i^m = theta_i - f_m(x_i) - [m != y_i]
//   share_i^m slack_i^m = mu -> 0,   all of them > 0
//
// A step changes the shares of sample i by M_i times the change of all f(x_i), where
//
//   M_i = diag(d) - d d' / sum d,   d_m = share_i^m / slack_i^m
//
// It solves (R + sum_i M_i (x) x~_i x~_i') step = .., for the weights of all classes at once, twice
// with one factorisation (the prediction and its correction).
// Ten to fifty steps reach a relative gap of 1e-8, whatever C and the units of the features.
// Memory: O(n n_classes + (d n_classes)^2) beside X.
//
// n_iter counts steps; max_iter = -1 stands for kDefaultInteriorSteps (interior_point.hpp).
JointSolution solve_joint_interior_point(const JointProblem& problem, const LinearOptions& options,
                                         Control& control);

} // namespace maxmargin::linear
