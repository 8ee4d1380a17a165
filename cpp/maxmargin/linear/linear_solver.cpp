#include "maxmargin/linear/linear_solver.hpp"

#include "maxmargin/linear/attempts.hpp"
#include "maxmargin/linear/descent/coordinate_descent.hpp"
#include "maxmargin/linear/l1/l1_coordinate_descent.hpp"
#include "maxmargin/linear/l1/l1_interior_point.hpp"
#include "maxmargin/linear/l1/l1_working_set.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/few_samples.hpp"
#include "maxmargin/linear/newton/interior_point.hpp"
#include "maxmargin/linear/newton/logistic_newton.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/linear/newton/primal_newton.hpp"
#include "maxmargin/linear/newton/sample_rotation.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace maxmargin::linear {
namespace {

// Passes to try before the steps of a second-order method, which cost as much as many
// of them. On dense rows of more features, a pass for so many of them: a step costs as much as
// passes in proportion to their number, and squared losses take fewer steps.
// On sparse rows of few features; of more, d^3 / 4 for an element: 5000 x 513 samples of 15 elements,
// C = 100, take 4.3 s by 9243 passes, and 1 s by twelve steps.
constexpr index_t kPassesToTry = 300;
// With fewer samples, classes are often separable, which Newton's method is slow on where losses
// have no curvature.
constexpr index_t kSamplesPerFeature = 20;
// Few samples of many features: those that the rotated samples may have, of 8 bytes.
constexpr double kMostRotated = 1 << 25;
constexpr index_t kFewestPassesToTry = 600; // with its second way to keep a great bias
// Passes before the steps of penalty l1 and of squared losses: as many as take this share of their
// time. That is the most that trying them in vain costs; at C = 0.01 they are often all.
constexpr double kPassesOfSteps = 0.3;
constexpr index_t kFewestTriedPasses = 2, kMostL1Passes = 1000;
// Few features of more samples have no passes but for a small C.
constexpr index_t kL1SamplesPerFeature = 2;
// Nanoseconds of a product of dense matrices and of one that is looked up, in the sums over pairs of
// features of a sparse row, and of an element in a pass. Proximal Newton's quadratics take about
// 0.6 d^3 products: 5000 x 512 samples, C = 1, take 8 ms at a density of 0.03, 17 ms at 0.1 and
// 72 ms dense, and passes 0.17, 0.5 and 11 ms, of which dense ones halve many steps at first.
constexpr double kProductNs = 0.1, kSparseProductNs = 1.0, kQuadraticProducts = 0.6;
constexpr double kL1ElementNs = 2.2, kL1DenseElementNs = 4.0;
// Likewise of penalty l2, three factorisations for every d^3: with the squared hinge, C = 1, these
// samples take 21, 27 and 74 ms by steps, and passes and what goes with them 0.7, 2.2 and 10 ms.
constexpr double kNewtonNs = 0.15, kSparseElementNs = 9.0, kDenseElementNs = 3.6;
// Of few features: with fewer than these all methods take less than a millisecond. Passes are tried
// first where there are hardly more samples, and where C ||x||^2 is small on the average of some
// rows: normal samples, 256 x 128, take 1 to 7 ms by descent and 4 to 15 ms by steps, for C from
// 0.1 to 100, and 640 x 64 at C = 0.01 0.5 ms and 2.5 ms; 384 x 128 at C = 1 25 ms and 5 ms.
constexpr index_t kFewestTried = 64, kFewestSamplesPerFeature = 2;
constexpr double kEasy = 1.0;
constexpr index_t kEasyPasses = 50, kRowsOfMean = 1000;
constexpr double kCheapStep = 4.0; // operations for an element
// Of the features: 2000 x 200 samples, C = 100, take 0.74 s where passes are tried at a share of
// 0.24, and 0.04 s by steps alone; w8a, 0.04, takes 0.07 s by 116 passes.
constexpr double kFullRows = 0.125;
constexpr index_t kFeaturesPerPass = 1, kFeaturesPerSquaredPass = 8;
// Of dense rows, at least kFewestSamplesPerFeature to a feature, and losses that are not squared,
// passes go first where the sum of C ||x||^2 is at most d^2 / this: with the hinge, 5000 x 520 normal
// samples take 0.15, 0.5, 5 and 27 s by d passes and then steps for C ||x||^2 = 5, 20, 100 and 1000,
// and 0.6 s by steps alone; 1100 x 520 0.03, 0.05, 0.1 and 0.4, and 0.15; 3000 x 512 0.07 and 0.6 for
// 5 and 50, and 0.3; 800 x 128 5 and 40 ms, and 9.
constexpr double kEasyShare = 3.0;

// To copy sparse samples takes as long as such passes over the copy save, with room for the weights
// of features that none of them has.
constexpr index_t kPassesAsGiven = 50;
constexpr index_t kElementsPerWeight = 2;

} // namespace

