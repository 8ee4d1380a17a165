#include "maxmargin/kernel/rows/sparse_kernel_rows.hpp"

#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/kernel/upper_triangle.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// The values of one chunk, and what the tails contribute to them, fit the second-level cache.
constexpr index_t kColumnChunk = 1024;

} // namespace

template <Real T>
SparseKernelRows<T>::SparseKernelRows(const PackedCsr<T>& samples, std::vector<index_t> columns,
                                      int threads, const simd::Epilogue<T>& epilogue,
                                      SampleFactors<T> factors)
    : samples_(samples), columns_(std::move(columns)), epilogue_(epilogue),
      factors_(std::move(factors)), table_(simd::real_table<T>()),
      spread_(static_cast<std::size_t>(threads > 0 ? threads : thread_count(0))) {
  columns_.resize(
      static_cast<std::size_t>(round_up(static_cast<index_t>(columns_.size()), kLane<T>)), 0);
  this->size_ = static_cast<index_t>(columns_.size());
  this->row_chunk_ = simd::kSparseQueries<T>;
  this->column_chunk_ = kColumnChunk;
  double nnz = 0.0;
  for (const index_t c : columns_) nnz += static_cast<double>(samples.row_size(c));
  this->products_per_value_ =
      nnz / static_cast<double>(this->size_) * products_of(epilogue.pairing);
  if (samples.has_tail()) index_.build(samples, columns_);
}

template <Real T> void SparseKernelRows<T>::gather(std::span<const index_t> rows) {
  queries_.clear();
  for (const index_t r : rows) queries_.push_back(columns_[r]);
  query_factors_ = factors_.selected(rows);
  for (Spread& spread : spread_) spread.first = -1;
}

template <Real T>
QueryTable<T>& SparseKernelRows<T>::spread_out(index_t first, index_t n, const TailIndex<T>& index,
                                               int thread) {
  QueryTable<T>& table = spread_[thread].table;
  table.set(samples_, std::span<const index_t>(queries_).subspan(first, n), index);
  return table;
}

template <Real T>
void SparseKernelRows<T>::evaluate(index_t first, index_t n, index_t begin, index_t end,
                                   T* const* out, int thread) {
  Spread& spread = spread_[thread];
  if (spread.first != first || begin < spread.reached) spread_out(first, n, index_, thread);
  spread.first = first;
  spread.reached = end;
  table_.sparse_block(block(spread.table, first, columns_, factors_, begin, end), out);
}

template <Real T>
void SparseKernelRows<T>::add(index_t first, index_t n, index_t begin, index_t end,
                              const double* coef, double* out, int thread) {
  double padded[simd::kSparseQueries<T>] = {};
  std::copy(coef, coef + n, padded);
  QueryTable<T>& table = spread_out(first, n, index_, thread);
  for (index_t c = begin; c < end; c += kColumnChunk) {
    const index_t until = std::min(c + kColumnChunk, end);
    table_.sparse_add(block(table, first, columns_, factors_, c, until), padded, out + (c - begin));
  }
}

template <Real T>
void SparseKernelRows<T>::square(T* out, index_t stride, int threads, Control& control) {
  const index_t n = static_cast<index_t>(queries_.size()), width = round_up(n, kLane<T>);
  std::vector<index_t> columns = queries_;
  columns.resize(static_cast<std::size_t>(width), queries_.front());
  if (samples_.has_tail()) square_index_.build(samples_, columns);
  const auto evaluate_from = [&](index_t first, index_t count, index_t begin, T* const* rows,
                                 int thread) {
    QueryTable<T>& table = spread_out(first, count, square_index_, thread);
    table_.sparse_block(block(table, first, columns, query_factors_, begin, width), rows);
  };
  upper_triangle(n, this->row_chunk_, out, stride,
                 std::min<int>(threads, static_cast<int>(spread_.size())), control, evaluate_from);
}

template <Real T>
std::unique_ptr<KernelRows<T>>
SparseKernelRows<T>::restricted(std::span<const index_t> columns) const {
  std::vector<index_t> kept;
  for (const index_t c : columns) kept.push_back(columns_[c]);
  return std::make_unique<SparseKernelRows>(samples_, std::move(kept),
                                            static_cast<int>(spread_.size()), epilogue_,
                                            factors_.selected(columns));
}

template <Real T>
simd::SparseBlock<T>
SparseKernelRows<T>::block(QueryTable<T>& table, index_t first, std::span<const index_t> columns,
                           const SampleFactors<T>& factors, index_t begin, index_t end) {
  if (samples_.has_tail()) table.meet_tail(samples_, columns, begin, end, epilogue_, table_);
  simd::SparseBlock<T> b;
  samples_.describe(columns.subspan(begin, end - begin), b);
  table.describe(b);
  b.epilogue = &epilogue_;
  b.query_factors = query_factors_.from(first);
  b.row_factors = factors.from(begin);
  this->count_values(b.n_queries * b.n_rows);
  return b;
}

template class SparseKernelRows<float>;
template class SparseKernelRows<double>;

} // namespace maxmargin
