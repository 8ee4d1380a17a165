#pragma once

#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/kernel_fit.hpp"
#include "maxmargin/svm/machine.hpp"

#include <span>

namespace maxmargin {

// One-class support vector machine (svm/formulation.hpp), C_i being the samples' weights. Where
// nu sum_i C_i < 1, the tolerance is multiplied by it, as the solution is.
//
// A row with C = 0 is left out. Requires 0 < nu <= 1 and a row of positive C.
KernelFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control);

} // namespace maxmargin
