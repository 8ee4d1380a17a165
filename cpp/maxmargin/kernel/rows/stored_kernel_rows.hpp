#pragma once

#include "maxmargin/kernel/kernel_rows.hpp"

#include <vector>

namespace maxmargin {

// Kernel rows that all stand in memory: a symmetric matrix, whole lines, rows one after the other.
template <Real T> class StoredKernelRows final : public KernelRows<T> {
 public:
  // `matrix` has n_columns x n_columns numbers, n_columns a multiple of a line, and must outlive
  // this. So many of its values were computed for it.
  StoredKernelRows(const T* matrix, index_t n_columns, index_t values_computed = 0);

  const T* stored_row(index_t row) const override { return matrix_ + row * this->size_; }
  void gather(std::span<const index_t> rows) override;
  void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                int thread) override;
  void square(T* out, index_t stride, int threads, Control& control) override;
  std::unique_ptr<KernelRows<T>> restricted(std::span<const index_t> columns) const override;

 private:
  StoredKernelRows(std::vector<T> matrix, index_t n_columns);

  std::vector<T> owned_;
  const T* matrix_;
  std::vector<index_t> queries_;
};

} // namespace maxmargin