LinearSolver::LinearSolver(const MatrixView& X, const LinearFormulation& formulation,
                           bool is_for_one, int threads, Control& control)
    : has_few_features_(n_cols(X) <= kFewFeatures && n_rows(X) >= n_cols(X)),
      is_squared_(is_squared(formulation.loss)),
      has_long_steps_(formulation.penalty == Penalty::l2 && !is_squared_ && !is_sparse(X) &&
                      n_rows(X) >= kFewestSamplesPerFeature * n_cols(X)),
      X_(X) {
  if (has_few_features_) copy_if_mostly_zero(threads, control);
  const index_t n = n_rows(X), d = n_cols(X);
  if (formulation.loss == LinearLoss::logistic && formulation.penalty == Penalty::l2) return;
  if (formulation.penalty == Penalty::l1) {
    if (has_few_features_ && (d < kFewestTried || n > kL1SamplesPerFeature * d)) return;
    columns_.emplace(X_, threads, control);
    if (std::min(n, d) <= kMostFeatures) passes_to_try_ = l1_passes();
  } else if (has_few_features_ && d >= kFewestTried && n < kFewestSamplesPerFeature * d) {
    samples_.emplace(X_, threads, control);
    passes_to_try_ = d;
  } else if (!has_few_features_ && is_for_one && is_sparse(X_) &&
             n_cols(X_) * kElementsPerWeight <= n_stored(X_)) {
    reads_as_given_ = true;
  } else if (!has_few_features_) {
    samples_.emplace(X_, threads, control);
  } else if (!is_squared_ && is_sparse(X_) && !has_cheap_steps()) {
    samples_.emplace(X_, threads, control);
    passes_to_try_ = kPassesToTry;
  }
  if (has_few_features_ || formulation.penalty == Penalty::l1) return;
  if (n < d && n <= kMostFeatures && SampleRotation::n_elements(X, n) <= kMostRotated)
    passes_to_try_ = passes_of_rotation();
  else if (is_squared_ && n >= kFewestSamplesPerFeature * d && d <= kMostFeatures)
    passes_to_try_ = passes_of_newton();
  else if (n >= d && d <= kMostFeatures)
    passes_to_try_ =
        reads_as_given_ || samples_->is_sparse()
            ? std::clamp(d * d / (1 + n_stored(X_) / d) / 4, kPassesToTry, kDefaultPasses)
        : is_squared_                      ? d / kFeaturesPerSquaredPass
        : n < kFewestSamplesPerFeature * d ? d / kFeaturesPerPass
                                           : 0; // but for easy problems
}

LinearSolution LinearSolver::solve(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control) const {
  if (problem.loss == LinearLoss::logistic && problem.penalty == Penalty::l2)
    return solve_logistic_newton(problem, options, control);
  LinearSolution solution = attempt(problem, options, control);
  conclude(solution, problem, options.tol);
  return solution;
}

LinearSolution LinearSolver::attempt(const LinearProblem& problem, const LinearOptions& options,
                                     Control& control) const {
  if (problem.penalty == Penalty::l1) return attempt_l1(problem, options, control);
  // The least value 0 leaves no room for a relative gap.
  if (const auto trivial = solve_without_weights(problem)) return *trivial;
  const auto descend = [&](const LinearOptions& few) {
    return reads_as_given_ ? solve_as_given(problem, few, control)
                           : solve_coordinate_descent(*samples_, problem, few, control);
  };
  const auto by_steps = [&](const LinearProblem& one, const LinearOptions& rest) {
    return solve_by_steps(one, rest, control);
  };
  if (passes_to_try_)
    return in_turn(options,
                   is_easy(problem) ? std::max(easy_passes(), *passes_to_try_) : *passes_to_try_,
                   descend, [&](const LinearOptions& rest, const LinearSolution&) {
                     return n_rows(X_) < n_cols(X_)
                                ? solve_few_samples(problem, rest, control, by_steps)
                                : by_steps(problem, rest);
                   });
  if (samples_ || reads_as_given_) return descend(options);
  if (!is_easy(problem)) return solve_second_order(problem, options, control);
  return in_turn(
      options, easy_passes(),
      [&](const LinearOptions& few) { return solve_coordinate_descent(problem, few, control); },
      [&](const LinearOptions& rest, const LinearSolution&) {
        return solve_second_order(problem, rest, control);
      });
}

LinearSolution LinearSolver::attempt_l1(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control) const {
  if (!columns_ && !is_easy(problem)) return solve_l1_by_steps(problem, options, control);
  std::optional<Columns> own; // where the choice is by C
  const Columns& columns = columns_ ? *columns_ : own.emplace(X_, options.threads, control);
  return in_turn(
      options, columns_ ? passes_to_try_.value_or(kDefaultFeaturePasses) : kEasyPasses,
      [&](const LinearOptions& few) {
        return solve_l1_coordinate_descent(columns, problem, few, control);
      },
      [&](const LinearOptions& rest, const LinearSolution& before) {
        return columns_ ? solve_l1_working_set(columns, problem, before, rest, control)
                        : solve_l1_by_steps(problem, rest, control);
      });
}

