// The solver of the dual problem, by the optimality conditions of the definition.
#include "maxmargin/dual/block_smo.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "tests/clouds.hpp"

#include <algorithm>
#include <doctest/doctest.h>

namespace maxmargin::tests {

TEST_CASE("the solution of a C-SVC is feasible, and optimal to the tolerance") {
  const index_t n = 128; // whole lines, so that there is no padding
  const double C = 2.0, gamma = 0.3, tol = 1e-6;
  const Clouds clouds(n, 3, 1.0);
  Control control;
  const MatrixView X = clouds.view();
  Control unwatched;
  const PackingPlan plan(X, {KernelType::rbf, gamma, 0.0, 3, {}}, false, 1, unwatched);
  std::vector<index_t> all;
  for (index_t i = 0; i < n; ++i) all.push_back(i);
  const auto samples = pack_samples<double>(plan, {all}, 1, control);
  const index_t segments[] = {0};
  KernelMatrix<double> matrix(samples(segments, 1), std::size_t{1} << 20, 1, control);

  dual::DualProblem problem;
  for (const double y : clouds.y) {
    problem.linear.push_back(-y);
    problem.lower.push_back(std::min(0.0, C * y));
    problem.upper.push_back(std::max(0.0, C * y));
  }
  dual::SolverOptions options;
  options.tol = tol;
  const dual::Solution solution = dual::solve(problem, matrix, options, control);

  CHECK(solution.stop_reason == optim::StopReason::converged);
  double sum = 0.0, up = -1e300, low = 1e300;
  for (index_t i = 0; i < n; ++i) {
    const double beta = solution.beta[i];
    CHECK(beta >= problem.lower[i]);
    CHECK(beta <= problem.upper[i]);
    sum += beta;
    double gradient = -clouds.y[i];
    for (index_t j = 0; j < n; ++j) gradient += solution.beta[j] * clouds.rbf(i, j, gamma);
    if (beta < problem.upper[i]) up = std::max(up, -gradient);
    if (beta > problem.lower[i]) low = std::min(low, -gradient);
  }
  CHECK(std::abs(sum) < 1e-10);
  CHECK(up - low < 2.0 * tol);
}

} // namespace maxmargin::tests
