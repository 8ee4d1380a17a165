#pragma once

#include "maxmargin/data/weighted_gram.hpp"
#include "maxmargin/optim/cholesky.hpp"

#include <span>
#include <vector>

namespace maxmargin::linear {

// With at most this many features, and no fewer samples, a few steps with d x d matrices are
// cheaper than many passes over the samples.
inline constexpr index_t kFewFeatures = 512;
// With more, d x d matrices are not made at all.
inline constexpr index_t kMostFeatures = 2048;

// The linear system of a Newton step of a linear machine,
//
//   (R + sum_i weight_i x~_i x~_i') step = right-hand side,
//
// with R = I but for the intercept's ridge. It is solved in the coordinates of centred rows, in
// which an intercept takes up what samples have in common instead of drowning their differences,
// and with the diagonal scaled to 1, which makes the units of the features irrelevant.
class NewtonSystem {
 public:
  // Requires: the Gram matrix is that of rows less `centre` (or none), with `feature` (0: none).
  NewtonSystem(std::span<const double> centre, double feature, double ridge);

  // Returns false when the matrix is not positive definite in float64.
  bool factor(const WeightedGram& gram);
  // b becomes the step.
  void solve(std::vector<double>& b);

 private:
  void add_penalty();
  void residual(const std::vector<double>& b, const std::vector<double>& x);
  double& at(index_t i, index_t j) { return matrix_[i * n_ + j]; }

  std::vector<double> shift_; // centre / feature: the move of the intercept's weight
  double ridge_;
  bool has_intercept_;
  index_t n_ = 0;
  std::vector<double> matrix_; // lower triangle, scaled
  std::vector<double> scale_;
  std::vector<double> residual_;
  optim::Cholesky cholesky_;
};

} // namespace maxmargin::linear
