#include "maxmargin/kernel/rows/stored_kernel_rows.hpp"

#include "maxmargin/kernel/upper_triangle.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr index_t kChunk = 64;

} // namespace

template <Real T>
StoredKernelRows<T>::StoredKernelRows(const T* matrix, index_t n_columns, index_t values_computed)
    : matrix_(matrix) {
  this->size_ = n_columns;
  this->row_chunk_ = kChunk;
  this->column_chunk_ = n_columns;
  this->count_values(values_computed);
}

template <Real T>
StoredKernelRows<T>::StoredKernelRows(std::vector<T> matrix, index_t n_columns)
    : StoredKernelRows(matrix.data(), n_columns) {
  owned_ = std::move(matrix);
}

template <Real T> void StoredKernelRows<T>::gather(std::span<const index_t> rows) {
  queries_.assign(rows.begin(), rows.end());
}

template <Real T>
void StoredKernelRows<T>::evaluate(index_t first, index_t n, index_t begin, index_t end,
                                   T* const* out, int) {
  for (index_t r = 0; r < n; ++r)
    std::copy_n(stored_row(queries_[first + r]) + begin, end - begin, out[r]);
}

template <Real T>
void StoredKernelRows<T>::square(T* out, index_t stride, int threads, Control& control) {
  const index_t n = static_cast<index_t>(queries_.size());
  const auto evaluate_from = [&](index_t first, index_t count, index_t begin, T* const* rows, int) {
    for (index_t r = 0; r < count; ++r) {
      const T* row = stored_row(queries_[first + r]);
      for (index_t c = begin; c < n; ++c) rows[r][c - begin] = row[queries_[c]];
    }
  };
  upper_triangle(n, kChunk, out, stride, threads, control, evaluate_from);
}

template <Real T>
std::unique_ptr<KernelRows<T>>
StoredKernelRows<T>::restricted(std::span<const index_t> columns) const {
  const index_t n = static_cast<index_t>(columns.size()), width = round_up(n, kLane<T>);
  std::vector<T> matrix(static_cast<std::size_t>(width * width), T(0));
  for (index_t r = 0; r < n; ++r)
    for (index_t c = 0; c < n; ++c) matrix[r * width + c] = stored_row(columns[r])[columns[c]];
  return std::unique_ptr<KernelRows<T>>(new StoredKernelRows(std::move(matrix), width));
}

template class StoredKernelRows<float>;
template class StoredKernelRows<double>;

} // namespace maxmargin
