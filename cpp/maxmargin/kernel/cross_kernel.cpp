#include "maxmargin/kernel/cross_kernel.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <numeric>

namespace maxmargin {
namespace {

constexpr index_t kDenseRows = 48, kFewestRows = 8; // samples of one task
// Values of the samples of one task, 64 MB, where there are enough features.
constexpr index_t kMostPacked = index_t{1} << 23;

// Multiplications that the kernel values of a sample with all others take as long as.
double work_of_sample(const MatrixView& others, simd::Pairing pairing) {
  return static_cast<double>(n_stored(others)) * products_of(pairing) +
         static_cast<double>(n_rows(others)) * kFunctionProducts;
}

} // namespace

template <Real T>
CrossKernel<T>::CrossKernel(const MatrixView& others, std::span<const index_t> columns,
                            const KernelParams& kernel, Control& control, int exponent)
    : n_columns_(std::ssize(columns)), n_features_(n_cols(others)), n_factors_(n_factors(kernel)),
      table_(simd::real_table<T>()) {
  require(n_columns_ % kLane<T> == 0, "columns must fill lines");
  require(kernel.type != KernelType::precomputed, "the kernel must be a function of two samples");
  if (n_columns_ == 0) return;
  packing_ = Packing(others, kernel, density_of(others, 1, control),
                     is_translation_invariant(kernel), 1, control);
  packing_.scaling.exponent = std::max({packing_.scaling.exponent, exponent, kLeastExponent});
  epilogue_ = packing_.epilogue<T>(kernel);
  work_of_sample_ = work_of_sample(others, epilogue_.of_exponentials);
  factors_ = SampleFactors<T>(kernel.factors, n_factors_, n_rows(others), columns);
  if (packing_.is_sparse) {
    csr_ = PackedCsr<T>(others, columns, packing_.scaling, epilogue_.pairing, packing_.order,
                        table_, 1, control);
    sparse_columns_ = identity_order(n_columns_);
    tail_index_.build(csr_, sparse_columns_);
  } else {
    dense_ = PackedDense<T>(others, columns, packing_.scaling, epilogue_.of_exponentials, table_, 1,
                            &control);
    panels_ = dense_.panels();
  }
}

template <Real T>
void CrossKernel<T>::for_blocks(const MatrixView& X, std::span<const double> factors, int threads,
                                Control& control, const Use& use) const {
  require(n_cols(X) == n_features_, "both samples must have as many features");
  if (n_columns_ == 0) return;
  const index_t n = n_rows(X), most_dense = kMostPacked / std::max<index_t>(1, n_features_);
  const index_t step = packing_.is_sparse ? simd::kSparseQueries<T>
                                          : std::clamp(most_dense, kFewestRows, kDenseRows);
  threads = thread_count_for(threads, static_cast<double>(n) * work_of_sample_);
  std::vector<Workspace> workspaces(static_cast<std::size_t>(threads));
  parallel_for((n + step - 1) / step, threads, [&](index_t task, int thread) {
    control.poll();
    Workspace& work = workspaces[thread];
    const index_t first = task * step, count = std::min(step, n - first);
    pack(X, factors, first, count, work, control);
    make_room(count, work);
    const std::vector<const T*> rows(work.rows.begin(), work.rows.end());
    for (index_t begin = 0; begin < n_columns_; begin += kColumnChunk) {
      const index_t end = std::min(begin + kColumnChunk, n_columns_);
      evaluate(count, begin, end, work);
      use({first, rows, begin, end}, thread);
    }
  });
}

template <Real T>
void CrossKernel<T>::pack(const MatrixView& X, std::span<const double> factors, index_t first,
                          index_t n, Workspace& work, Control& control) const {
  std::vector<index_t> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), first);
  work.factors = SampleFactors<T>(factors, n_factors_, n_rows(X), rows);
  const std::vector<index_t> numbers = identity_order(n);
  if (packing_.is_sparse) {
    work.packed.assign(X, rows, packing_.scaling, epilogue_.pairing, packing_.order, table_,
                       control);
    work.sparse.set(work.packed, numbers, tail_index_);
    return;
  }
  const PackedDense<T> queries(X, rows, packing_.scaling, epilogue_.of_exponentials, table_, 1);
  work.dense.gather(queries.panels(), n_features_, numbers, table_.tile_rows);
}

