#include "kernel/kernel_rows.hpp"

#include "base/parallel.hpp"
#include "data/packed_csr.hpp"
#include "data/packed_dense.hpp"
#include "kernel/kernel_function.hpp"
#include "simd/dispatch.hpp"

#include <algorithm>
#include <stdexcept>

namespace maxmargin {
namespace {

using T = double;

// Queries of one chunk fit a part of the second-level cache, beside the panels and the results.
constexpr index_t kQueryBytes = 256 * 1024;
constexpr index_t kDenseColumnChunk = 16 * kLane<T>;
constexpr index_t kSparseColumnChunk = 1024;

// A symmetric n x n block from the values on and right of its diagonal, which
// evaluate_from(first, count, begin, rows, thread) computes: rows[r][c] = K(first + r, begin + c)
// for every column from `begin` on.
template <class F>
void upper_triangle(index_t n, index_t row_chunk, T* out, index_t stride, int threads,
                    Control& control, const F& evaluate_from) {
  const index_t n_chunks = (n + row_chunk - 1) / row_chunk;
  parallel_for(n_chunks, threads, [&](index_t chunk, int thread) {
    control.poll();
    const index_t first = chunk * row_chunk, count = std::min(row_chunk, n - first);
    const index_t begin = first / kLane<T> * kLane<T>;
    std::vector<T*> rows;
    for (index_t r = first; r < first + count; ++r) rows.push_back(out + r * stride + begin);
    evaluate_from(first, count, begin, rows.data(), thread);
  });
  // The rest by reflection, in squares that stay in the first-level cache.
  constexpr index_t side = 4 * kLane<T>;
  parallel_for((n + side - 1) / side, threads, [&](index_t square_row, int) {
    const index_t first = square_row * side, end = std::min(first + side, n);
    for (index_t left = 0; left <= first; left += side)
      for (index_t r = first; r < end; ++r)
        for (index_t c = left; c < std::min(left + side, r); ++c)
          out[r * stride + c] = out[c * stride + r];
  });
}

class DenseKernelRows final : public KernelRows {
 public:
  DenseKernelRows(std::vector<const T*> panels, PackedDense<T> owned, index_t depth,
                  const simd::Epilogue<T>& epilogue)
      : owned_(std::move(owned)), panels_(std::move(panels)), depth_(depth), epilogue_(epilogue),
        table_(simd::real_table<T>(simd::active_table())) {
    size_ = static_cast<index_t>(panels_.size()) * kLane<T>;
    const index_t fitting = kQueryBytes / (std::max<index_t>(depth, 1) * index_t{sizeof(T)});
    row_chunk_ = std::clamp<index_t>(fitting / table_.tile_rows, 1, 24) * table_.tile_rows;
    column_chunk_ = kDenseColumnChunk;
    products_per_value_ = static_cast<double>(depth);
  }

  void gather(std::span<const index_t> rows) override {
    rows_.assign(rows.begin(), rows.end());
    queries_.gather(panels_, depth_, rows, table_.tile_rows);
  }

  void evaluate(index_t first, index_t n, index_t begin, index_t end, double* const* out,
                int) override {
    table_.dense_block(block(
        first, n, std::span(panels_).subspan(begin / kLane<T>, (end - begin) / kLane<T>), out));
  }

  void square(double* out, index_t stride, int threads, Control& control) override {
    const PackedDense<T> columns(panels_, depth_, rows_);
    std::vector<const T*> panels;
    for (index_t p = 0; p < columns.n_panels(); ++p) panels.push_back(columns.panel(p));
    const auto evaluate_from = [&](index_t first, index_t n, index_t begin, T* const* rows, int) {
      table_.dense_block(block(first, n, std::span(panels).subspan(begin / kLane<T>), rows));
    };
    upper_triangle(queries_.rows(), row_chunk_, out, stride, threads, control, evaluate_from);
  }

  std::unique_ptr<KernelRows> restricted(std::span<const index_t> columns) const override {
    return std::make_unique<DenseKernelRows>(panels_, depth_, columns, epilogue_);
  }

