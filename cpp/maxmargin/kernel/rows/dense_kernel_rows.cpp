#include "maxmargin/kernel/rows/dense_kernel_rows.hpp"

#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/kernel/upper_triangle.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// Queries of one chunk fit a part of the second-level cache, with the panels and the results.
constexpr index_t kQueryBytes = 256 * 1024;
constexpr index_t kPanelsPerChunk = 16;

} // namespace

template <Real T>
DenseKernelRows<T>::DenseKernelRows(std::vector<const T*> panels, index_t depth,
                                    const simd::Epilogue<T>& epilogue, SampleFactors<T> factors)
    : panels_(std::move(panels)), depth_(depth), epilogue_(epilogue), factors_(std::move(factors)),
      table_(simd::real_table<T>()) {
  this->size_ = static_cast<index_t>(panels_.size()) * kLane<T>;
  const index_t fitting = kQueryBytes / (std::max<index_t>(depth, 1) * index_t{sizeof(T)});
  this->row_chunk_ = std::clamp<index_t>(fitting / table_.tile_rows, 1, 24) * table_.tile_rows;
  this->column_chunk_ = kPanelsPerChunk * kLane<T>;
  this->products_per_value_ = static_cast<double>(depth) * products_of(epilogue.of_exponentials);
}

template <Real T>
DenseKernelRows<T>::DenseKernelRows(PackedDense<T> packed, const simd::Epilogue<T>& epilogue,
                                    SampleFactors<T> factors)
    : DenseKernelRows(packed.panels(), packed.depth(), epilogue, std::move(factors)) {
  owned_ = std::move(packed);
}

template <Real T> void DenseKernelRows<T>::gather(std::span<const index_t> rows) {
  rows_.assign(rows.begin(), rows.end());
  queries_.gather(panels_, depth_, rows, table_.tile_rows);
  query_factors_ = factors_.selected(rows);
}

template <Real T>
void DenseKernelRows<T>::evaluate(index_t first, index_t n, index_t begin, index_t end,
                                  T* const* out, int) {
  const std::span panels(panels_);
  table_.dense_block(block(first, n, panels.subspan(begin / kLane<T>, (end - begin) / kLane<T>),
                           factors_.from(begin), out));
}

template <Real T>
void DenseKernelRows<T>::square(T* out, index_t stride, int threads, Control& control) {
  const PackedDense<T> columns(panels_, depth_, rows_);
  const std::vector<const T*> panels = columns.panels();
  const auto evaluate_from = [&](index_t first, index_t n, index_t begin, T* const* rows, int) {
    table_.dense_block(block(first, n, std::span(panels).subspan(begin / kLane<T>),
                             query_factors_.from(begin), rows));
  };
  upper_triangle(queries_.rows(), this->row_chunk_, out, stride, threads, control, evaluate_from);
}

template <Real T>
std::unique_ptr<KernelRows<T>>
DenseKernelRows<T>::restricted(std::span<const index_t> columns) const {
  return std::unique_ptr<KernelRows<T>>(new DenseKernelRows(
      PackedDense<T>(panels_, depth_, columns), epilogue_, factors_.selected(columns)));
}

template <Real T>
simd::DenseBlock<T> DenseKernelRows<T>::block(index_t first, index_t n,
                                              std::span<const T* const> panels,
                                              simd::Factors<T> factors, T* const* out) {
  simd::DenseBlock<T> b;
  queries_.describe(first, n, panels, b);
  b.epilogue = &epilogue_;
  b.query_factors = query_factors_.from(first);
  b.column_factors = factors;
  b.out = out;
  this->count_values(n * b.n_panels * kLane<T>);
  return b;
}

template class DenseKernelRows<float>;
template class DenseKernelRows<double>;

} // namespace maxmargin
