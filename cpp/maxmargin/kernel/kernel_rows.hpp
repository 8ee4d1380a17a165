#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>

namespace maxmargin {

// Columns of a kernel matrix: kernel values between chosen rows and every column, in blocks. A
// column is a sample, or padding: columns are counted in whole cache lines, and what stands in a
// padding column is finite and means nothing.
template <Real T> class KernelRows {
 public:
  virtual ~KernelRows() = default;

  index_t size() const { return size_; } // columns, padding included
  index_t row_chunk() const { return row_chunk_; }
  index_t column_chunk() const { return column_chunk_; }
  index_t add_chunk() const { return std::max(add_chunk_, row_chunk_); }
  // Multiplications that one kernel value takes on average, before the kernel's own function.
  double products_per_value() const { return products_per_value_; }

  // Values that the functions below have computed so far, those of padding columns included, but
  // not what they mirror or fetch from a stored matrix: the same whatever threads took part.
  index_t values_computed() const { return values_computed_.load(std::memory_order_relaxed); }

  // Makes the samples of these columns the queries 0 .. rows.size() - 1.
  virtual void gather(std::span<const index_t> rows) = 0;

  // out[r][c] = K(query first + r, column begin + c) for r < n and c < end - begin. Requires: first
  // is a multiple of row_chunk, n <= row_chunk, begin and end multiples of a line, begin < end <=
  // size, end - begin <= column_chunk. Different threads may call it at the same time with
  // different numbers `thread`.
  virtual void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                        int thread) = 0;

  // Whether add() is there: sums of kernel values that are never stored.
  virtual bool adds_directly() const { return false; }
  // out[c] += sum_r coef[r] K(query first + r, column begin + c), with the requirements of
  // evaluate, but for up to add_chunk rows and any number of columns; the sum over r is taken
  // first.
  virtual void add(index_t /*first*/, index_t /*n*/, index_t /*begin*/, index_t /*end*/,
                   const double* /*coef*/, double* /*out*/, int /*thread*/) {
    throw std::logic_error("these kernel rows do not add directly");
  }

  // out[r * stride + c] = K(query r, query c). Requires stride >= the number of queries rounded up
  // to a cache line.
  virtual void square(T* out, index_t stride, int threads, Control& control) = 0;

  // The same samples restricted to some columns, in that order, followed by padding.
  virtual std::unique_ptr<KernelRows> restricted(std::span<const index_t> columns) const = 0;

 protected:
  void count_values(index_t n) { values_computed_.fetch_add(n, std::memory_order_relaxed); }

  index_t size_ = 0;
  index_t row_chunk_ = 1;
  index_t column_chunk_ = 1;
  index_t add_chunk_ = 0; // less than row_chunk_: the same
  double products_per_value_ = 0.0;

 private:
  std::atomic<index_t> values_computed_ = 0;
};

} // namespace maxmargin
