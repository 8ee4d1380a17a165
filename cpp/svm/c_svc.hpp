#pragma once

#include "svm/dual_fit.hpp"

namespace maxmargin {

// C-support vector classification (Cortes and Vapnik 1995):
//
//   minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) - rho))
//
// through its dual in signed form, beta_i = y_i alpha_i: linear term -y_i, box [0, C_i] for y_i = 1
// and [-C_i, 0] for y_i = -1, sum beta = 0. The columns are those of the source; y and C have one
// element for each, and a column with C_i = 0 takes no part.
Machine train_c_svc(const KernelSource& source, std::span<const double> y,
                    std::span<const double> C, const SolverOptions& options, Control& control);

} // namespace maxmargin
