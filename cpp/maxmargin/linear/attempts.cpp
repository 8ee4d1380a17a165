#include "maxmargin/linear/attempts.hpp"

#include "maxmargin/linear/linear_certificate.hpp"

#include <algorithm>
#include <utility>

namespace maxmargin::linear {

bool has_failed(const LinearOutcome& outcome, const LinearOptions& options) {
  return outcome.stop_reason == optim::StopReason::stalled ||
         (outcome.stop_reason == optim::StopReason::max_iter &&
          (options.max_iter < 0 || outcome.n_iter < options.max_iter));
}

LinearOptions rest_of(LinearOptions options, const LinearSolution& before) {
  options.start = before.beta;
  options.time_limit = std::max(0.0, options.time_limit - before.seconds);
  if (options.max_iter >= 0)
    options.max_iter = std::max<index_t>(0, options.max_iter - before.n_iter);
  return options;
}

LinearSolution better_of(LinearSolution first, LinearSolution second, double tol) {
  second.seconds += first.seconds;
  if (second.stop_reason == optim::StopReason::converged) return second;
  if (first.primal_objective < second.primal_objective) {
    second.primal_objective = first.primal_objective;
    second.separator = std::move(first.separator);
  }
  if (first.dual_objective < second.dual_objective) {
    second.dual_objective = first.dual_objective;
    second.beta = std::move(first.beta);
  }
  second.set_bounds(second.primal_objective, second.duality_gap());
  second.conclude(tol);
  return second;
}

void conclude(LinearSolution& solution, const LinearProblem& problem, double tol) {
  solution.conclude(tol);
  if (solution.stop_reason == optim::StopReason::converged) return;
  double at_zero = 0.0;
  for (std::size_t i = 0; i < problem.y.size(); ++i)
    if (problem.C[i] > 0.0) at_zero += loss_at(problem, static_cast<index_t>(i), 0.0);
  if (!(at_zero < solution.primal_objective)) return;
  std::ranges::fill(solution.separator.w, 0.0);
  solution.separator.b = 0.0;
  solution.set_bounds(at_zero, at_zero + solution.dual_objective);
}

} // namespace maxmargin::linear