template <Real T> void CrossKernel<T>::make_room(index_t n, Workspace& work) const {
  constexpr index_t stride = row_stride<T>(kColumnChunk);
  work.values.resize_discard(n * stride);
  work.rows.clear();
  for (index_t r = 0; r < n; ++r) work.rows.push_back(work.values.data() + r * stride);
}

template <Real T>
void CrossKernel<T>::pack_row(const MatrixView& X, std::span<const double> factors,
                              Workspace& work) const {
  static constexpr index_t kFirst[] = {0};
  make_room(1, work);
  if (n_factors_ > 0) work.factors = SampleFactors<T>(factors, n_factors_, 1, kFirst);
  if (packing_.is_sparse) {
    Control control;
    work.packed.assign(X, kFirst, packing_.scaling, epilogue_.pairing, packing_.order, table_,
                       control);
    work.sparse.set(work.packed, kFirst, tail_index_);
    return;
  }
  T* const row = work.dense.set_row(n_features_);
  if (is_sparse(X))
    for (index_t k = 0; k < n_features_; ++k) row[k] = packed_zero<T>(packing_.scaling, k);
  std::visit(
      [&](const auto& view) {
        for_each_feature<double>(view, 0, packing_.scaling,
                                 [&](index_t k, double x) { row[k] = rounded<T>(x); });
      },
      X);
  work.dense.set_half_norm(table_.row_half_norm(epilogue_.of_exponentials, row, n_features_));
}

template <Real T>
void CrossKernel<T>::evaluate(index_t n, index_t begin, index_t end, Workspace& work) const {
  if (packing_.is_sparse) {
    if (csr_.has_tail())
      work.sparse.meet_tail(csr_, sparse_columns_, begin, end, epilogue_, table_);
    simd::SparseBlock<T> b;
    csr_.describe(std::span(sparse_columns_).subspan(begin, end - begin), b);
    work.sparse.describe(b);
    b.epilogue = &epilogue_;
    b.query_factors = work.factors.from(0);
    b.row_factors = factors_.from(begin);
    table_.sparse_block(b, work.rows.data());
    return;
  }
  simd::DenseBlock<T> b;
  work.dense.describe(0, n, std::span(panels_).subspan(begin / kLane<T>, (end - begin) / kLane<T>),
                      b);
  b.epilogue = &epilogue_;
  b.query_factors = work.factors.from(0);
  b.column_factors = factors_.from(begin);
  b.out = work.rows.data();
  table_.dense_block(b);
}

void cross_values(const MatrixView& A, std::span<const double> factors, const MatrixView& B,
                  const KernelParams& kernel, double* out, int threads, Control& control) {
  const index_t n = n_rows(B);
  if (n == 0) return;
  std::vector<index_t> columns = identity_order(n);
  columns.resize(static_cast<std::size_t>(round_up(n, kLane<double>)), n - 1);
  CrossKernel<double>(B, columns, kernel, control, scaling_of(A, false, threads, control).exponent)
      .for_blocks(A, factors, threads, control, [&](const CrossKernel<double>::Block& block, int) {
        const index_t end = std::min(block.end, n);
        for (std::size_t r = 0; r < block.values.size(); ++r)
          std::copy_n(block.values[r], end - block.begin,
                      out + (block.first_row + static_cast<index_t>(r)) * n + block.begin);
      });
}

template class CrossKernel<float>;
template class CrossKernel<double>;

} // namespace maxmargin
