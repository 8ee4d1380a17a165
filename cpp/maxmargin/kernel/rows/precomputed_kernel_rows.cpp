#include "maxmargin/kernel/rows/precomputed_kernel_rows.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr index_t kRowChunk = 32;
constexpr index_t kColumnChunk = 1024;

} // namespace

template <Real T>
PrecomputedKernelRows<T>::PrecomputedKernelRows(const MatrixView& matrix,
                                                std::vector<index_t> sample_of)
    : matrix_(matrix), sample_of_(std::move(sample_of)) {
  require(!is_sparse(matrix) && n_rows(matrix) == n_cols(matrix),
          "a kernel matrix must be dense and square");
  this->size_ = static_cast<index_t>(sample_of_.size());
  this->row_chunk_ = kRowChunk;
  this->column_chunk_ = kColumnChunk;
  this->products_per_value_ = 1.0;
}

template <Real T> void PrecomputedKernelRows<T>::gather(std::span<const index_t> rows) {
  queries_.clear();
  for (const index_t r : rows) queries_.push_back(sample_of_[r]);
}

template <Real T>
void PrecomputedKernelRows<T>::copy(index_t sample, std::span<const index_t> samples, T* out) {
  this->count_values(static_cast<index_t>(samples.size()));
  std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>) {
          const auto* row = view.row(sample);
          for (std::size_t c = 0; c < samples.size(); ++c) out[c] = static_cast<T>(row[samples[c]]);
        }
      },
      matrix_);
}

template <Real T>
void PrecomputedKernelRows<T>::evaluate(index_t first, index_t n, index_t begin, index_t end,
                                        T* const* out, int) {
  const auto samples = std::span<const index_t>(sample_of_).subspan(begin, end - begin);
  for (index_t r = 0; r < n; ++r) copy(queries_[first + r], samples, out[r]);
}

template <Real T>
void PrecomputedKernelRows<T>::square(T* out, index_t stride, int threads, Control& control) {
  const index_t n = static_cast<index_t>(queries_.size());
  parallel_for(n, threads, [&](index_t r, int) {
    control.poll();
    copy(queries_[r], queries_, out + r * stride);
    std::fill(out + r * stride + n, out + r * stride + round_up(n, kLane<T>), T(0));
  });
}

template <Real T>
std::unique_ptr<KernelRows<T>>
PrecomputedKernelRows<T>::restricted(std::span<const index_t> columns) const {
  std::vector<index_t> samples;
  for (const index_t c : columns) samples.push_back(sample_of_[c]);
  samples.resize(
      static_cast<std::size_t>(round_up(static_cast<index_t>(samples.size()), kLane<float>)),
      samples.back());
  return std::make_unique<PrecomputedKernelRows>(matrix_, std::move(samples));
}

template class PrecomputedKernelRows<float>;
template class PrecomputedKernelRows<double>;

} // namespace maxmargin
