// The kernel perceptron, against its rule written out.
#include "maxmargin/perceptron/kernel_perceptron.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

namespace maxmargin::tests {

TEST_CASE("the kernel perceptron makes the mistakes of its rule") {
  const double gamma = 0.5;
  const Clouds clouds(150, 2, 1.5);
  std::vector<std::int64_t> codes;
  for (const double y : clouds.y) codes.push_back(y > 0.0 ? 1 : 0);
  const std::int64_t positive[] = {1};
  const MatrixView X = clouds.view();
  const KernelParams kernel{KernelType::rbf, gamma, 0.0, 3, {}};
  perceptron::MistakeRule rule;
  rule.codes = codes;
  rule.positive = positive;
  perceptron::KernelPerceptronOptions options;
  options.passes.max_iter = 5;
  options.offset = 1.0;
  Control control;
  const perceptron::KernelPerceptronFit fit =
      perceptron::train_kernel_perceptron(X, kernel, rule, options, control);

  std::vector<double> beta(150, 0.0);
  for (const index_t expected : fit.records[0].mistakes_per_pass) {
    index_t mistakes = 0;
    for (index_t i = 0; i < clouds.n; ++i) {
      double f = 0.0;
      for (index_t j = 0; j < clouds.n; ++j)
        if (beta[j] != 0.0) f += beta[j] * (clouds.rbf(i, j, gamma) + 1.0);
      if (clouds.y[i] * f > 0.0) continue;
      ++mistakes;
      beta[i] += clouds.y[i];
    }
    CHECK(mistakes == expected);
  }
  CHECK(fit.beta == beta);
}

} // namespace maxmargin::tests
