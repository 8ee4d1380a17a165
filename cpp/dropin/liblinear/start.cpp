// LIBLINEAR's rule for an initial solution: training ends there if the gradient is small enough.
#include "dropin/classes.hpp"
#include "dropin/liblinear/library.hpp"
#include "dropin/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace maxmargin::dropin {
namespace {

// The derivative of a loss at the value f.
double slope(const parameter& param, double y, double f) {
  if (param.solver_type == L2R_LR) return -y / (1.0 + std::exp(y * f));
  if (param.solver_type == L2R_L2LOSS_SVC) return -2.0 * y * std::max(0.0, 1.0 - y * f);
  return 2.0 * std::copysign(std::max(0.0, std::abs(f - y) - param.p), f - y);
}

// The norm of the objective's gradient at w.
double gradient(const problem& problem, const parameter& param, std::span<const double> w,
                std::span<const double> y, std::span<const double> C) {
  std::vector<double> sum(w.begin(), w.end());
  if (is_bias_free(param)) sum.back() = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    double f = 0.0;
    for_nodes(problem.x[i], [&](int index, double value) { f += w[index - 1] * value; });
    const double g = C[i] * slope(param, y[i], f);
    for_nodes(problem.x[i], [&](int index, double value) { sum[index - 1] += g * value; });
  }
  return std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
}

} // namespace

OwnedModel unchanged(const problem& problem, const parameter& param, const double* start) {
  const auto n = static_cast<std::size_t>(problem.n), l = static_cast<std::size_t>(problem.l);
  const bool is_svr = is_regression(param.solver_type);
  const Classes classes(is_svr ? std::span<const double>() : targets_of(problem));
  const std::size_t n_functions = classes.labels.size() <= 2 ? 1 : classes.labels.size();
  std::vector<double> factor(classes.labels.size(), 1.0);
  for (int k = 0; k < param.nr_weight; ++k)
    for (std::size_t c = 0; c < factor.size(); ++c)
      if (classes.labels[c] == param.weight_label[k]) factor[c] *= param.weight[k];
  const std::vector<double> zeros(n, 0.0);
  for (std::size_t k = 0; k < n_functions; ++k) {
    std::vector<double> w, y(targets_of(problem).begin(), targets_of(problem).end()), C(l, param.C);
    for (std::size_t j = 0; j < n; ++j) w.push_back(start[j * n_functions + k]);
    double eps = param.eps;
    if (!is_svr) {
      const double of_rest = n_functions == 1 ? factor.back() : 1.0;
      std::size_t n_positive = 0;
      for (std::size_t i = 0; i < l; ++i) {
        const bool is_positive = classes.codes[i] == static_cast<index_t>(k);
        n_positive += is_positive;
        y[i] = is_positive ? 1.0 : -1.0;
        C[i] *= is_positive ? factor[k] : of_rest;
      }
      const std::size_t fewer = std::max<std::size_t>(1, std::min(n_positive, l - n_positive));
      eps *= static_cast<double>(fewer) / static_cast<double>(l);
    }
    if (!(gradient(problem, param, w, y, C) <= eps * gradient(problem, param, zeros, y, C)))
      return nullptr;
  }
  return new_model(param, problem.n - (problem.bias >= 0.0 ? 1 : 0), problem.bias, classes.labels,
                   {start, n * n_functions});
}

} // namespace maxmargin::dropin
