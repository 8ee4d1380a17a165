#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/kernel/cross_kernel.hpp"
#include "maxmargin/model/decision/row_workspace.hpp"
#include "maxmargin/model/kernel_model.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The decision values of a classifier that has a few support vectors for each of many classes,
// whose coefficients stay where they are: to pack them by class (machine_sums.hpp) would take
// several times their memory, and the sums of a class would be added to machines all over it.
class PairValues {
 public:
  static bool serves(const KernelModelParts& parts);

  // The numbers of the parts must outlive this; they may move with their vectors.
  PairValues(const KernelModelParts& parts, Control& control);

  // As those of Decision.
  void evaluate(const MatrixView& X, std::span<const double> factors, double* out, int threads,
                Control& control) const;
  void evaluate_row(const MatrixView& X, std::span<const double> factors, double* out,
                    RowWorkspace& work) const;

 private:
  template <index_t kRows>
  void evaluate_in_blocks(const MatrixView& X, std::span<const double> factors, double* out,
                          int threads, Control& control) const;
  template <index_t kRows>
  void add_class(index_t i, const double* values, index_t n_rows, double* out) const;

  std::span<const double> dual_coef_, rho_;
  std::vector<index_t> begin_; // the first support vector of every class, then the end
  CrossKernel<double> kernel_;
};

} // namespace maxmargin
