#include "maxmargin/linear/linear_solver.hpp"

#include "maxmargin/linear/descent/coordinate_descent.hpp"
#include "maxmargin/linear/descent/dual_coordinate.hpp"
#include "maxmargin/linear/l1/l1_coordinate_descent.hpp"
#include "maxmargin/linear/l1/l1_newton.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/interior_point.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/linear/newton/primal_newton.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace maxmargin::linear {
namespace {

// Passes to try before the steps of a second-order method, which cost as much as many
// of them. On dense rows of more features, a pass for so many of them: a step costs as much as
// passes in proportion to their number, and squared losses take fewer steps.
constexpr index_t kPassesToTry = 300; // on sparse rows of few features
constexpr index_t kMostFeatures = 2048;
// With fewer samples, classes are often separable, which Newton's method is slow on where losses
// have no curvature.
constexpr index_t kSamplesPerFeature = 20;
constexpr double kCheapStep = 4.0; // operations for an element
constexpr index_t kFeaturesPerPass = 1, kFeaturesPerSquaredPass = 8;

// To copy sparse samples takes as long as such passes over the copy save, with room for the weights
// of features that none of them has.
constexpr index_t kPassesAsGiven = 50;
constexpr index_t kElementsPerWeight = 2;

// Whether a solver has ended before its goal, and not because the caller wanted it to.
bool has_failed(const LinearOutcome& outcome, const LinearOptions& options) {
  return outcome.stop_reason == optim::StopReason::stalled ||
         (outcome.stop_reason == optim::StopReason::max_iter && options.max_iter < 0);
}

// What is left to do where `before` has ended: it may go on from there, in the time that is left.
LinearOptions rest_of(LinearOptions options, const LinearSolution& before) {
  options.start = before.beta;
  options.time_limit = std::max(0.0, options.time_limit - before.seconds);
  return options;
}

// The better separator and the better bound of two attempts at one problem.
LinearSolution better_of(LinearSolution first, LinearSolution second, double tol) {
  if (first.primal_objective < second.primal_objective) {
    second.primal_objective = first.primal_objective;
    second.separator = std::move(first.separator);
  }
  if (first.dual_objective < second.dual_objective) {
    second.dual_objective = first.dual_objective;
    second.beta = std::move(first.beta);
  }
  second.set_bounds(second.primal_objective, second.duality_gap());
  if (second.duality_gap() <= tol * second.primal_objective)
    second.stop_reason = optim::StopReason::converged;
  second.seconds += first.seconds;
  return second;
}

// Weights of 0 where an attempt that has not converged is worse.
void keep_no_worse_than_zero(LinearSolution& solution, const LinearProblem& problem) {
  if (solution.stop_reason == optim::StopReason::converged) return;
  double at_zero = 0.0;
  for (std::size_t i = 0; i < problem.y.size(); ++i)
    if (problem.C[i] > 0.0)
      at_zero += DualCoordinate(problem, static_cast<index_t>(i)).loss(problem.y[i]);
  if (!(at_zero < solution.primal_objective)) return;
  std::ranges::fill(solution.separator.w, 0.0);
  solution.separator.b = 0.0;
  solution.set_bounds(at_zero, at_zero + solution.dual_objective);
}

} // namespace

LinearSolver::LinearSolver(const MatrixView& X, const LinearFormulation& formulation,
                           bool is_for_one, int threads)
    : has_few_features_(n_cols(X) <= kFewFeatures && n_rows(X) >= n_cols(X)),
      is_squared_(is_squared(formulation.loss)), X_(X) {
  if (has_few_features_) copy_if_mostly_zero(threads);
  if (formulation.penalty == Penalty::l1) {
    if (!has_few_features_) columns_.emplace(X_);
  } else if (!has_few_features_ && is_for_one && is_sparse(X_) &&
             n_cols(X_) * kElementsPerWeight <= n_stored(X_)) {
    reads_as_given_ = true;
  } else if (!has_few_features_) {
    samples_.emplace(X_, threads);
    if (!samples_->is_sparse() && n_cols(X) <= kMostFeatures && n_rows(X) >= n_cols(X))
      passes_to_try_ = n_cols(X) / (is_squared_ ? kFeaturesPerSquaredPass : kFeaturesPerPass);
  } else if (!is_squared_ && is_sparse(X_) && !has_cheap_steps()) {
    samples_.emplace(X_, threads);
    passes_to_try_ = kPassesToTry;
  }
}

