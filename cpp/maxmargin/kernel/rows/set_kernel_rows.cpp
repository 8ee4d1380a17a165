#include "maxmargin/kernel/rows/set_kernel_rows.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// Spreading columns out costs as much as so many rows that pass by them.
constexpr index_t kAddChunk = 4096;
constexpr index_t kRowChunk = 64;
constexpr index_t kColumnChunk = 1024;

// All columns stay spread out where that takes no more memory than sparse rows of float64 do.
constexpr double kBytesOfNonzero = 12.0;

// Lines of bytes instead of numbers.
constexpr double kProductsPerFeature = 0.25;

} // namespace

template <Real T> PowersOfDifference<T>::PowersOfDifference(double rate) {
  for (int k = 0; k < 16; ++k) {
    low[k] = static_cast<T>(std::exp(-rate * k));
    high[k] = static_cast<T>(std::exp(-rate * 16 * k));
  }
}

double rate_of_difference(const KernelParams& kernel, double value) {
  switch (kernel.type) {
  case KernelType::rbf:
    return kernel.gamma * value * value;
  case KernelType::laplacian:
    return kernel.gamma * std::abs(value);
  case KernelType::chi_squared: // (x - 0)^2 / (x + 0)
    return kernel.gamma * value;
  default:
    return 0.0;
  }
}

template <Real T>
SetKernelRows<T>::SetKernelRows(const FeatureSets& samples, std::vector<index_t> columns,
                                int threads, const PowersOfDifference<T>& powers)
    : samples_(samples), columns_(std::move(columns)), powers_(powers),
      table_(simd::real_table<T>()),
      spread_(static_cast<std::size_t>(threads > 0 ? threads : thread_count(0))) {
  columns_.resize(
      static_cast<std::size_t>(round_up(static_cast<index_t>(columns_.size()), kLane<T>)), 0);
  this->size_ = static_cast<index_t>(columns_.size());
  this->row_chunk_ = kRowChunk;
  this->column_chunk_ = kColumnChunk;
  this->add_chunk_ = kAddChunk;
  double n_features = 0.0;
  for (const index_t c : columns_) n_features += static_cast<double>(samples.size(c));
  const double mean_size = n_features / static_cast<double>(this->size_);
  this->products_per_value_ = kProductsPerFeature * mean_size;
  if (static_cast<double>(samples.n_features()) > kBytesOfNonzero * mean_size) return;
  for (index_t c = 0; c < this->size_; c += simd::kSetColumns)
    all_spread_.emplace_back().set(samples, columns_at(c, this->size_));
}

template <Real T> bool SetKernelRows<T>::are_there() {
  return simd::real_table<T>().set_add != nullptr;
}

template <Real T> void SetKernelRows<T>::gather(std::span<const index_t> rows) {
  queries_.clear();
  for (const index_t r : rows) queries_.push_back(columns_[r]);
}

// The columns from c on, up to 64 of them, that come before the end.
template <Real T>
std::span<const index_t> SetKernelRows<T>::columns_at(index_t c, index_t end) const {
  return std::span<const index_t>(columns_).subspan(c, std::min(simd::kSetColumns, end - c));
}

template <Real T>
simd::SetBlock<T> SetKernelRows<T>::block(const SetTable& columns, index_t first, index_t n) {
  simd::SetBlock<T> b;
  columns.describe(b);
  samples_.describe(std::span<const index_t>(queries_).subspan(first, n), b);
  b.low = powers_.low;
  b.high = powers_.high;
  this->count_values(b.n_rows * b.n_columns);
  return b;
}

template <Real T> const SetTable& SetKernelRows<T>::spread_at(index_t c, index_t end, int thread) {
  const bool is_whole =
      c % simd::kSetColumns == 0 && std::min(c + simd::kSetColumns, this->size_) <= end;
  if (is_whole && !all_spread_.empty()) return all_spread_[c / simd::kSetColumns];
  spread_[thread].set(samples_, columns_at(c, end));
  return spread_[thread];
}

template <Real T>
void SetKernelRows<T>::evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                                int thread) {
  for (index_t c = begin; c < end; c += simd::kSetColumns)
    table_.set_block(block(spread_at(c, end, thread), first, n), out, c - begin);
}

template <Real T>
void SetKernelRows<T>::add(index_t first, index_t n, index_t begin, index_t end, const double* coef,
                           double* out, int thread) {
  for (index_t c = begin; c < end; c += simd::kSetColumns)
    table_.set_add(block(spread_at(c, end, thread), first, n), coef, out + (c - begin));
}

// All values, those below the diagonal too: they cost no more than mirroring the others.
template <Real T>
void SetKernelRows<T>::square(T* out, index_t stride, int threads, Control& control) {
  const index_t n_rows = static_cast<index_t>(queries_.size());
  const index_t n_columns = round_up(n_rows, kLane<T>);
  std::vector<index_t> columns = queries_;
  columns.resize(static_cast<std::size_t>(n_columns), queries_.front());
  std::vector<T*> rows;
  for (index_t r = 0; r < n_rows; ++r) rows.push_back(out + r * stride);
  const index_t n_tasks = (n_columns + simd::kSetColumns - 1) / simd::kSetColumns;
  threads = std::min<int>(threads, static_cast<int>(spread_.size()));
  parallel_for(n_tasks, threads, [&](index_t task, int thread) {
    control.poll();
    const index_t c = task * simd::kSetColumns;
    const index_t width = std::min(simd::kSetColumns, n_columns - c);
    spread_[thread].set(samples_, std::span<const index_t>(columns).subspan(c, width));
    table_.set_block(block(spread_[thread], 0, n_rows), rows.data(), c);
  });
}

template <Real T>
std::unique_ptr<KernelRows<T>>
SetKernelRows<T>::restricted(std::span<const index_t> columns) const {
  std::vector<index_t> kept;
  for (const index_t c : columns) kept.push_back(columns_[c]);
  return std::make_unique<SetKernelRows>(samples_, std::move(kept),
                                         static_cast<int>(spread_.size()), powers_);
}

template struct PowersOfDifference<float>;
template struct PowersOfDifference<double>;
template class SetKernelRows<float>;
template class SetKernelRows<double>;

} // namespace maxmargin
