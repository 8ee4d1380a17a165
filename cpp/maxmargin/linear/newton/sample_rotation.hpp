#pragma once

#include "maxmargin/base/aligned_memory.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <span>
#include <vector>

namespace maxmargin::linear {

// Few samples of many features as samples of no more features than there are samples: X = L Q, with
// L lower triangular and orthonormal rows of Q. A linear machine with penalty l2 has its weights in
// the span of the samples, w = Q' u, where u solves the same problem on L. The rows are reflected
// one after the other (Householder 1958): unlike a factor of the Gram matrix, L is as exact as X,
// whatever the units of the features.
//
// Memory: 8 bytes for every row and every feature that a row has.
class SampleRotation {
 public:
  // Of the given rows.
  SampleRotation(const MatrixView& X, std::span<const index_t> rows, int threads,
                 optim::TimeLimit& time);

  // Elements that it would hold.
  static double n_elements(const MatrixView& X, index_t n_rows);

  // Whether there was time for all of it.
  bool is_whole() const { return is_whole_; }
  DenseView<double> samples() const { return {lower_.data(), n_, n_}; }
  // w = Q' u, by the features of X. Requires: u has an element for every row at least.
  AlignedVector<double> original(std::span<const double> u) const;

 private:
  double* row(index_t i) { return rows_.data() + i * width_; }
  const double* row(index_t i) const { return rows_.data() + i * width_; }
  void copy(const MatrixView& X, std::span<const index_t> rows);
  void reflect(index_t k, double* x) const;
  void make_reflection(index_t k);

  index_t n_, n_features_, width_ = 0;
  std::vector<index_t> features_; // that a row has, by place
  // Row i: L up to the diagonal, then the vector of its reflection.
  std::vector<double> rows_, lower_;
  std::vector<double> factors_; // of the reflections
  bool is_whole_ = true;
};

} // namespace maxmargin::linear
