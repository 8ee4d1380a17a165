// Linear machines, by their objectives from the definitions: weak duality proves the solution.
#include "maxmargin/linear/l1/l1_newton.hpp"
#include "maxmargin/linear/linear_solver.hpp"
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

TEST_CASE("the logistic loss ends where its slope is that of the penalty") {
  // Few features, more features than samples, and more features than a matrix is made for.
  for (const auto& [n, d] : {std::pair<index_t, index_t>{300, 5}, {60, 90}, {700, 600}})
    for (const linear::Penalty penalty : {linear::Penalty::l2, linear::Penalty::l1})
      for (const double scaling : {0.0, 2.0, std::numeric_limits<double>::infinity()}) {
        CAPTURE(d);
        CAPTURE(scaling);
        const Clouds clouds(n, d, 1.0 / std::sqrt(static_cast<double>(d)));
        const double C = 0.05;
        const std::vector<double> upper(static_cast<std::size_t>(n), C);
        const MatrixView X = clouds.view();
        const linear::LinearFormulation formulation{
            .loss = linear::LinearLoss::logistic, .penalty = penalty, .intercept_scaling = scaling};
        const bool is_l2 = penalty == linear::Penalty::l2;
        linear::LinearOptions options;
        options.tol = is_l2 ? 1e-10 : 1e-7;
        Control control;
        const linear::LinearSolver solver(X, formulation, true, 1, control);
        const auto solution =
            solver.solve({formulation, solver.samples(), clouds.y, upper}, options, control);
        CHECK(solution.stop_reason == optim::StopReason::converged);
        const auto& [w, b] = solution.separator;
        std::vector<double> slopes(static_cast<std::size_t>(d) + 1, 0.0); // of the losses
        for (index_t i = 0; i < n; ++i) {
          const double y = clouds.y[i];
          const double g = -C * y / (1.0 + std::exp(y * (clouds.dot(i, w) + b)));
          for (index_t k = 0; k < d; ++k) slopes[k] += g * clouds.values[i * d + k];
          slopes.back() += g;
        }
        const double near = 2e-3;
        for (index_t k = 0; k < d; ++k) {
          if (is_l2)
            CHECK(slopes[k] == doctest::Approx(-w[k]).epsilon(near));
          else if (w[k] != 0.0)
            CHECK(slopes[k] == doctest::Approx(-std::copysign(1.0, w[k])).epsilon(near));
          else
            CHECK(std::abs(slopes[k]) <= 1.0 + near);
        }
        if (std::isinf(scaling)) CHECK(std::abs(slopes.back()) < near);
        if (is_l2 && scaling == 2.0)
          CHECK(slopes.back() == doctest::Approx(-b / 4.0).epsilon(near));
      }
}

} // namespace maxmargin::tests