LinearSolution LinearSolver::solve(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control) const {
  LinearSolution solution = attempt(problem, options, control);
  keep_no_worse_than_zero(solution, problem);
  return solution;
}

LinearSolution LinearSolver::attempt(const LinearProblem& problem, const LinearOptions& options,
                                     Control& control) const {
  if (columns_) {
    LinearSolution solution = solve_l1_coordinate_descent(*columns_, problem, options, control);
    if (!has_failed(solution, options) || n_cols(X_) > kMostFeatures) return solution;
    LinearSolution second = solve_l1_newton(problem, rest_of(options, solution), control);
    return better_of(std::move(solution), std::move(second), options.tol);
  }
  if (problem.penalty == Penalty::l1) return solve_l1_newton(problem, options, control);
  if (!samples_ && !reads_as_given_) return solve_second_order(problem, options, control);
  // The least value 0 leaves no room for a relative gap.
  if (const auto trivial = solve_without_weights(problem)) return *trivial;
  if (reads_as_given_) return solve_as_given(problem, options, control);
  const bool has_second = passes_to_try_ && options.max_iter < 0;
  LinearOptions first = options;
  if (has_second) first.max_iter = *passes_to_try_;
  LinearSolution solution = solve_coordinate_descent(*samples_, problem, first, control);
  if (!has_second || !has_failed(solution, options)) return solution;
  LinearSolution second = solve_by_steps(problem, rest_of(options, solution), control);
  return better_of(std::move(solution), std::move(second), options.tol);
}

void LinearSolver::copy_if_mostly_zero(int threads) {
  const MatrixView given = X_;
  std::visit(
      [&]<class View>(const View& X) {
        if constexpr (is_dense<View>) {
          if (n_stored(X) <= std::numeric_limits<std::int32_t>::max() && is_mostly_zero(X))
            X_ = copy_.emplace<SparseCopy<typename View::value_type>>(X, threads).view();
        }
      },
      given);
}

// Whether to factor a matrix takes hardly longer than to read sparse samples.
bool LinearSolver::has_cheap_steps() const {
  const auto d = static_cast<double>(n_cols(X_));
  return d * d * d / 3.0 <= kCheapStep * static_cast<double>(n_stored(X_));
}

LinearSolution LinearSolver::solve_by_steps(const LinearProblem& problem,
                                            const LinearOptions& options, Control& control) const {
  if (!is_squared_ && n_rows(X_) < kSamplesPerFeature * n_cols(X_))
    return solve_interior_point(problem, options, control);
  LinearSolution solution = solve_primal_newton(problem, options, control);
  if (is_squared_ || !has_failed(solution, options)) return solution;
  LinearSolution second = solve_interior_point(problem, rest_of(options, solution), control);
  return better_of(std::move(solution), std::move(second), options.tol);
}

// Rounding may stall steps, and separable classes may take hundreds of them; neither is frequent.
LinearSolution LinearSolver::solve_second_order(const LinearProblem& problem,
                                                const LinearOptions& options,
                                                Control& control) const {
  LinearSolution solution = solve_by_steps(problem, options, control);
  if (!has_failed(solution, options)) return solution;
  LinearSolution second = solve_coordinate_descent(CompactSamples(problem.X, options.threads),
                                                   problem, rest_of(options, solution), control);
  return better_of(std::move(solution), std::move(second), options.tol);
}

LinearSolution LinearSolver::solve_as_given(const LinearProblem& problem,
                                            const LinearOptions& options, Control& control) const {
  const index_t most_passes = options.max_iter < 0 ? kDefaultPasses : options.max_iter;
  LinearOptions first = options;
  first.max_iter = std::min(most_passes, kPassesAsGiven);
  LinearSolution solution = solve_coordinate_descent(problem, first, control);
  if (solution.stop_reason != optim::StopReason::max_iter || first.max_iter == most_passes)
    return solution;
  LinearOptions rest = rest_of(options, solution);
  rest.max_iter = most_passes - solution.n_iter;
  rest.passes_before = solution.n_iter;
  LinearSolution second =
      solve_coordinate_descent(CompactSamples(problem.X, options.threads), problem, rest, control);
  return better_of(std::move(solution), std::move(second), options.tol);
}

} // namespace maxmargin::linear
