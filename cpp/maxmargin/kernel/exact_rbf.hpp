#pragma once

#include "maxmargin/data/views.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// Sums of RBF kernel values in float64, from the samples where the caller has them: for a solver
// that works on float32 values, and needs few sums of float64 ones, one at a time.
class ExactRbf {
 public:
  // X must outlive this.
  ExactRbf(const MatrixView& X, double gamma, int threads);

  // sum_r coef[r] exp(-gamma ||x_rows[r] - x_target||^2)
  double sum(index_t target, std::span<const index_t> rows, std::span<const double> coef);

 private:
  template <Real T> void spread(const DenseView<T>& view, index_t target);
  template <Real T, class I> void spread(const CsrView<T, I>& view, index_t target);
  template <Real T> double square_distance(const DenseView<T>& view, index_t row) const;
  template <Real T, class I> double square_distance(const CsrView<T, I>& view, index_t row) const;

  const MatrixView& X_;
  double gamma_;
  int threads_;
  std::vector<double> target_;
  double square_norm_ = 0.0; // of a sparse target
  std::vector<double> values_;
};

} // namespace maxmargin
