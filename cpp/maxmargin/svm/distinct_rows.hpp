#pragma once

#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/machine.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace maxmargin {

// A training set without its repetitions. Of rows that are equal, with equal labels, only the sum
// of the alpha counts, whose bound is the sum of their C; their losses are the same. So the first
// of them is trained with that bound, and the others are left out; its coefficient is then
// distributed over all. With the hinge loss, any distribution within the bounds is optimal: rows
// get theirs one after the other. With a ridge, alpha_i is in proportion to C_i.
//
// Data of few or coarse features are full of repetitions. The kernel matrix shrinks with the square
// of what is left; the time by less where the repeated samples would have been set aside anyway.
class DistinctRows {
 public:
  // `labels`: empty if there are none. Rows of a kernel matrix are all taken for distinct.
  DistinctRows(const MatrixView& X, std::span<const double> labels, std::span<const double> C,
               const KernelParams& kernel, int threads, Control& control);

  // The bounds to train with, by row: 0 for one that is left out.
  std::span<const double> bounds() const { return bounds_; }
  // Their root mean square, over the others.
  double usual_bound() const;

  // Calls visit(row, beta) for every row that gets a part of the coefficient of row i, if that is
  // not zero, and counts them in the certificate. The bounds are those here times `scale`.
  template <class Visit>
  void distribute(index_t i, double beta, double scale, bool has_ridge, Certificate& certificate,
                  const Visit& visit) const {
    if (beta == 0.0) return;
    if (next_[i] == kNone) return visit(i, beta);
    if (std::isinf(bounds_[i])) return visit(hard_row(i), beta);
    --(is_full(i, beta, scale, has_ridge) ? certificate.n_bounded : certificate.n_free);
    for (const Part& part : parts_of(i, beta, scale, has_ridge)) {
      if (part.beta == 0.0) continue;
      visit(part.row, part.beta);
      ++(part.is_bounded ? certificate.n_bounded : certificate.n_free);
    }
  }

 private:
  struct Part {
    index_t row;
    double beta;
    bool is_bounded = false;
  };
  static constexpr index_t kNone = -1;

  // The first of a chain that has no bound: one before it has weight 0.
  index_t hard_row(index_t i) const;
  bool is_full(index_t i, double beta, double scale, bool has_ridge) const;
  std::vector<Part> parts_of(index_t i, double beta, double scale, bool has_ridge) const;

  std::span<const double> C_;
  std::vector<double> bounds_;
  std::vector<index_t> next_; // row that is equal, or kNone
};

} // namespace maxmargin
