#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/kernel_fit.hpp"
#include "maxmargin/svm/training_options.hpp"

#include <span>

namespace maxmargin {

// Formulations of one machine on the whole training set (svm/formulation.hpp). C, the bound of
// every row's loss, and z have one element for each row of X; a row with C = 0 is left out. They
// require a row of positive C.

// Support vector regression.
MAXMARGIN_API KernelFit train_svr(const MatrixView& X, std::span<const double> z,
                                  std::span<const double> C, double epsilon,
                                  const KernelParams& kernel, const TrainingOptions& options,
                                  Control& control);

// One machine for each quantile of the targets, whose loss is the pinball loss: C_i times
// quantile (z_i - f) where z_i > f, and (1 - quantile) (f - z_i) elsewhere. Requires quantiles
// between 0 and 1.
MAXMARGIN_API KernelFit train_quantile_svr(const MatrixView& X, std::span<const double> z,
                                           std::span<const double> C,
                                           std::span<const double> quantiles,
                                           const KernelParams& kernel,
                                           const TrainingOptions& options, Control& control);

// The same as the first with a free epsilon. Requires 0 < nu <= 1.
MAXMARGIN_API KernelFit train_nu_svr(const MatrixView& X, std::span<const double> z,
                                     std::span<const double> C, double nu,
                                     const KernelParams& kernel, const TrainingOptions& options,
                                     Control& control);

// One-class machine. Where nu sum_i C_i < 1, the tolerance is multiplied by it, as the solution is.
// Requires 0 < nu <= 1.
MAXMARGIN_API KernelFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                                        const KernelParams& kernel, const TrainingOptions& options,
                                        Control& control);

} // namespace maxmargin
