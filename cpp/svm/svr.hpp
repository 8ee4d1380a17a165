#pragma once

#include "data/views.hpp"
#include "kernel/kernel_params.hpp"
#include "svm/machine.hpp"

#include <span>

namespace maxmargin {

// Support vector regression (Vapnik 1995; Drucker et al. 1997):
//
//   minimise  1/2 ||w||^2 + sum_i C_i max(0, |z_i - (w.phi(x_i) - rho)| - epsilon)
//
// through its dual with two variables for each sample, alpha_i in [0, C_i] and -alpha*_i in
// [-C_i, 0], which share one row of the kernel matrix; beta_i = alpha_i - alpha*_i:
//
//   minimise  1/2 beta' K beta - z' beta + epsilon sum (alpha + alpha*),  sum beta = 0.
//
// `C` and `z` have one element for each row of X; a row with C = 0 is left out. Requires a row of
// positive C.
SingleFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control);

// The same with epsilon as a variable of price nu sum_i C_i (Schoelkopf et al. 2000, in LIBSVM's
// scaling):
//
//   minimise  1/2 ||w||^2 + nu sum_i C_i epsilon + sum_i C_i max(0, |z_i - f(x_i)| - epsilon)
//
// In the dual epsilon's term is gone, and the alpha and the alpha* sum up to nu sum_i C_i / 2 each.
// The counterpart is epsilon. Requires 0 < nu <= 1.
SingleFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control);

} // namespace maxmargin
