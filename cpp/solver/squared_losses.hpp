#pragma once

#include "solver/linear_problem.hpp"
#include "solver/row_passes.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace maxmargin {

// The first and second derivative of a function of one number.
struct Slope {
  double first = 0.0, second = 0.0;
};

// The squared losses of a linear machine as Newton's methods in the primal see them,
//
//   L = sum_i C_i max(0, u_i)^2,   u_i = 1 - y_i f(x_i) or |y_i - f(x_i)| - epsilon:
//
// a quadratic of the weights of x~ as long as the same samples have a loss. Its matrix,
// 2 sum over these of C_i x~_i x~_i', is updated by the samples that have won or lost a loss.
class SquaredLosses {
 public:
  SquaredLosses(const LinearProblem& problem, RowPasses& passes);

  // The values f(x_i) of the weights; of no weights at the beginning.
  void set_weights(std::span<const double> weights) {
    passes_.run({.weights = weights, .products = values_});
  }
  // L, its slopes and its matrix at the values.
  void evaluate();
  // The matrix is to be summed up anew at the next evaluation.
  void sum_up_anew() { must_sum_up_ = true; }

  double sum() const { return sum_; }
  index_t count() const { return count_; } // of samples that have a loss
  // beta_i = -dL / df(x_i), and sum_i beta_i x~_i, the gradient's negative.
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
  void change_matrix();

  const LinearProblem& problem_;
  RowPasses& passes_;
  WeightedGram gram_;                        // of the samples marked in has_curvature_
  std::vector<double> values_, value_steps_; // f, and what it changes by along the direction
  std::vector<double> beta_, slopes_, curvature_change_;
  std::vector<std::uint8_t> has_curvature_;
  double sum_ = 0.0, cancelled_ = 0.0;
  index_t count_ = 0;
  bool must_sum_up_ = true;
};

} // namespace maxmargin
