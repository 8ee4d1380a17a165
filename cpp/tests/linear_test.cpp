// Linear machines, by their objectives from the definitions: weak duality proves the solution.
#include "maxmargin/linear/l1/l1_newton.hpp"
#include "maxmargin/linear/newton/primal_newton.hpp"
#include "tests/clouds.hpp"

#include <algorithm>
#include <doctest/doctest.h>

namespace maxmargin::tests {

namespace {
double squared_hinge(const Clouds& clouds, const linear::LinearSeparator& f, double C) {
  double sum = 0.0;
  for (index_t i = 0; i < clouds.n; ++i) {
    const double short_by = std::max(0.0, 1.0 - clouds.y[i] * (clouds.dot(i, f.w) + f.b));
    sum += C * short_by * short_by;
  }
  return sum;
}
} // namespace

TEST_CASE("Newton's method closes the duality gap of the squared hinge loss") {
  const Clouds clouds(500, 6, 0.5);
  const double C = 0.7;
  const std::vector<double> upper(500, C);
  const MatrixView X = clouds.view();
  const linear::LinearProblem problem{{}, X, clouds.y, upper};
  linear::LinearOptions options;
  options.tol = 1e-8;
  Control control;
  const linear::LinearSolution solution = solve_primal_newton(problem, options, control);
  CHECK(solution.stop_reason == optim::StopReason::converged);

  const auto& [w, b] = solution.separator;
  double norm = b * b, dual = 0.0;
  for (const double x : w) norm += x * x;
  const double primal = norm / 2.0 + squared_hinge(clouds, solution.separator, C);
  std::vector<double> v(7, 0.0); // sum of beta x, and of beta
  for (index_t i = 0; i < clouds.n; ++i) {
    const double beta = solution.beta[i];
    CHECK(beta * clouds.y[i] >= 0.0);
    for (index_t k = 0; k < clouds.d; ++k) v[k] += beta * clouds.values[i * clouds.d + k];
    v[6] += beta;
    dual += beta * clouds.y[i] - beta * beta / (4.0 * C);
  }
  for (const double x : v) dual -= x * x / 2.0;
  CHECK(solution.primal_objective == doctest::Approx(primal).epsilon(1e-10));
  CHECK(dual <= primal * (1.0 + 1e-12));
  CHECK(primal - dual <= 1e-8 * primal);
}

TEST_CASE("penalty l1: a weight is 0, or the slope of the loss is that of the penalty") {
  const Clouds clouds(300, 20, 0.2);
  const double C = 0.02;
  const std::vector<double> upper(300, C);
  const MatrixView X = clouds.view();
  const linear::LinearProblem problem{
      {.penalty = linear::Penalty::l1, .intercept_scaling = 0.0}, X, clouds.y, upper};
  linear::LinearOptions options;
  options.tol = 1e-10;
  Control control;
  const linear::LinearSolution solution = solve_l1_newton(problem, options, control);
  CHECK(solution.stop_reason == optim::StopReason::converged);

  const auto& w = solution.separator.w;
  std::vector<double> slopes(20, 0.0);
  for (index_t i = 0; i < clouds.n; ++i) {
    const double y = clouds.y[i], short_by = std::max(0.0, 1.0 - y * clouds.dot(i, w));
    for (index_t k = 0; k < clouds.d; ++k)
      slopes[k] -= 2.0 * C * short_by * y * clouds.values[i * clouds.d + k];
  }
  index_t n_zero = 0;
  for (index_t k = 0; k < clouds.d; ++k) {
    CHECK(std::abs(slopes[k]) <= 1.0 + 1e-4);
    if (w[k] == 0.0)
      ++n_zero;
    else
      CHECK(slopes[k] == doctest::Approx(w[k] > 0.0 ? -1.0 : 1.0).epsilon(1e-4));
  }
  CHECK(n_zero > 0);
  CHECK(n_zero < 20);
}

} // namespace maxmargin::tests
