#pragma once

#include "svm/dual_fit.hpp"

namespace maxmargin {

// C-support vector classification with the squared hinge loss (Cortes and Vapnik 1995, with F(u) =
// u^2):
//
//   minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) - rho))^2
//
// through its dual in signed form: that of train_c_svc with 1 / (2 C_i) added to the diagonal of K,
// and no upper bound on alpha. C_i = infinity is the hard margin,
//
//   minimise  1/2 ||w||^2  subject to  y_i (w.phi(x_i) - rho) >= 1 for all i,
//
// whose dual has no bound below where no w and rho separate the classes; throws InvalidArgument
// then.
//
// Columns, y and C are those of train_c_svc. The source takes its ridge from here.
Machine train_squared_hinge_svc(KernelSource source, std::span<const double> y,
                                std::span<const double> C, const SolverOptions& options,
                                Control& control);

} // namespace maxmargin
