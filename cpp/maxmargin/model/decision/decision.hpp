#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"

#include <memory>
#include <span>
#include <vector>

namespace maxmargin {

// The decision functions of several machines, ready for repeated use: support vectors are packed
// once, and every kernel value between a sample and a support vector is computed once for all
// machines. Immutable, hence safe to use from many threads.
class Decision {
 public:
  // One-vs-one machines: n_support, dual_coef and rho as in model/kernel_model.hpp. The samples
  // are copied.
  Decision(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
           std::span<const double> dual_coef, std::span<const double> rho,
           const KernelParams& kernel, Control& control);
  // Machines that each have a coefficient for every support vector: row p of dual_coef, rho[p].
  static Decision dense_coefficients(const MatrixView& support_vectors,
                                     std::span<const double> dual_coef, std::span<const double> rho,
                                     const KernelParams& kernel, Control& control);
  Decision(Decision&&) noexcept;
  ~Decision();

  index_t n_machines() const;
  index_t n_features() const;

  // out[i * n_machines + p] is the value of machine p for row i of X, sum dual_coef K - rho. It
  // does not depend on the other rows of X, of which `factors` are what KernelParams::factors are
  // of the support vectors. Requires n_cols(X) == n_features.
  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const;

 private:
  class Impl;
  explicit Decision(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace maxmargin
