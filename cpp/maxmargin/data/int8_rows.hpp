#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <span>

namespace maxmargin {

// Dense rows once more, in a byte for an element: the nearest of 255 multiples of the row's step.
class Int8Rows {
 public:
  template <Real T> Int8Rows(const DenseView<T>& X, int threads, Control& control);

  index_t n_rows() const { return steps_.size(); }
  index_t n_cols() const { return n_cols_; }
  // Whether all elements are numbers, none of them too large for a code.
  bool are_bounded() const;
  // The codes of row i. Behind the last row, too, codes may be read up to a multiple of kCodeGrain.
  const std::int8_t* row(index_t i) const { return codes_.data() + i * n_cols_; }
  // Infinite where elements are too large or too small for codes to decide anything.
  float step(index_t i) const { return steps_[i]; }
  void fetch(index_t i) const { prefetch_row(row(i), static_cast<std::size_t>(n_cols_)); }

 private:
  index_t n_cols_;
  AlignedBuffer<std::int8_t> codes_;
  AlignedBuffer<float> steps_;
};

// Bounds of a linear function f by int8 rows, which decide for most examples that y f(x) is above a
// margin, at an eighth or a fourth of the memory traffic. Weights, 2^16 at most, are rounded to
// integers of 16 bits, whose products with codes are exact.
class Int8Margins {
 public:
  static constexpr index_t kExamples = simd::kCodeRows; // at a time

  explicit Int8Margins(const Int8Rows& rows);

  // Puts row i, of label y, -1 or 1, in the k-th place.
  void set_example(index_t k, index_t i, double y) {
    examples_.rows[k] = rows_.row(i);
    examples_.steps[k] = rows_.step(i);
    examples_.labels[k] = static_cast<float>(y);
  }
  void set_function(std::span<const double> w, double offset, double margin);
  // The undecided mask: a bit for every place, 0 only where y f(x), also as float64 computes it, is
  // above the margin.
  unsigned undecided() const { return table_.find_undecided(examples_, function_); }

 private:
  const Int8Rows& rows_;
  const simd::KernelTable& table_ = simd::active_table();
  AlignedBuffer<std::int16_t> w_;
  simd::CodedExamples examples_;
  simd::CodedFunction function_;
};

} // namespace maxmargin
