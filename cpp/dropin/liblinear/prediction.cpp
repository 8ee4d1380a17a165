// Predictions by the public fields of any model, whoever has made it.
#include "dropin/liblinear/library.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace maxmargin::dropin;

double predict_values(const model* model, const feature_node* x, double* values) {
  const int n = n_functions(*model), n_rows = static_cast<int>(n_weights(*model));
  std::fill_n(values, n, 0.0);
  for (; x->index != -1; ++x) {
    // Samples may have features that no training sample had.
    if (x->index < 1 || x->index > n_rows) continue;
    const double* const row = model->w + static_cast<std::ptrdiff_t>(x->index - 1) * n;
    for (int k = 0; k < n; ++k) values[k] += row[k] * x->value;
  }
  const int solver = model->param.solver_type;
  if (is_one_class(solver)) values[0] -= rho_of(*model);
  if (is_regression(solver)) return values[0];
  if (is_one_class(solver)) return values[0] > 0.0 ? 1.0 : -1.0;
  if (model->nr_class == 2) return model->label[values[0] > 0.0 ? 0 : 1];
  return model->label[std::max_element(values, values + n) - values];
}

double predict(const model* model, const feature_node* x) {
  constexpr std::size_t kFew = 64; // functions whose values need no memory
  double few[kFew];
  const auto n = static_cast<std::size_t>(n_functions(*model));
  if (n <= kFew) return predict_values(model, x, few);
  return guarded(std::numeric_limits<double>::quiet_NaN(), [&] {
    std::vector<double> values(n);
    return predict_values(model, x, values.data());
  });
}

double predict_probability(const model* model, const feature_node* x, double* probabilities) {
  if (!has_probabilities(model->param.solver_type)) return 0.0;
  const double label = predict_values(model, x, probabilities);
  const int n = n_functions(*model);
  double sum = 0.0;
  for (int k = 0; k < n; ++k) {
    probabilities[k] = 1.0 / (1.0 + std::exp(-probabilities[k]));
    sum += probabilities[k];
  }
  if (n == 1 && model->nr_class == 2)
    probabilities[1] = 1.0 - probabilities[0];
  else
    for (int k = 0; k < n; ++k) probabilities[k] /= sum;
  return label;
}
