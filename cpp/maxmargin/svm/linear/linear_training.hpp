#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/linear/linear_fit.hpp"
#include "maxmargin/model/linear/linear_model.hpp"
#include "maxmargin/online/online_fit.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// What the training of linear machines gives.
struct LinearTraining {
  LinearModel model;
  std::vector<linear::LinearOutcome> outcomes; // by machine
};

// linear/linear_fit.hpp. Throws NumericError where a weight is not finite.
MAXMARGIN_API std::vector<LinearTraining>
train_linear_classifier(const linear::ClassSamples& samples, std::span<const double> C,
                        const linear::LinearFormulation& formulation,
                        const linear::LinearOptions& options, Control& control);
MAXMARGIN_API std::vector<LinearTraining>
train_linear_regression(const MatrixView& X, std::span<const double> y,
                        std::span<const double> weight, std::span<const double> C,
                        const linear::LinearFormulation& formulation,
                        const linear::LinearOptions& options, Control& control);

// The functions that online training has reached: the averages, where there are any.
MAXMARGIN_API LinearModel model_of(const online::OnlineStates& states, index_t n_classes);

} // namespace maxmargin
