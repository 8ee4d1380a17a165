#include "maxmargin/svm/linear.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/sparse_copy.hpp"
#include "maxmargin/linear/coordinate_descent.hpp"
#include "maxmargin/linear/dual_coordinate.hpp"
#include "maxmargin/linear/interior_point.hpp"
#include "maxmargin/linear/joint_interior_point.hpp"
#include "maxmargin/linear/l1_coordinate_descent.hpp"
#include "maxmargin/linear/l1_newton.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/primal_newton.hpp"
#include "maxmargin/optim/newton_system.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace maxmargin {
namespace {

// Passes that are worth a try before the steps of a second-order method, which cost as much as many
// of them. On dense rows of more features, a pass for so many of them: a step costs as much as
// passes in proportion to their number, and squared losses take fewer steps.
constexpr index_t kPassesToTry = 300; // on sparse rows of few features
constexpr index_t kMostFeatures = 2048;
// With fewer samples, classes are often separable, which Newton's method is slow on where losses
// have no curvature.
constexpr index_t kSamplesPerFeature = 20;
constexpr double kCheapStep = 4.0; // operations for an element
constexpr index_t kFeaturesPerPass = 1, kFeaturesPerSquaredPass = 8;

// Of all classes together; the steps of the interior point method have matrices of so many rows.
constexpr index_t kFewJointWeights = 1024;
constexpr double kJointSteps = 20.0; // about as many as it takes

constexpr index_t kFewPasses = 10;

// To copy sparse samples takes as long as such passes over the copy save, with room for the weights
// of features that none of them has.
constexpr index_t kPassesAsGiven = 50;
constexpr index_t kElementsPerWeight = 2;

// Whether a solver has ended before its goal, and not because the caller wanted it to.
bool gave_up(const linear::LinearOutcome& outcome, const linear::LinearOptions& options) {
  return outcome.stop_reason == optim::StopReason::stalled ||
         (outcome.stop_reason == optim::StopReason::max_iter && options.max_iter < 0);
}

// What is left to do where `before` has ended: it may go on from there, in the time that is left.
template <class Solution>
linear::LinearOptions rest_of(linear::LinearOptions options, const Solution& before) {
  options.start = before.beta;
  options.time_limit = std::max(0.0, options.time_limit - before.seconds);
  return options;
}

linear::LinearSeparator& separators_of(linear::LinearSolution& solution) {
  return solution.separator;
}
std::vector<linear::LinearSeparator>& separators_of(linear::JointSolution& solution) {
  return solution.separators;
}

// The better separator and the better bound of two attempts at one problem.
template <class Solution> Solution joined(Solution first, Solution second, double tol) {
  if (first.primal_objective < second.primal_objective) {
    second.primal_objective = first.primal_objective;
    separators_of(second) = std::move(separators_of(first));
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
void keep_no_worse_than_zero(linear::LinearSolution& solution,
                             const linear::LinearProblem& problem) {
  if (solution.stop_reason == optim::StopReason::converged) return;
  double at_zero = 0.0;
  for (std::size_t i = 0; i < problem.y.size(); ++i)
    if (problem.C[i] > 0.0)
      at_zero += linear::DualCoordinate(problem, static_cast<index_t>(i)).loss(problem.y[i]);
  if (!(at_zero < solution.primal_objective)) return;
  std::ranges::fill(solution.separator.w, 0.0);
  solution.separator.b = 0.0;
  solution.set_bounds(at_zero, at_zero + solution.dual_objective);
}

// Chooses the solver by the formulation and the shape of the samples, and holds the samples as it
// reads them, for all machines:
//
//   few features, penalty l1      proximal Newton's method
//   penalty l1                    coordinate descent on the features, then proximal Newton's method
//                                 where they are not too many for its matrix
//   few features                  steps: Newton's method in the primal, or, for few samples and
//                                 losses that are not squared, the interior point method
//   few features, mostly zero,
//     losses not squared          dual coordinate descent before it, where a step is much dearer
//   more features, dense          dual coordinate descent, then steps
//   else                          dual coordinate descent; where one machine alone reads sparse
//                                 samples, as they are given, until passes are many
//
// Where Newton's method gives up, the interior point method has its turn if losses are not squared,
// and then dual coordinate descent goes on from there. Proximal Newton's has no such second:
// coordinate descent on the features lags far behind it.
class Solver {
 public:
  Solver(const MatrixView& X, const LinearFormulation& formulation, bool is_for_one, int threads)
      : has_few_features_(n_cols(X) <= optim::kFewFeatures && n_rows(X) >= n_cols(X)),
        is_squared_(is_squared(formulation.loss)), X_(X) {
    if (has_few_features_) copy_if_mostly_zero(threads);
    if (formulation.penalty == linear::Penalty::l1) {
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

  // The samples as problems are to have them.
  const MatrixView& samples() const { return X_; }

  linear::LinearSolution solve(const linear::LinearProblem& problem,
                               const linear::LinearOptions& options, Control& control) const {
    if (columns_) {
      linear::LinearSolution solution =
          linear::solve_l1_coordinate_descent(*columns_, problem, options, control);
      if (!gave_up(solution, options) || n_cols(X_) > kMostFeatures) return solution;
      linear::LinearSolution second =
          linear::solve_l1_newton(problem, rest_of(options, solution), control);
      return joined(std::move(solution), std::move(second), options.tol);
    }
    if (problem.penalty == linear::Penalty::l1)
      return linear::solve_l1_newton(problem, options, control);
    if (!samples_ && !reads_as_given_) return solve_second_order(problem, options, control);
    // The least value 0 leaves no room for a relative gap.
    if (const auto trivial = linear::solve_without_weights(problem)) return *trivial;
    if (reads_as_given_) return solve_as_given(problem, options, control);
    const bool has_second = passes_to_try_ && options.max_iter < 0;
    linear::LinearOptions first = options;
    if (has_second) first.max_iter = *passes_to_try_;
    linear::LinearSolution solution =
        linear::solve_coordinate_descent(*samples_, problem, first, control);
    if (!has_second || !gave_up(solution, options)) return solution;
    linear::LinearSolution second = solve_by_steps(problem, rest_of(options, solution), control);
    return joined(std::move(solution), std::move(second), options.tol);
  }

 private:
  void copy_if_mostly_zero(int threads) {
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
  bool has_cheap_steps() const {
    const auto d = static_cast<double>(n_cols(X_));
    return d * d * d / 3.0 <= kCheapStep * static_cast<double>(n_stored(X_));
  }

  linear::LinearSolution solve_by_steps(const linear::LinearProblem& problem,
                                        const linear::LinearOptions& options,
                                        Control& control) const {
    if (!is_squared_ && n_rows(X_) < kSamplesPerFeature * n_cols(X_))
      return linear::solve_interior_point(problem, options, control);
    linear::LinearSolution solution = linear::solve_primal_newton(problem, options, control);
    if (is_squared_ || !gave_up(solution, options)) return solution;
    linear::LinearSolution second =
        linear::solve_interior_point(problem, rest_of(options, solution), control);
    return joined(std::move(solution), std::move(second), options.tol);
  }

  // Rounding may stall steps, and separable classes may take hundreds of them; neither is frequent.
  linear::LinearSolution solve_second_order(const linear::LinearProblem& problem,
                                            const linear::LinearOptions& options,
                                            Control& control) const {
    linear::LinearSolution solution = solve_by_steps(problem, options, control);
    if (!gave_up(solution, options)) return solution;
    linear::LinearSolution second = linear::solve_coordinate_descent(
        CompactSamples(problem.X, options.threads), problem, rest_of(options, solution), control);
    return joined(std::move(solution), std::move(second), options.tol);
  }

  linear::LinearSolution solve_as_given(const linear::LinearProblem& problem,
                                        const linear::LinearOptions& options,
                                        Control& control) const {
    const index_t most_passes = options.max_iter < 0 ? linear::kDefaultPasses : options.max_iter;
    linear::LinearOptions first = options;
    first.max_iter = std::min(most_passes, kPassesAsGiven);
    linear::LinearSolution solution = linear::solve_coordinate_descent(problem, first, control);
    if (solution.stop_reason != optim::StopReason::max_iter || first.max_iter == most_passes)
      return solution;
    linear::LinearOptions rest = rest_of(options, solution);
    rest.max_iter = most_passes - solution.n_iter;
    rest.passes_before = solution.n_iter;
    linear::LinearSolution second = linear::solve_coordinate_descent(
        CompactSamples(problem.X, options.threads), problem, rest, control);
    return joined(std::move(solution), std::move(second), options.tol);
  }

  bool has_few_features_;
  bool is_squared_;
  MatrixView X_;
  std::variant<std::monostate, SparseCopy<float>, SparseCopy<double>> copy_;
  std::optional<index_t> passes_to_try_; // where a second-order method follows
  bool reads_as_given_ = false;          // at first
  std::optional<CompactSamples> samples_;
  std::optional<Columns> columns_;
};

// Passes over n samples that cost as much as the steps of the interior point method on k weights: 2
// n k operations each, against k^2 n / 2 + k^3 / 3.
index_t joint_passes_to_try(index_t n_samples, index_t n_weights) {
  const auto n = static_cast<double>(n_samples), k = static_cast<double>(n_weights);
  return static_cast<index_t>(kJointSteps * (k / 4.0 + k * k / (6.0 * n)));
}

// Dual coordinate descent, then the interior point method where that creeps and weights are few.
linear::JointSolution solve_joint(const CompactSamples& samples,
                                  const linear::JointProblem& problem,
                                  const linear::LinearOptions& options, Control& control) {
  const index_t n_weights = problem.n_classes * (n_cols(problem.X) + 1);
  const bool has_few_weights = n_weights <= kFewJointWeights && options.max_iter < 0;
  linear::LinearOptions first = options;
  if (has_few_weights) first.max_iter = joint_passes_to_try(n_rows(problem.X), n_weights);
  linear::JointSolution solution = linear::solve_crammer_singer(samples, problem, first, control);
  if (!has_few_weights || !gave_up(solution, options)) return solution;
  linear::JointSolution second =
      linear::solve_joint_interior_point(problem, rest_of(options, solution), control);
  return joined(std::move(solution), std::move(second), options.tol);
}

// For tasks side by side, each of which passes over the samples at least a few times.
int threads_for(const MatrixView& X, index_t n_tasks, const linear::LinearOptions& options) {
  return thread_count_for(options.threads, static_cast<double>(n_tasks * kFewPasses * n_stored(X)));
}

// Fills `solutions` with those for every C, each from the one before it: solve(C_i, start).
template <class Solution, class Solve>
void follow(std::span<const double> weight, std::span<const double> C,
            std::span<Solution> solutions, const Solve& solve) {
  std::vector<double> upper(weight.size()), start;
  for (std::size_t c = 0; c < C.size(); ++c) {
    std::transform(weight.begin(), weight.end(), upper.begin(),
                   [&](double factor) { return C[c] * factor; });
    solutions[c] = solve(upper, start);
    start = std::move(solutions[c].beta);
    solutions[c].beta.clear();
  }
}

} // namespace

std::vector<linear::LinearSolution>
train_linear(const MatrixView& X, index_t n_tasks, const std::function<LinearTask(index_t)>& make,
             std::span<const double> C, const LinearFormulation& formulation,
             const linear::LinearOptions& options, Control& control) {
  const std::size_t n_penalties = C.size();
  std::vector<linear::LinearSolution> solutions(static_cast<std::size_t>(n_tasks) * n_penalties);
  const Solver solver(X, formulation, n_tasks * std::ssize(C) == 1, options.threads);
  parallel_for(n_tasks, threads_for(X, n_tasks, options), [&](index_t t, int) {
    const LinearTask task = make(t);
    const auto solve = [&](std::span<const double> upper, std::span<const double> start) {
      const linear::LinearProblem problem{solver.samples(),
                                          task.y,
                                          upper,
                                          formulation.loss,
                                          formulation.penalty,
                                          formulation.epsilon,
                                          formulation.intercept_scaling};
      linear::LinearOptions of_task = options;
      of_task.start = start;
      of_task.threads = n_tasks > 1 ? 1 : options.threads;
      linear::LinearSolution solution = solver.solve(problem, of_task, control);
      keep_no_worse_than_zero(solution, problem);
      return solution;
    };
    follow(task.weight, C, std::span(solutions).subspan(t * n_penalties, n_penalties), solve);
  });
  return solutions;
}

std::vector<linear::JointSolution>
train_joint(const MatrixView& X, std::span<const index_t> y, index_t n_classes, index_t n_tasks,
            const std::function<std::vector<double>(index_t)>& make, std::span<const double> C,
            double intercept_scaling, const linear::LinearOptions& options, Control& control) {
  const std::size_t n_penalties = C.size();
  std::vector<linear::JointSolution> solutions(static_cast<std::size_t>(n_tasks) * n_penalties);
  const CompactSamples samples(X, options.threads);
  parallel_for(n_tasks, threads_for(X, n_tasks, options), [&](index_t t, int) {
    const auto solve = [&](std::span<const double> upper, std::span<const double> start) {
      linear::LinearOptions of_task = options;
      of_task.start = start;
      of_task.threads = n_tasks > 1 ? 1 : options.threads;
      return solve_joint(samples, {X, y, n_classes, upper, intercept_scaling}, of_task, control);
    };
    follow(make(t), C, std::span(solutions).subspan(t * n_penalties, n_penalties), solve);
  });
  return solutions;
}

} // namespace maxmargin
