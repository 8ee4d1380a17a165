#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The lower triangle of sum_i weight_i z_i z_i', where z_i is the row x_i less a centre, followed
// by one more feature that is the same in every row (or none, if that is 0). Sums are float64
// whatever the type of the samples.
//
// Rows are gathered, a fixed number at a time, as both operands of a block of kernel values of the
// linear kernel; what is summed does not depend on anything but the order of the rows. Short rows
// of sparse samples are added entry by entry.
class WeightedGram {
 public:
  // Requires: `centre` has an element for every column, or none.
  WeightedGram(index_t n_cols, double constant_feature, std::span<const double> centre);

  // Adds one row; the sum is whole after flush().
  template <Real T> void add(const DenseView<T>& X, index_t i, double weight);
  template <Real T, class I> void add(const CsrView<T, I>& X, index_t i, double weight);
  void flush();

  void clear();
  void add(const WeightedGram& other); // both flushed
  void scale(double factor);           // flushed
  index_t size() const { return size_; }
  index_t stride() const { return stride_; }
  const double* data() const { return sums_.data(); }

 private:
  void gather(double weight);
  void multiply();
  double* centred_row();

  index_t n_cols_;
  index_t size_; // features, the constant one included
  index_t stride_;
  double constant_feature_;
  std::vector<double> centre_;
  std::vector<double> row_; // filled up to a multiple of a tile and of a panel
  index_t n_gathered_ = 0;
  AlignedBuffer<double> panels_, tiles_, products_;
  std::vector<double> half_norms_; // zeros, which the linear kernel does not use
  AlignedBuffer<double> sums_;
};

} // namespace maxmargin
