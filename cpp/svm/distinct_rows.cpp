#include "svm/distinct_rows.hpp"

#include "data/equal_rows.hpp"
#include "svm/start.hpp"

#include <cstddef>

namespace maxmargin {

DistinctRows::DistinctRows(const MatrixView& X, std::span<const double> labels,
                           std::span<const double> C, const KernelParams& kernel, int threads)
    : C_(C), bounds_(C.begin(), C.end()), next_(C.size(), kNone) {
  if (kernel.type == KernelType::precomputed) return;
  const std::vector<index_t> first = first_equal_rows(X, labels, threads);
  // From the last on, so that every chain ascends.
  for (index_t i = static_cast<index_t>(C.size()) - 1; i >= 0; --i) {
    const index_t f = first[i];
    const double sum = bounds_[f] + C[i];
    // A sum that overflows would be another problem, the hard margin.
    if (f == i || C[i] == 0.0 || (std::isinf(sum) && !std::isinf(C[i]))) continue;
    bounds_[f] = sum;
    bounds_[i] = 0.0;
    next_[i] = next_[f];
    next_[f] = i;
  }
}

double DistinctRows::usual_bound() const {
  double squares = 0.0;
  std::size_t n = 0;
  for (const double bound : bounds_) {
    squares += bound * bound;
    n += bound > 0.0 ? 1 : 0;
  }
  return n == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(n));
}

std::vector<DistinctRows::Part> DistinctRows::parts_of(index_t i, double beta, double scale,
                                                       bool has_ridge) const {
  std::vector<Part> parts;
  std::vector<double> bounds;
  for (index_t row = i; row != kNone; row = next_[row]) {
    parts.push_back({row, C_[row] / bounds_[i] * beta});
    bounds.push_back(scale * C_[row]);
  }
  if (has_ridge) return parts;
  const std::vector<double> filled = filled_up(bounds, std::abs(beta), std::copysign(1.0, beta));
  for (std::size_t k = 0; k < parts.size(); ++k) parts[k].beta = filled[k];
  return parts;
}

} // namespace maxmargin
