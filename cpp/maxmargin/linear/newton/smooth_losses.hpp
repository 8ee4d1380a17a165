#pragma once

#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/linear/newton/row_passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace maxmargin::linear {

// The first and second derivative of a function of one number.
struct Slope {
  double first = 0.0, second = 0.0;
};

// The losses of a linear machine as Newton's methods in the primal see them. With the residuals
// u_i = y_i - f(x_i) and dual variables beta_i = C_i share_i, where share_i lies in [0, top] for
// the hinge (mirrored for y_i = -1) and in [-top, top] for the insensitive loss, they are
//
//   L = sum_i C_i max over share of share u_i - epsilon |share| - width / 2 (share - centre_i)^2,
//
// a quadratic of the weights of x~ as long as the same shares move with u_i. Its matrix, the sum of
// C_i / width x~_i x~_i' over these, is updated by the samples that have joined or left them.
//
//   squared losses   top = infinity, width = 1/2, centre = 0
//   the others       top = 1, and a width that makes them smooth; where a share is at its centre,
//                    this takes nothing away
//
// The logistic loss is smooth itself, L = sum_i C_i log(1 + exp(-y_i f(x_i))). Its matrix changes
// everywhere.
class SmoothLosses {
 public:
  SmoothLosses(const LinearProblem& problem, RowPasses& passes);

  // The values f(x_i) of the weights; of no weights at the beginning.
  void set_weights(std::span<const double> weights) {
    passes_.run({.weights = weights, .products = values_});
  }
  // Of losses that are not squared; the present shares become the centres.
  void set_width(double width);
  // The centres, from which the shares begin.
  void set_centres(std::span<const double> beta);
  // The losses, the slopes of L and its matrix at the values.
  void evaluate();
  // The matrix is to be summed up anew at the next evaluation.
  void sum_up_anew() { must_sum_up_ = true; }

  double sum() const { return sum_; } // of the losses as they are
  double gap() const { return gap_; } // what they and beta add to the duality gap
  double width() const { return width_; }
  index_t count() const { return count_; } // of samples whose share moves
  // beta_i = -dL / df(x_i), the maximiser, and sum_i beta_i x~_i, the gradient's negative.
  const std::vector<double>& beta() const { return beta_; }
  const std::vector<double>& slopes() const { return slopes_; }
  const WeightedGram& matrix() const { return gram_; }

  // For what follows: the weights move along this.
  void set_direction(std::span<const double> direction) {
    passes_.run({.weights = direction, .products = value_steps_});
  }
  Slope slope_at(double length) const;
  // The length at which L and a penalty, which together fall by `fall` > 0 per length at 0, are
  // least, but for so small a share of that fall. least(slope, length) adds the penalty's slope, as
  // far as it has one, to that of L, and returns where both would be least if L were everywhere the
  // quadratic that it is at `length`: Newton steps within a bracket.
  double search(double fall, double share,
                const std::function<double(Slope& slope, double length)>& least) const;
  void move(double length);

 private:
  // At which the maximum is reached, at the residual u. Without branches, which labels would
  // mislead.
  double best_share(index_t i, double u) const {
    const double free = centre_[i] + u * inverse_width_;
    const double soft = std::copysign(std::max(std::abs(free) - dead_, 0.0), free);
    return std::min(std::max(soft, lower_[i]), upper_[i]);
  }
  bool moves(index_t i, double share) const {
    return (share != 0.0) & (share > lower_[i]) & (share < upper_[i]);
  }
  void evaluate_logistic();
  void change_matrix();

  const LinearProblem& problem_;
  RowPasses& passes_;
  bool is_squared_, is_logistic_;
  double epsilon_, width_;
  double inverse_width_, dead_;              // 1 / width, epsilon / width
  WeightedGram gram_;                        // of the samples marked in has_curvature_
  std::vector<double> values_, value_steps_; // f, and what it changes by along the direction
  std::vector<double> beta_, slopes_, curvature_change_;
  std::vector<double> lower_, upper_, centre_; // of the shares
  std::vector<std::uint8_t> moves_, has_curvature_;
  double sum_ = 0.0, gap_ = 0.0, cancelled_ = 0.0;
  index_t count_ = 0;
  bool must_sum_up_ = true;
};

} // namespace maxmargin::linear
