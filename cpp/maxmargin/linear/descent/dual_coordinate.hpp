#pragma once

#include "maxmargin/linear/linear_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin::linear {

// One sample of a linear problem, seen from its dual. Each loss is the largest value of a concave
// function of the dual variable: with the residual u = y_i - f(x_i),
//
//   C_i loss = max over beta in [lower, upper] of beta u - epsilon |beta| - ridge / 2 beta^2.
//
// The boxes are [0, C_i] for the hinge (mirrored for y_i = -1) and [-C_i, C_i] for the insensitive
// loss; the squared losses have no far bounds and the ridge 1 / (2 C_i). What a pair of u and beta
// adds to the duality gap is the difference of both sides, never negative, and 0 where the
// optimality condition of the sample holds.
struct alignas(kAlignment) DualCoordinate {
  double beta = 0.0;
  double y = 0.0;
  double lower = 0.0, upper = 0.0;
  double ridge = 0.0;
  double epsilon = 0.0;
  double inverse_curvature = 0.0; // of the dual objective along beta
  index_t sample = 0;

  DualCoordinate(const LinearProblem& problem, index_t i)
      : y(problem.y[i]), epsilon(problem.epsilon), sample(i) {
    const bool is_hinge = !is_insensitive(problem.loss);
    const double bound =
        is_squared(problem.loss) ? std::numeric_limits<double>::infinity() : problem.C[i];
    if (is_squared(problem.loss)) ridge = 0.5 / problem.C[i];
    if (is_hinge) epsilon = 0.0;
    if (!is_hinge || y > 0.0) upper = bound;
    if (!is_hinge || y < 0.0) lower = -bound;
  }

  // C_i loss at the residual u.
  double loss(double u) const {
    const double excess = std::abs(u) - epsilon;
    const double bound = u > 0.0 ? upper : -lower;
    if (excess <= 0.0 || bound == 0.0) return 0.0;
    return ridge == 0.0 ? bound * excess : excess * excess / (2.0 * ridge);
  }

  // The derivative of the loss by u: the beta at which there is no gap.
  double loss_slope(double u) const {
    const double bound = u > 0.0 ? upper : lower, excess = std::abs(u) - epsilon;
    if (excess <= 0.0 || bound == 0.0) return 0.0;
    return ridge == 0.0 ? bound : std::copysign(excess / ridge, u);
  }

  // What beta adds to the dual objective (minimised) besides its part in 1/2 ||w||^2.
  double conjugate() const { return beta * (0.5 * ridge * beta - y) + epsilon * std::abs(beta); }

  double gap(double u) const {
    return loss(u) + beta * (0.5 * ridge * beta - u) + epsilon * std::abs(beta);
  }

  // The least slope of the dual objective in a direction that the box leaves open: negative where
  // beta should move (there it is the projected gradient's magnitude, with the other sign).
  double least_open_slope(double u) const {
    const double slope = ridge * beta - u;
    const double up = slope + (beta >= 0.0 ? epsilon : -epsilon);
    const double down = slope + (beta > 0.0 ? epsilon : -epsilon);
    constexpr double kClosed = std::numeric_limits<double>::infinity();
    return std::min(beta < upper ? up : kClosed, beta > lower ? -down : kClosed);
  }

  // The beta that minimises the dual objective with the others fixed.
  double minimiser(double u) const {
    const double free = beta - (ridge * beta - u) * inverse_curvature;
    const double shift = epsilon * inverse_curvature;
    const double soft = free > shift ? free - shift : (free < -shift ? free + shift : 0.0);
    return std::min(std::max(soft, lower), upper);
  }
};

} // namespace maxmargin::linear