bool LinearSolver::is_easy(const LinearProblem& problem) const {
  if (n_cols(X_) < kFewestTried) return false;
  const AnyRows rows(X_);
  const index_t n = n_rows(X_), stride = 1 + n / kRowsOfMean;
  double sum = 0.0, count = 0.0;
  for (index_t i = 0; i < n; i += stride) {
    if (problem.C[i] == 0.0) continue;
    sum += problem.C[i] * rows.square_norm(i);
    count += 1.0;
  }
  const auto d = static_cast<double>(n_cols(X_));
  const double most = has_long_steps_ ? d * d / kEasyShare / static_cast<double>(n) : kEasy;
  return sum <= std::max(kEasy, most) * count;
}

index_t LinearSolver::easy_passes() const {
  return has_long_steps_ ? std::max(kEasyPasses, n_cols(X_) / kFeaturesPerPass) : kEasyPasses;
}

// As many passes as take about as long as the rotation and the steps on it.
index_t LinearSolver::passes_of_rotation() const {
  const auto n = static_cast<double>(n_rows(X_));
  const double of_row = 1.0 + static_cast<double>(n_stored(X_)) / n;
  const double passes = (SampleRotation::n_elements(X_, n_rows(X_)) + n * n) / of_row;
  return static_cast<index_t>(std::clamp(is_squared_ ? passes / kFeaturesPerSquaredPass : passes,
                                         static_cast<double>(kFewestPassesToTry),
                                         static_cast<double>(kDefaultPasses)));
}

// Of squared losses, three steps and one sum over pairs of features.
index_t LinearSolver::passes_of_newton() const {
  const auto n = static_cast<double>(n_rows(X_)), d = static_cast<double>(n_cols(X_));
  const auto stored = static_cast<double>(n_stored(X_));
  const bool are_sparse = is_sparse(X_);
  const double steps = kNewtonNs * d * d * d +
                       stored * stored / n / 2.0 * (are_sparse ? kSparseProductNs : kProductNs);
  const double pass = (are_sparse ? kSparseElementNs : kDenseElementNs) * stored;
  return std::max(kFewestTriedPasses, static_cast<index_t>(kPassesOfSteps * steps / pass));
}

// Likewise of the steps with penalty l1, on features twice as many as samples at most.
index_t LinearSolver::l1_passes() const {
  const auto n = static_cast<double>(n_rows(X_)), d = static_cast<double>(n_cols(X_));
  const auto stored = static_cast<double>(n_stored(X_));
  const double of_element = is_sparse(X_) ? kL1ElementNs : kL1DenseElementNs;
  double steps = kProductNs * l1_interior_products(n, std::min(2.0 * n, d));
  if (n_rows(X_) > kL1SamplesPerFeature * n_cols(X_))
    steps = kProductNs * kQuadraticProducts * d * d * d +
            stored * stored / n / 2.0 * (is_sparse(X_) ? kSparseProductNs : kProductNs);
  return std::clamp(static_cast<index_t>(kPassesOfSteps * steps / (of_element * stored)),
                    kFewestTriedPasses, kMostL1Passes);
}

void LinearSolver::copy_if_mostly_zero(int threads, Control& control) {
  const MatrixView given = X_;
  std::visit(
      [&]<class View>(const View& X) {
        if constexpr (is_dense<View>) {
          if (n_stored(X) <= std::numeric_limits<std::int32_t>::max() && is_mostly_zero(X))
            X_ = copy_.emplace<SparseCopy<typename View::value_type>>(X, threads, control).view();
        }
      },
      given);
}

// Whether to factor a matrix takes hardly longer than to read sparse samples, or rows are as full
// as dense ones.
bool LinearSolver::has_cheap_steps() const {
  const auto d = static_cast<double>(n_cols(X_)), stored = static_cast<double>(n_stored(X_));
  return d * d * d / 3.0 <= kCheapStep * stored ||
         kFullRows * static_cast<double>(n_rows(X_)) * d <= stored;
}

LinearSolution LinearSolver::solve_by_steps(const LinearProblem& problem,
                                            const LinearOptions& options, Control& control) const {
  if (!is_squared_ && n_rows(problem.X) < kSamplesPerFeature * n_cols(problem.X))
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
  LinearSolution second =
      solve_coordinate_descent(CompactSamples(problem.X, options.threads, control), problem,
                               rest_of(options, solution), control);
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
  LinearSolution second = solve_coordinate_descent(
      CompactSamples(problem.X, options.threads, control), problem, rest, control);
  return better_of(std::move(solution), std::move(second), options.tol);
}

} // namespace maxmargin::linear
