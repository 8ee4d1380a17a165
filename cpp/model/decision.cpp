#include "model/decision.hpp"

#include "base/aligned_buffer.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "data/packed_csr.hpp"
#include "data/packed_dense.hpp"
#include "kernel/kernel_function.hpp"
#include "kernel/sample_factors.hpp"
#include "model/machine_sums.hpp"
#include "simd/dispatch.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace maxmargin {
namespace {

using T = double;

constexpr index_t kColumnChunk = 64 * kLane<T>; // support vectors evaluated at a time
constexpr index_t kValueStride = row_stride<T>(kColumnChunk);
constexpr index_t kDenseRows = 48; // samples of one task

// Machine (a, b) takes the support vectors of class a with line b - 1 of the coefficients, and
// those of class b with line a.
std::vector<MachinePart> one_vs_one_parts(index_t n_classes) {
  std::vector<MachinePart> parts;
  index_t p = 0;
  for (index_t a = 0; a < n_classes; ++a)
    for (index_t b = a + 1; b < n_classes; ++b, ++p) {
      parts.push_back({p, b - 1, a});
      parts.push_back({p, a, b});
    }
  return parts;
}

// Multiplications that the kernel values of a sample with all support vectors take as long as.
double work_of_sample(const MatrixView& support_vectors, simd::Pairing pairing) {
  return static_cast<double>(n_stored(support_vectors)) * products_of(pairing) +
         static_cast<double>(n_rows(support_vectors)) * kFunctionProducts;
}

} // namespace

class Decision::Impl {
 public:
  Impl(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
       const std::vector<MachinePart>& parts, std::span<const double> dual_coef,
       std::span<const double> rho, const KernelParams& kernel)
      : n_features_(n_cols(support_vectors)), columns_(support_vectors, n_support),
        rho_(rho.begin(), rho.end()), n_factors_(n_factors(kernel)),
        table_(simd::real_table<T>(simd::active_table())),
        sparse_(packs_sparse(support_vectors, density_of(support_vectors))) {
    const index_t n_rows_given = n_rows(support_vectors);
    index_t n_lines = 0, n_named_machines = 0;
    for (const MachinePart& part : parts) {
      n_lines = std::max(n_lines, part.line + 1);
      n_named_machines = std::max(n_named_machines, part.machine + 1);
    }
    require(n_machines() == n_named_machines &&
                static_cast<index_t>(dual_coef.size()) == n_lines * n_rows_given,
            "dual_coef and rho do not match the number of classes and support vectors");
    AlignedBuffer<T> coef = AlignedBuffer<T>::zeros(n_lines * columns_.size());
    for (index_t line = 0; line < n_lines; ++line)
      for (index_t i = 0; i < n_rows_given; ++i)
        coef[line * columns_.size() + columns_.column[i]] += dual_coef[line * n_rows_given + i];
    sums_.emplace(columns_, parts, n_machines(), std::move(coef), table_);
    if (n_rows_given == 0) return;
    work_of_sample_ = work_of_sample(support_vectors, pairing_of(kernel));
    scaling_ = scaling_of(support_vectors, !sparse_ && is_translation_invariant(kernel));
    epilogue_ = epilogue_of<T>(kernel, scaling_);
    factors_ = SampleFactors<T>(kernel.factors, n_factors_, n_rows_given, columns_.row);
    if (sparse_) {
      feature_order_ = FeatureOrder(support_vectors);
      csr_ = PackedCsr<T>(support_vectors, columns_.row, scaling_, epilogue_.pairing,
                          feature_order_, table_, 1);
      sparse_columns_.resize(static_cast<std::size_t>(columns_.size()));
      std::iota(sparse_columns_.begin(), sparse_columns_.end(), 0);
      tail_index_.build(csr_, sparse_columns_);
    } else {
      dense_ =
          PackedDense<T>(support_vectors, columns_.row, scaling_, epilogue_.pairing, table_, 1);
      for (index_t p = 0; p < dense_.n_panels(); ++p) panels_.push_back(dense_.panel(p));
    }
  }

  index_t n_machines() const { return static_cast<index_t>(rho_.size()); }
  index_t n_features() const { return n_features_; }

  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const {
    const index_t n = n_rows(X);
    const index_t step = sparse_ ? simd::kSparseQueries<T> : kDenseRows;
    for (index_t i = 0; i < n; ++i)
      for (index_t p = 0; p < n_machines(); ++p) out[i * n_machines() + p] = -rho_[p];
    if (columns_.size() == 0) return;
    threads = thread_count_for(threads, static_cast<double>(n) * work_of_sample_);
    std::vector<Workspace> workspaces(static_cast<std::size_t>(threads));
    parallel_for((n + step - 1) / step, threads, [&](index_t task, int thread) {
      control.poll();
      const index_t first = task * step;
      evaluate_rows(X, factors, first, std::min(step, n - first), out + first * n_machines(),
                    workspaces[thread]);
    });
  }