  DenseKernelRows(std::span<const T* const> panels, index_t depth, std::span<const index_t> columns,
                  const simd::Epilogue<T>& epilogue)
      : DenseKernelRows(std::vector<const T*>{}, PackedDense<T>(panels, depth, columns), depth,
                        epilogue) {
    for (index_t p = 0; p < owned_.n_panels(); ++p) panels_.push_back(owned_.panel(p));
    size_ = owned_.n_panels() * kLane<T>;
  }

 private:
  simd::DenseBlock<T> block(index_t first, index_t n, std::span<const T* const> panels,
                            T* const* out) const {
    simd::DenseBlock<T> b;
    b.queries = queries_.values_from(first);
    b.query_half_norms = queries_.half_norms_from(first);
    b.n_queries = n;
    b.depth = depth_;
    b.panels = panels.data();
    b.n_panels = static_cast<index_t>(panels.size());
    b.epilogue = epilogue_;
    b.out = out;
    return b;
  }

  PackedDense<T> owned_;
  std::vector<const T*> panels_;
  index_t depth_;
  simd::Epilogue<T> epilogue_;
  const simd::RealTable<T>& table_;
  std::vector<index_t> rows_;
  DenseQueries<T> queries_;
};

class SparseKernelRows final : public KernelRows {
 public:
  SparseKernelRows(const PackedCsr<T>& samples, std::vector<index_t> columns, int threads,
                   const simd::Epilogue<T>& epilogue)
      : samples_(samples), columns_(std::move(columns)), epilogue_(epilogue),
        table_(simd::real_table<T>(simd::active_table())),
        tables_(static_cast<std::size_t>(thread_count(threads))) {
    columns_.resize(
        static_cast<std::size_t>(round_up(static_cast<index_t>(columns_.size()), kLane<T>)), 0);
    size_ = static_cast<index_t>(columns_.size());
    row_chunk_ = simd::kSparseQueries<T>;
    column_chunk_ = kSparseColumnChunk;
    double nnz = 0.0;
    for (const index_t c : columns_) nnz += static_cast<double>(samples.row_size(c));
    products_per_value_ = nnz / static_cast<double>(size_);
  }

  bool adds_directly() const override { return true; }

  void add(index_t first, index_t n, index_t begin, index_t end, const double* coef, double* out,
           int thread) override {
    T padded[simd::kSparseQueries<T>] = {};
    std::copy(coef, coef + n, padded);
    table_.sparse_add(block(first, n, std::span(columns_).subspan(begin, end - begin), thread),
                      padded, out);
  }

  void gather(std::span<const index_t> rows) override {
    queries_.clear();
    for (const index_t r : rows) queries_.push_back(columns_[r]);
  }

  void evaluate(index_t first, index_t n, index_t begin, index_t end, double* const* out,
                int thread) override {
    table_.sparse_block(block(first, n, std::span(columns_).subspan(begin, end - begin), thread),
                        out);
  }

  void square(double* out, index_t stride, int threads, Control& control) override {
    const index_t n = static_cast<index_t>(queries_.size());
    std::vector<index_t> columns = queries_;
    columns.resize(static_cast<std::size_t>(round_up(n, kLane<T>)), queries_.front());
    const auto evaluate_from = [&](index_t first, index_t count, index_t begin, T* const* rows,
                                   int thread) {
      table_.sparse_block(block(first, count, std::span(columns).subspan(begin), thread), rows);
    };
    upper_triangle(n, row_chunk_, out, stride,
                   std::min<int>(threads, static_cast<int>(tables_.size())), control,
                   evaluate_from);
  }

  std::unique_ptr<KernelRows> restricted(std::span<const index_t> columns) const override {
    std::vector<index_t> kept;
    for (const index_t c : columns) kept.push_back(columns_[c]);
    return std::make_unique<SparseKernelRows>(samples_, std::move(kept),
                                              static_cast<int>(tables_.size()), epilogue_);
  }

