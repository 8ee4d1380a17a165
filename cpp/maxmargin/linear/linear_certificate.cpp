#include "maxmargin/linear/linear_certificate.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/linear/descent/dual_coordinate.hpp"
#include "maxmargin/linear/logistic_loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin::linear {
namespace {

// The t in [0, 1] at which t beta has the least dual objective, t^2 / 2 quadratic - t linear. The
// box allows each of them. `sum` is sum_i beta_i x~_i.
double best_share(const LinearProblem& problem, const InterceptFeature& intercept,
                  const std::vector<double>& beta, const std::vector<double>& sum) {
  double linear = 0.0, quadratic = 0.0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    if (beta[i] == 0.0) continue;
    const DualCoordinate c(problem, static_cast<index_t>(i));
    linear += c.y * beta[i] - c.epsilon * std::abs(beta[i]);
    quadratic += c.ridge * beta[i] * beta[i];
  }
  for (index_t k = 0; k < n_cols(problem.X); ++k) quadratic += sum[k] * sum[k];
  if (intercept.ridge > 0.0) quadratic += sum.back() * sum.back() / intercept.ridge;
  return linear < quadratic ? std::max(linear, 0.0) / quadratic : 1.0;
}

double half_square(double x) {
  return 0.5 * x * x;
}

// Of the samples: their losses, and what they and beta add to the gap with penalty l2. `sum` becomes
// sum_i beta_i x~_i.
Bounds losses_of(const LinearProblem& problem, RowPasses& passes, std::span<const double> weights,
                 const std::vector<double>& beta, std::vector<double>& sum) {
  std::vector<double> values(beta.size());
  std::vector<double> losses(static_cast<std::size_t>(passes.n_parts())), gaps = losses;
  passes.run({.weights = weights,
              .products = values,
              .body =
                  [&](index_t begin, index_t end, index_t part) {
                    for (index_t i = begin; i < end; ++i) {
                      if (problem.C[i] == 0.0) continue;
                      DualCoordinate c(problem, i);
                      c.beta = beta[i];
                      losses[part] += loss_at(problem, i, values[i]);
                      gaps[part] += c.gap(c.y - values[i]);
                    }
                  },
              .sums = {{beta, &sum}}});
  return {std::accumulate(losses.begin(), losses.end(), 0.0),
          std::accumulate(gaps.begin(), gaps.end(), 0.0)};
}

// The separator of weights that these bounds hold for.
LinearSolution proved(const LinearProblem& problem, const InterceptFeature& intercept,
                      std::span<const double> weights, const Bounds& bounds) {
  if (!std::isfinite(bounds.primal) || !std::isfinite(bounds.gap))
    throw NumericError("the objective overflows");
  const index_t d = n_cols(problem.X);
  LinearSolution solution;
  solution.separator.w.assign(weights.begin(), weights.begin() + d);
  if (intercept.feature != 0.0) solution.separator.b = intercept.feature * weights[d];
  solution.set_bounds(bounds.primal, bounds.gap);
  return solution;
}

// Of weights and of beta, which is feasible. `sum` becomes sum_i beta_i x~_i.
LinearSolution evaluate(const LinearProblem& problem, const InterceptFeature& intercept,
                        RowPasses& passes, std::span<const double> weights,
                        const std::vector<double>& beta, std::vector<double>& sum) {
  const index_t d = n_cols(problem.X);
  auto [primal, gap] = losses_of(problem, passes, weights, beta, sum);
  for (index_t k = 0; k < d; ++k) {
    primal += half_square(weights[k]);
    gap += half_square(weights[k] - sum[k]);
  }
  if (intercept.feature != 0.0) {
    const double root = std::sqrt(intercept.ridge);
    primal += half_square(root * weights[d]);
    if (root > 0.0) gap += half_square(root * weights[d] - sum[d] / root);
  }
  return proved(problem, intercept, weights, {primal, gap});
}

} // namespace

LinearSolution certify(const LinearProblem& problem, const InterceptFeature& intercept,
                       RowPasses& passes, std::span<const double> weights, std::vector<double> beta,
                       double tol) {
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const DualCoordinate c(problem, static_cast<index_t>(i));
    beta[i] = problem.C[i] > 0.0 ? std::clamp(beta[i], c.lower, c.upper) : 0.0;
  }
  const bool is_intercept_free = intercept.feature != 0.0 && intercept.ridge == 0.0;
  if (is_intercept_free) balance(beta);
  std::vector<double> own;
  LinearSolution solution = evaluate(problem, intercept, passes, weights, beta, own);
  const auto is_proved = [&] { return solution.duality_gap() <= tol * solution.primal_objective; };
  const double share = is_proved() ? 1.0 : best_share(problem, intercept, beta, own);
  if (share < 1.0) {
    std::vector<double> scaled = beta, sum;
    for (double& b : scaled) b *= share;
    LinearSolution of_scaled = evaluate(problem, intercept, passes, weights, scaled, sum);
    if (of_scaled.duality_gap() < solution.duality_gap()) {
      solution = std::move(of_scaled);
      beta = std::move(scaled);
      own = std::move(sum);
    }
  }
  if (!is_proved()) {
    if (is_intercept_free)
      own.back() = weights.back();
    else if (intercept.feature != 0.0)
      own.back() /= intercept.ridge;
    std::vector<double> sum;
    LinearSolution of_beta = evaluate(problem, intercept, passes, own, beta, sum);
    if (of_beta.primal_objective < solution.primal_objective) solution = std::move(of_beta);
  }
  solution.beta = std::move(beta);
  return solution;
}

