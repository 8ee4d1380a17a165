#pragma once

#include "maxmargin/data/weighted_gram.hpp"
#include "maxmargin/optim/cholesky.hpp"

#include <functional>
#include <span>
#include <vector>

namespace maxmargin::linear {

// Minimises a quadratic of few weights and their l1 norm,
//
//   1/2 (v - w)' H (v - w) + g.(v - w) + sum_j lambda_j |v_j|,
//
// with H positive semidefinite. Sweeps of coordinate descent find which weights are 0 and the signs
// of the others, their face. While these hold, the least value is that of a quadratic, and a Newton
// step goes towards it, to the least value along its way. Where that changes signs, another step
// follows on the face that is left, until one comes to its end. Such steps do not depend on how
// correlated the features are, which coordinate descent creeps on.
class L1Quadratic {
 public:
  explicit L1Quadratic(index_t n_weights);

  // lambda_j >= 0.
  void set(const WeightedGram& gram, std::span<const double> lambda);

  // By how much a weight's slope misses its optimality condition, at most. `gradient` is that of
  // the quadratic.
  double violation(std::span<const double> v, std::span<const double> gradient) const;

  // v = w becomes the minimiser, up to a violation of at most `tol`, or as near as it is when
  // goes_on() is false, which is asked between the steps. v is never worse than w.
  void minimise(std::vector<double>& v, std::span<const double> gradient, double tol,
                const std::function<bool()>& goes_on);

  double n_products() const { return n_products_; } // so far

 private:
  void sweep();
  bool step_on_face();
  bool find_direction();

  index_t n_;
  std::vector<double> lambda_;
  // With the diagonal scaled to 1, which makes the units of the features irrelevant; 0 where it is.
  std::vector<double> matrix_, scale_, scaled_lambda_;
  std::vector<double> v_, gradient_; // scaled
  std::vector<index_t> face_;        // the weights that are not 0, or have no penalty
  std::vector<double> face_matrix_, right_side_, direction_, gradient_change_;
  optim::Cholesky cholesky_;
  double n_products_ = 0.0;
};

} // namespace maxmargin::linear
