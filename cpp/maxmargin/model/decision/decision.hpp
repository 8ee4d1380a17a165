#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/model/decision/row_workspace.hpp"
#include "maxmargin/model/kernel_model.hpp"

#include <memory>
#include <span>
#include <vector>

namespace maxmargin {

// The decision functions of several machines, ready for repeated use: support vectors are packed
// once, and every kernel value between a sample and a support vector is computed once for all
// machines. Immutable, hence safe to use from many threads.
class MAXMARGIN_INSIDE Decision {
 public:
  // Of a kernel that is not precomputed. The numbers are copied. Where float32 holds them, and
  // bounds their products, kernel values may be asked for `in_float32`, of one sample at a time.
  Decision(const KernelModelParts& parts, bool in_float32, Control& control);
  // Machines that each have a coefficient for every support vector: row p of dual_coef, rho[p].
  static Decision dense_coefficients(const MatrixView& support_vectors,
                                     std::span<const double> dual_coef, std::span<const double> rho,
                                     const KernelParams& kernel, Control& control);
  Decision(Decision&&) noexcept;
  ~Decision();

  index_t n_machines() const;

  // out[i * n_machines + p] is the value of machine p for row i of X, sum dual_coef K - rho. It
  // does not depend on the other rows of X, of which `factors` are what KernelParams::factors are
  // of the support vectors. Requires as many features, and kernel values in float64.
  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const;
  // The same of one row.
  void evaluate_row(const MatrixView& X, std::span<const double> factors, double* out,
                    RowWorkspace& work) const;

 private:
  class Impl;
  explicit Decision(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What a model predicts for a sample with these decision values; `votes` has an element for every
// class.
double predicted_by(const KernelModelParts& parts, const double* values, std::span<index_t> votes);

} // namespace maxmargin
