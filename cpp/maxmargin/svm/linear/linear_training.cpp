#include "maxmargin/svm/linear/linear_training.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"

#include <utility>

namespace maxmargin {
namespace {

std::vector<LinearTraining> models_of(std::vector<linear::LinearFit> fits, index_t n_features,
                                      index_t n_classes) {
  std::vector<LinearTraining> trained;
  for (linear::LinearFit& fit : fits) {
    if (!all_finite(fit.coef) || !all_finite(fit.intercept))
      throw NumericError("a weight is not finite");
    trained.push_back(
        {LinearModel({n_features, n_classes, std::move(fit.coef), std::move(fit.intercept)}),
         std::move(fit.outcomes)});
  }
  return trained;
}

} // namespace

std::vector<LinearTraining> train_linear_classifier(const linear::ClassSamples& samples,
                                                    std::span<const double> C,
                                                    const linear::LinearFormulation& formulation,
                                                    const linear::LinearOptions& options,
                                                    Control& control) {
  return models_of(linear::fit_linear_classifier(samples, C, formulation, options, control),
                   n_cols(samples.X), samples.n_classes());
}

std::vector<LinearTraining> train_linear_regression(const MatrixView& X, std::span<const double> y,
                                                    std::span<const double> weight,
                                                    std::span<const double> C,
                                                    const linear::LinearFormulation& formulation,
                                                    const linear::LinearOptions& options,
                                                    Control& control) {
  return models_of(linear::fit_linear_regression(X, y, weight, C, formulation, options, control),
                   n_cols(X), 0);
}

LinearModel model_of(const online::OnlineStates& states, index_t n_classes) {
  using online::OnlineState;
  const bool averaged = states.has_averages();
  const std::vector<double> w = states.joined(averaged ? &OnlineState::average_w : &OnlineState::w);
  return LinearModel({states.n_features(),
                      n_classes,
                      {w.begin(), w.end()},
                      states.joined(averaged ? &OnlineState::average_b : &OnlineState::b)});
}

} // namespace maxmargin