 private:
  struct Workspace {
    AlignedBuffer<T> values; // kernel values of the samples with a chunk of support vectors
    DenseQueries<T> dense;
    QueryTable<T> sparse;
    SampleFactors<T> factors;
    MachineSums::Workspace sums;
  };

  void evaluate_rows(const MatrixView& X, std::span<const double> factors, index_t first, index_t n,
                     double* out, Workspace& work) const {
    std::vector<index_t> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), first);
    work.factors = SampleFactors<T>(factors, n_factors_, n_rows(X), rows);
    std::vector<index_t> numbers(rows.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (sparse_) {
      const PackedCsr<T> queries(X, rows, scaling_, epilogue_.pairing, feature_order_, table_, 1);
      work.sparse.set(queries, numbers, tail_index_);
    } else {
      const PackedDense<T> queries(X, rows, scaling_, epilogue_.pairing, table_, 1);
      std::vector<const T*> panels;
      for (index_t p = 0; p < queries.n_panels(); ++p) panels.push_back(queries.panel(p));
      work.dense.gather(panels, n_features_, numbers, table_.tile_rows);
    }
    work.values.resize_discard(n * kValueStride);
    std::vector<T*> values;
    for (index_t r = 0; r < n; ++r) values.push_back(work.values.data() + r * kValueStride);
    for (index_t begin = 0; begin < columns_.size(); begin += kColumnChunk) {
      const index_t end = std::min(begin + kColumnChunk, columns_.size());
      kernel_values(n, begin, end, values.data(), work);
      sums_->add(std::vector<const T*>(values.begin(), values.end()), begin, end, out, work.sums);
    }
  }

  void kernel_values(index_t n, index_t begin, index_t end, T* const* out, Workspace& work) const {
    if (sparse_) {
      if (csr_.has_tail()) work.sparse.meet_tail(begin, end, table_);
      simd::SparseBlock<T> b;
      csr_.describe(std::span(sparse_columns_).subspan(begin, end - begin), b);
      work.sparse.describe(b);
      b.epilogue = epilogue_;
      b.query_factors = work.factors.from(0);
      b.row_factors = factors_.from(begin);
      table_.sparse_block(b, out);
    } else {
      simd::DenseBlock<T> b;
      b.queries = work.dense.values_from(0);
      b.query_half_norms = work.dense.half_norms_from(0);
      b.n_queries = n;
      b.depth = n_features_;
      b.panels = panels_.data() + begin / kLane<T>;
      b.n_panels = (end - begin) / kLane<T>;
      b.epilogue = epilogue_;
      b.query_factors = work.factors.from(0);
      b.column_factors = factors_.from(begin);
      b.out = out;
      table_.dense_block(b);
    }
  }

  index_t n_features_;
  ClassColumns columns_;
  std::vector<double> rho_;
  index_t n_factors_;
  std::optional<MachineSums> sums_;
  Scaling scaling_;
  simd::Epilogue<T> epilogue_;
  SampleFactors<T> factors_;
  const simd::RealTable<T>& table_;
  bool sparse_;
  double work_of_sample_ = 0.0;
  PackedDense<T> dense_;
  std::vector<const T*> panels_;
  FeatureOrder feature_order_;
  PackedCsr<T> csr_;
  TailIndex<T> tail_index_;
  std::vector<index_t> sparse_columns_;
};

Decision::Decision(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
                   std::span<const double> dual_coef, std::span<const double> rho,
                   const KernelParams& kernel)
    : impl_(std::make_unique<Impl>(support_vectors, n_support,
                                   one_vs_one_parts(static_cast<index_t>(n_support.size())),
                                   dual_coef, rho, kernel)) {}
Decision::Decision(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decision::~Decision() = default;

Decision Decision::one_vs_rest(const MatrixView& support_vectors, std::span<const double> dual_coef,
                               std::span<const double> rho, const KernelParams& kernel) {
  const std::int64_t n_support[] = {n_rows(support_vectors)};
  std::vector<MachinePart> parts;
  for (index_t p = 0; p < static_cast<index_t>(rho.size()); ++p) parts.push_back({p, p, 0});
  return Decision(
      std::make_unique<Impl>(support_vectors, n_support, parts, dual_coef, rho, kernel));
}

index_t Decision::n_machines() const {
  return impl_->n_machines();
}
index_t Decision::n_features() const {
  return impl_->n_features();
}

void Decision::evaluate(const MatrixView& X, std::span<const double> factors, double* out,
                        int threads, Control& control) const {
  require(n_cols(X) == n_features(), "X must have as many features as the support vectors");
  impl_->evaluate(X, factors, out, threads, control);
}

} // namespace maxmargin
