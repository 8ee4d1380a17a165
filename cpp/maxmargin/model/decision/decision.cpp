#include "maxmargin/model/decision/decision.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/cross_kernel.hpp"
#include "maxmargin/model/decision/machine_sums.hpp"
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
       std::span<const double> rho, const KernelParams& kernel, Control& control)
      : n_features_(n_cols(support_vectors)), columns_(support_vectors, n_support, control),
        rho_(rho.begin(), rho.end()),
        sums_(columns_, parts, n_machines(), dual_coef, simd::real_table<T>(simd::active_table())),
        kernel_(support_vectors, columns_.row, kernel, control) {}

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
  index_t n_features_;
  ClassColumns columns_;
  std::vector<double> rho_;
  MachineSums sums_;
  CrossKernel kernel_;
};

Decision::Decision(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
                   std::span<const double> dual_coef, std::span<const double> rho,
                   const KernelParams& kernel, Control& control)
    : impl_(std::make_unique<Impl>(support_vectors, n_support,
                                   one_vs_one_parts(static_cast<index_t>(n_support.size())),
                                   dual_coef, rho, kernel, control)) {}
Decision::Decision(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decision::Decision(Decision&&) noexcept = default;
Decision::~Decision() = default;

Decision Decision::dense_coefficients(const MatrixView& support_vectors,
                                      std::span<const double> dual_coef,
                                      std::span<const double> rho, const KernelParams& kernel,
                                      Control& control) {
  const std::int64_t n_support[] = {n_rows(support_vectors)};
  std::vector<MachinePart> parts;
  for (index_t p = 0; p < static_cast<index_t>(rho.size()); ++p) parts.push_back({p, p, 0});
  return Decision(
      std::make_unique<Impl>(support_vectors, n_support, parts, dual_coef, rho, kernel, control));
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
