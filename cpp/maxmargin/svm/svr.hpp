#pragma once

#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/kernel_fit.hpp"
#include "maxmargin/svm/machine.hpp"

#include <span>

namespace maxmargin {

// Support vector regression (svm/formulation.hpp). `C` and `z` have one element for each row of X;
// a row with C = 0 is left out. Requires a row of positive C.
KernelFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control);

// The same with epsilon as a variable, which the counterpart is. Requires 0 < nu <= 1.
KernelFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control);

} // namespace maxmargin