double loss_at(const LinearProblem& problem, index_t i, double value) {
  if (problem.loss == LinearLoss::logistic)
    return problem.C[i] * logistic_loss(problem.y[i] * value);
  return DualCoordinate(problem, i).loss(problem.y[i] - value);
}

void balance(std::vector<double>& beta) {
  double positive = 0.0, negative = 0.0;
  for (const double b : beta) (b > 0.0 ? positive : negative) += b;
  const double heavier = std::max(positive, -negative);
  if (heavier == 0.0) return;
  const double factor = std::min(positive, -negative) / heavier;
  for (double& b : beta)
    if ((b > 0.0) == (positive > -negative)) b *= factor;
}

std::vector<double> l1_penalties(const LinearProblem& problem, const InterceptFeature& intercept) {
  std::vector<double> lambda(static_cast<std::size_t>(n_cols(problem.X)), 1.0);
  if (intercept.feature != 0.0) lambda.push_back(std::sqrt(intercept.ridge));
  return lambda;
}

L1DualPoint l1_dual_point(const LinearProblem& problem, std::span<const double> beta,
                          double steepest) {
  if (problem.loss == LinearLoss::logistic) {
    const double share = std::min(1.0, 1.0 / steepest);
    double objective = 0.0;
    for (std::size_t i = 0; i < beta.size(); ++i)
      if (problem.C[i] > 0.0)
        objective += problem.C[i] *
                     logistic_entropy(std::min(1.0, share * std::abs(beta[i]) / problem.C[i]));
    return {share, objective};
  }
  double linear = 0.0, quadratic = 0.0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    if (beta[i] == 0.0) continue;
    linear += std::abs(beta[i]);
    quadratic += beta[i] * (beta[i] / (4.0 * problem.C[i]));
  }
  double share = quadratic > 0.0 ? 0.5 * linear / quadratic : 0.0;
  if (steepest > 0.0) share = std::min(share, 1.0 / steepest);
  return {share, share * (share * quadratic - linear)};
}

double steepest(std::span<const double> lambda, std::span<const double> sum) {
  double most = 0.0;
  for (std::size_t k = 0; k < sum.size(); ++k)
    if (lambda[k] > 0.0) most = std::max(most, std::abs(sum[k]) / lambda[k]);
  return most;
}

LinearSolution certify_l1(const LinearProblem& problem, const InterceptFeature& intercept,
                          RowPasses& passes, std::span<const double> lambda,
                          std::span<const double> weights, std::vector<double> beta) {
  if (intercept.feature != 0.0 && intercept.ridge == 0.0) balance(beta);
  std::vector<double> sum;
  double primal = losses_of(problem, passes, weights, beta, sum).primal;
  const L1DualPoint dual = l1_dual_point(problem, beta, steepest(lambda, sum));
  for (double& b : beta) b *= dual.share;
  for (std::size_t k = 0; k < weights.size(); ++k) primal += lambda[k] * std::abs(weights[k]);
  LinearSolution solution = proved(problem, intercept, weights, {primal, primal + dual.objective});
  solution.beta = std::move(beta);
  return solution;
}

std::optional<LinearSolution> solve_without_weights(const LinearProblem& problem) {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (std::size_t i = 0; i < problem.y.size(); ++i) {
    if (problem.C[i] == 0.0) continue;
    lowest = std::min(lowest, problem.y[i]);
    highest = std::max(highest, problem.y[i]);
  }
  const bool none_counts = lowest > highest;
  const double b = none_counts || std::isfinite(problem.intercept_scaling)
                       ? 0.0
                       : lowest + 0.5 * (highest - lowest);
  const double epsilon = is_insensitive(problem.loss) ? problem.epsilon : 0.0;
  if (std::max(highest - b, b - lowest) > epsilon) return std::nullopt;
  LinearSolution solution;
  solution.separator = {AlignedVector<double>(static_cast<std::size_t>(n_cols(problem.X))), b};
  solution.beta.assign(problem.y.size(), 0.0);
  return solution;
}

} // namespace maxmargin::linear
