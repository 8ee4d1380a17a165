#pragma once

#include "data/views.hpp"
#include "kernel/kernel_params.hpp"
#include "svm/machine.hpp"

#include <span>

namespace maxmargin {

// One-class support vector machine (Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001), in
// LIBSVM's scaling, C_i being the samples' weights:
//
//   minimise  1/2 ||w||^2 - s rho + sum_i C_i max(0, rho - w.phi(x_i)),   s = nu sum_i C_i
//
// through its dual: no linear term, box [0, C_i], sum beta = s. The solution scales with s, and
// where s < 1 the tolerance does too.
//
// A row with C = 0 is left out. Requires 0 < nu <= 1 and a row of positive C.
SingleFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control);

} // namespace maxmargin
