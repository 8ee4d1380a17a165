#include "maxmargin/model/decision.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/cross_kernel.hpp"
#include "maxmargin/model/machine_sums.hpp"
#include "maxmargin/model/pair_layout.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

using T = CrossKernel::T;

std::vector<MachinePart> one_vs_one_parts(index_t n_classes) {
  std::vector<MachinePart> parts;
  const std::vector<ClassPair> pairs = pairs_of(n_classes);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    parts.push_back({static_cast<index_t>(p), coef_row(a, b), a});
    parts.push_back({static_cast<index_t>(p), coef_row(b, a), b});
  }
  return parts;
}

} // namespace

class Decision::Impl {
 public:
  Impl(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
       const std::vector<MachinePart>& parts, std::span<const double> dual_coef,
       std::span<const double> rho, const KernelParams& kernel)
      : n_features_(n_cols(support_vectors)), columns_(support_vectors, n_support),
        rho_(rho.begin(), rho.end()), sums_(columns_, parts, n_machines(),
                                            coefficients(parts, dual_coef, n_rows(support_vectors)),
                                            simd::real_table<T>(simd::active_table())),
        kernel_(support_vectors, columns_.row, kernel) {}

  index_t n_machines() const { return static_cast<index_t>(rho_.size()); }
  index_t n_features() const { return n_features_; }

  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const {
    for (index_t i = 0; i < n_rows(X); ++i)
      for (index_t p = 0; p < n_machines(); ++p) out[i * n_machines() + p] = -rho_[p];
    threads = thread_count(threads); // once: limits may change at any time
    std::vector<MachineSums::Workspace> workspaces(static_cast<std::size_t>(threads));
    kernel_.for_blocks(X, factors, threads, control, [&](const CrossKernel::Block& block, int t) {
      sums_.add(block.values, block.begin, block.end, out + block.first_row * n_machines(),
                workspaces[t]);
    });
  }

 private:
  // By line and column.
  AlignedBuffer<T> coefficients(const std::vector<MachinePart>& parts,
                                std::span<const double> dual_coef, index_t n_vectors) const {
    index_t n_lines = 0, n_named_machines = 0;
    for (const MachinePart& part : parts) {
      n_lines = std::max(n_lines, part.line + 1);
      n_named_machines = std::max(n_named_machines, part.machine + 1);
    }
    require(n_machines() == n_named_machines &&
                static_cast<index_t>(dual_coef.size()) == n_lines * n_vectors,
            "dual_coef and rho do not match the number of classes and support vectors");
    AlignedBuffer<T> coef = AlignedBuffer<T>::zeros(n_lines * columns_.size());
    for (index_t line = 0; line < n_lines; ++line)
      for (index_t i = 0; i < n_vectors; ++i)
        coef[line * columns_.size() + columns_.column[i]] += dual_coef[line * n_vectors + i];
    return coef;
  }

  index_t n_features_;
  ClassColumns columns_;
  std::vector<double> rho_;
  MachineSums sums_;
  CrossKernel kernel_;
};

Decision::Decision(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
                   std::span<const double> dual_coef, std::span<const double> rho,
                   const KernelParams& kernel)
    : impl_(std::make_unique<Impl>(support_vectors, n_support,
                                   one_vs_one_parts(static_cast<index_t>(n_support.size())),
                                   dual_coef, rho, kernel)) {}
Decision::Decision(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decision::Decision(Decision&&) noexcept = default;
Decision::~Decision() = default;

Decision Decision::dense_coefficients(const MatrixView& support_vectors,
                                      std::span<const double> dual_coef,
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
