#include "maxmargin/linear/newton/few_samples.hpp"

#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/row_passes.hpp"
#include "maxmargin/linear/newton/sample_rotation.hpp"

#include <algorithm>
#include <utility>

namespace maxmargin::linear {

LinearSolution solve_few_samples(const LinearProblem& problem, const LinearOptions& options,
                                 Control& control, const Solve& solve) {
  optim::TimeLimit time(options.time_limit, control);
  std::vector<index_t> rows;
  std::vector<double> y, C, start;
  for (index_t i = 0; i < n_rows(problem.X); ++i) {
    if (problem.C[i] == 0.0) continue;
    rows.push_back(i);
    y.push_back(problem.y[i]);
    C.push_back(problem.C[i]);
    if (!options.start.empty()) start.push_back(options.start[i]);
  }
  const SampleRotation rotation(problem.X, rows, options.threads, time);
  std::vector<double> beta(problem.y.size(), 0.0);
  LinearOutcome outcome;
  outcome.stop_reason = optim::StopReason::time_limit;
  AlignedVector<double> weights(static_cast<std::size_t>(n_cols(problem.X)), 0.0);
  const InterceptFeature intercept = InterceptFeature::of(problem.intercept_scaling);
  double b = 0.0;
  if (rotation.is_whole()) {
    const MatrixView rotated = rotation.samples();
    LinearOptions rest = options;
    rest.start = start;
    rest.time_limit = options.time_limit - time.seconds();
    LinearSolution solution = solve({problem, rotated, y, C}, rest);
    for (std::size_t k = 0; k < rows.size(); ++k) beta[rows[k]] = solution.beta[k];
    weights = rotation.original(solution.separator.w);
    b = solution.separator.b;
    outcome = solution;
  }
  if (intercept.feature != 0.0) weights.push_back(b / intercept.feature);
  RowPasses passes(problem.X, intercept, options.threads, control, Centring::none);
  LinearSolution result =
      certify(problem, intercept, passes, weights, std::move(beta), options.tol);
  outcome.set_bounds(result.primal_objective, result.duality_gap());
  if (outcome.stop_reason == optim::StopReason::converged &&
      result.duality_gap() > options.tol * result.primal_objective)
    outcome.stop_reason = optim::StopReason::stalled;
  outcome.seconds = time.seconds();
  static_cast<LinearOutcome&>(result) = outcome;
  return result;
}

} // namespace maxmargin::linear
