#pragma once

#include "base/aligned_buffer.hpp"
#include "base/control.hpp"
#include "data/sample_rows.hpp"
#include "simd/dispatch.hpp"

#include <bit>
#include <limits>
#include <span>
#include <vector>

namespace maxmargin {

// Dense rows once more, in a byte for an element: the nearest of 255 multiples of a step, which
// neighbouring rows have in common.
class CodedRows {
 public:
  template <Real T> CodedRows(const DenseView<T>& X, int threads, Control& control);

  index_t n_cols() const { return n_cols_; }
  // The codes of row i. Behind the last row, too, codes may be read up to a multiple of kCodeGrain.
  const std::int8_t* row(index_t i) const { return codes_.data() + i * n_cols_; }
  // Infinite where elements are too large or too small for codes to tell anything.
  float step(index_t i) const { return steps_[i >> block_bits_]; }
  void fetch(index_t i) const { prefetch_row(row(i), static_cast<std::size_t>(n_cols_)); }

 private:
  template <Real T> void encode_block(const DenseView<T>& X, index_t block);

  index_t n_cols_;
  int block_bits_; // rows that have a step in common, as a power of 2
  AlignedBuffer<std::int8_t> codes_;
  std::vector<float> steps_;
};

// Products of weights with a group of coded rows: estimates that cost an eighth of the memory
// traffic, or a fourth, with a bound of their error.
class CodedProducts {
 public:
  static constexpr index_t kMostRows = simd::kCodeRows;

  // Both w.x_i and what float64 makes of it lie within the error of the value; one of the two is
  // infinite or not a number where nothing is known.
  struct Estimate {
    double value, error;
  };

  explicit CodedProducts(const CodedRows& rows);

  void set_weights(std::span<const double> w);
  // Estimates the products with these rows, at least one and at most kMostRows.
  void estimate(std::span<const index_t> rows);
  // That with the k-th of them.
  Estimate operator[](index_t k) const {
    return {steps_[k] * static_cast<double>(dots_[k]), steps_[k] * step_error_};
  }

 private:
  const CodedRows& rows_;
  const simd::KernelTable& table_ = simd::active_table();
  index_t width_;
  double step_error_;      // of a product with weights of sum 1 and a row of step 1
  AlignedBuffer<float> w_; // of sum 1
  double sum_ = std::numeric_limits<double>::infinity(); // of the magnitudes of the weights
  double steps_[kMostRows];                              // times that sum
  float dots_[kMostRows];
};

} // namespace maxmargin
