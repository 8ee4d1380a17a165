#include "maxmargin/svm/distinct_rows.hpp"

#include "maxmargin/data/equal_rows.hpp"
#include "maxmargin/svm/formulation.hpp"

#include <cstddef>

namespace maxmargin {

DistinctRows::DistinctRows(const MatrixView& X, std::span<const double> labels,
                           std::span<const double> C, const KernelParams& kernel, int threads,
                           Control& control)
    : C_(C), bounds_(C.begin(), C.end()), next_(C.size(), kNone) {
  if (kernel.type == KernelType::precomputed) return;
  const std::vector<index_t> first = first_equal_rows(X, labels, threads, control);
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

index_t DistinctRows::hard_row(index_t i) const {
  while (!std::isinf(C_[i])) i = next_[i];
  return i;
}

bool DistinctRows::is_full(index_t i, double beta, double scale, bool has_ridge) const {
  return !has_ridge && std::abs(beta) >= (1.0 - dual::kBoundTolerance) * scale * bounds_[i];
}

std::vector<DistinctRows::Part> DistinctRows::parts_of(index_t i, double beta, double scale,
                                                       bool has_ridge) const {
  std::vector<Part> parts;
  std::vector<double> bounds;
  // A bound that is lost in the sum of the others is one all the same.
  const bool all_bounded = is_full(i, beta, scale, has_ridge);
  for (index_t row = i; row != kNone; row = next_[row]) {
    bounds.push_back(scale * C_[row]);
    parts.push_back({row,
                     all_bounded ? std::copysign(bounds.back(), beta) : C_[row] / bounds_[i] * beta,
                     all_bounded});
  }
  if (has_ridge || all_bounded) return parts;
  std::vector<double> filled;
  append_greedy_start(bounds, std::abs(beta), std::copysign(1.0, beta), filled);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k].beta = filled[k];
    parts[k].is_bounded = std::abs(filled[k]) == bounds[k];
  }
  return parts;
}

} // namespace maxmargin
