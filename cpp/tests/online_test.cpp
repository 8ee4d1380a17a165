// Online training of linear functions, against the rule written out.
#include "maxmargin/online/subgradient.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

namespace maxmargin::tests {

TEST_CASE("the perceptron makes the mistakes of its rule, and separates what can be separated") {
  const Clouds clouds(200, 4, 4.0);
  std::vector<std::int8_t> y;
  for (const double label : clouds.y) y.push_back(label > 0.0 ? 1 : -1);
  const MatrixView X = clouds.view();
  const online::OnlineProblem problem{X, online::BinaryLabels{y}, {}, {}};
  online::OnlineState start;
  start.w.assign(4, 0.0);
  start.b.assign(1, 0.0);
  Control control;
  const online::OnlineFit fit = online::train_online(problem, {}, start, control);
  REQUIRE(fit.record.is_separated);

  std::vector<double> w(4, 0.0);
  double b = 0.0;
  for (const index_t expected : fit.record.mistakes_per_pass) {
    index_t mistakes = 0;
    for (index_t i = 0; i < clouds.n; ++i)
      if (clouds.y[i] * (clouds.dot(i, w) + b) <= 0.0) {
        ++mistakes;
        b += clouds.y[i];
        for (index_t k = 0; k < clouds.d; ++k)
          w[k] += clouds.y[i] * clouds.values[i * clouds.d + k];
      }
    CHECK(mistakes == expected);
  }
  CHECK(fit.record.mistakes_per_pass.back() == 0);
  CHECK(fit.state.b[0] == b);
  for (index_t k = 0; k < clouds.d; ++k) CHECK(fit.state.w[k] == doctest::Approx(w[k]));
}

} // namespace maxmargin::tests
