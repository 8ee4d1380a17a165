#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/model/decision/row_workspace.hpp"
#include "maxmargin/model/kernel_model.hpp"

#include <span>
#include <variant>

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
  Decision(const MatrixView& support_vectors, std::span<const double> dual_coef,
           std::span<const double> rho, const KernelParams& kernel, Control& control);

  index_t n_support_vectors() const { return columns_.size(); }
  index_t n_machines() const { return static_cast<index_t>(rho_.size()); }

  // out[i * n_machines + p] is the value of machine p for row i of X, sum dual_coef K - rho. It
  // does not depend on the other rows of X, of which `factors` are what KernelParams::factors are
  // of the support vectors. Requires as many features, and kernel values in float64.
  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const;
  // The same of one row.
  void evaluate_row(const MatrixView& X, std::span<const double> factors, double* out,
                    RowWorkspace& work) const;

 private:
  Decision(const MatrixView& vectors, std::span<const index_t> n_support,
           const std::vector<MachinePart>& parts, std::span<const double> dual_coef,
           std::span<const double> rho, const KernelParams& kernel, bool in_float32,
           Control& control);
  template <Real T>
  CrossKernel<T> kernel_with(const MatrixView& vectors, const KernelParams& kernel,
                             Control& control) const;

  index_t n_features_;
  ClassColumns columns_;
  std::vector<double> rho_;
  MachineSums sums_;
  std::variant<std::monostate, CrossKernel<double>, CrossKernel<float>> kernel_;
};

// What a model predicts for a sample with these decision values; `votes` has an element for every
// class.
double predicted_by(const KernelModelParts& parts, const double* values, std::span<index_t> votes);

} // namespace maxmargin