 private:
  simd::SparseBlock<T> block(index_t first, index_t n, std::span<const index_t> columns,
                             int thread) {
    QueryTable<T>& queries = tables_[thread];
    queries.set(samples_, std::span(queries_).subspan(first, n), samples_.cols());
    simd::SparseBlock<T> b;
    queries.describe(b);
    b.values = samples_.values();
    b.indices = samples_.indices();
    b.indptr = samples_.indptr();
    b.half_norms = samples_.half_norms();
    b.rows = columns.data();
    b.n_rows = static_cast<index_t>(columns.size());
    b.epilogue = epilogue_;
    return b;
  }

  const PackedCsr<T>& samples_;
  std::vector<index_t> columns_;
  simd::Epilogue<T> epilogue_;
  const simd::RealTable<T>& table_;
  std::vector<index_t> queries_;
  std::vector<QueryTable<T>> tables_;
};

// The order in which the segments' rows are packed, each segment filled up with copies of its last
// row (dense panels want whole lines), and where each begins.
struct SegmentOrder {
  explicit SegmentOrder(const std::vector<std::vector<index_t>>& segments) {
    for (const auto& segment : segments) {
      begin.push_back(static_cast<index_t>(rows.size()));
      rows.insert(rows.end(), segment.begin(), segment.end());
      while (rows.size() % static_cast<std::size_t>(kLane<T>) != 0) rows.push_back(segment.back());
    }
    begin.push_back(static_cast<index_t>(rows.size()));
  }
  std::vector<index_t> rows;
  std::vector<index_t> begin;
};

class PackedDenseSamples final : public PackedSamples {
 public:
  PackedDenseSamples(const MatrixView& X, const SegmentOrder& order, const KernelParams& kernel,
                     int threads, Control& control)
      : begin_(order.begin) {
    const Scaling scaling = scaling_of(X, is_translation_invariant(kernel.type));
    epilogue_ = epilogue_of<T>(kernel, scaling);
    packed_ = PackedDense<T>(X, order.rows, scaling, simd::real_table<T>(simd::active_table()),
                             threads, &control);
  }

  std::unique_ptr<KernelRows> rows(std::span<const index_t> segments, int) const override {
    std::vector<const T*> panels;
    for (const index_t s : segments)
      for (index_t p = begin_[s] / kLane<T>; p < begin_[s + 1] / kLane<T>; ++p)
        panels.push_back(packed_.panel(p));
    return std::make_unique<DenseKernelRows>(std::move(panels), PackedDense<T>(), packed_.depth(),
                                             epilogue_);
  }

 private:
  std::vector<index_t> begin_;
  simd::Epilogue<T> epilogue_;
  PackedDense<T> packed_;
};

class PackedSparseSamples final : public PackedSamples {
 public:
  PackedSparseSamples(const MatrixView& X, const SegmentOrder& order, const KernelParams& kernel)
      : begin_(order.begin) {
    const Scaling scaling = scaling_of(X, false);
    epilogue_ = epilogue_of<T>(kernel, scaling);
    packed_ = PackedCsr<T>(X, order.rows, scaling, FeatureOrder(X),
                           simd::real_table<T>(simd::active_table()));
  }

  std::unique_ptr<KernelRows> rows(std::span<const index_t> segments, int threads) const override {
    std::vector<index_t> columns;
    for (const index_t s : segments)
      for (index_t i = begin_[s]; i < begin_[s + 1]; ++i) columns.push_back(i);
    return std::make_unique<SparseKernelRows>(packed_, std::move(columns), threads, epilogue_);
  }

 private:
  std::vector<index_t> begin_;
  simd::Epilogue<T> epilogue_;
  PackedCsr<T> packed_;
};

} // namespace

void KernelRows::add(index_t, index_t, index_t, index_t, const double*, double*, int) {
  throw std::logic_error("these kernel rows do not add directly");
}

std::unique_ptr<PackedSamples> pack_samples(const MatrixView& X,
                                            const std::vector<std::vector<index_t>>& segments,
                                            const KernelParams& kernel, int threads,
                                            Control& control) {
  const SegmentOrder order(segments);
  if (packs_sparse(X)) return std::make_unique<PackedSparseSamples>(X, order, kernel);
  return std::make_unique<PackedDenseSamples>(X, order, kernel, threads, control);
}

} // namespace maxmargin
