#include "maxmargin/linear/l1/l1_coordinate_descent.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/logistic_loss.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::linear {
namespace {

// Of the decrease that the slope promises (Armijo's rule): 560 x 2000 normal samples take 8 to 9 ms
// with a quarter of it and with four times as much.
constexpr double kSufficient = 0.01;
constexpr int kMostHalvings = 30;         // to 1e-9 of a step
constexpr double kLeastCurvature = 1e-12; // where no sample has a loss, so that steps are finite
constexpr double kRounding = 1e-16;       // of the objective: a pass that gains less has stalled
// The gap is first evaluated when a pass gains this many times the tolerance: to evaluate
// it takes as long as a pass over all features.
constexpr double kFirstLook = 10.0;

// Of the losses along one weight.
struct Slope {
  double gradient = 0.0, curvature = 0.0;
};

// The step of a weight w to the least of the quadratic that has this slope, with its penalty.
double step_length(const Slope& s, double lambda, double w) {
  const double curvature = std::max(s.curvature, kLeastCurvature);
  if (s.gradient + lambda <= curvature * w) return -(s.gradient + lambda) / curvature;
  if (s.gradient - lambda >= curvature * w) return -(s.gradient - lambda) / curvature;
  return -w;
}

template <bool is_logistic> class FeatureDescent {
 public:
  FeatureDescent(const Columns& columns, const LinearProblem& problem, const LinearOptions& options,
                 Control& control)
      : columns_(columns), problem_(problem), options_(options), time_(options.time_limit, control),
        random_(options.seed), is_bias_free_(std::isinf(problem.intercept_scaling)),
        bias_value_(is_bias_free_ ? 1.0 : problem.intercept_scaling) {
    const index_t d = columns.n_features();
    w_.assign(static_cast<std::size_t>(d) + 1, 0.0);
    shortfall_.assign(problem.y.size(), 1.0);
    for (index_t j = 0; j < d; ++j)
      if (columns.size(j) > 0) features_.push_back(j);
    if (bias_value_ != 0.0) features_.push_back(d);
    n_active_ = features_.size();
    greatest_.assign(w_.size(), 0.0);
    for (const index_t j : features_) {
      is_late(j);
      for_column(j, [&](std::size_t i, double x) {
        greatest_[j] += (is_logistic ? 0.125 : 1.0) * problem.C[i] * x * x;
      });
    }
  }

  LinearSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultFeaturePasses : options_.max_iter;
    int stalled_passes = 0;
    double check_below = std::numeric_limits<double>::infinity();
    while (n_iter_ < max_iter) {
      const double decrease = pass();
      if (time_.is_up()) return unfinished(optim::StopReason::time_limit);
      const double value = objective();
      const bool is_stalled = decrease <= kRounding * value;
      stalled_passes = is_stalled ? stalled_passes + 1 : 0;
      // Evaluating all features costs many passes over the few that are not set aside.
      if (!is_stalled && decrease > std::min(kFirstLook * options_.tol * value, check_below))
        continue;
      if (check()) return solution(optim::StopReason::converged);
      check_below = 0.5 * decrease;
      if (stalled_passes == 2) return solution(optim::StopReason::stalled);
    }
    return unfinished(optim::StopReason::max_iter);
  }

 private:
  bool is_bias(index_t j) const { return j == columns_.n_features(); }
  double penalty(index_t j) const { return is_bias(j) && is_bias_free_ ? 0.0 : 1.0; }

  // Calls use(i, x_ij) for the samples that have feature j.
  template <class Use> void for_column(index_t j, const Use& use) const {
    if (!is_bias(j))
      columns_.for_entries(j, [&](index_t i, double x) { use(static_cast<std::size_t>(i), x); });
    else
      for (std::size_t i = 0; i < shortfall_.size(); ++i) use(i, bias_value_);
  }

  Slope slope(index_t j) const {
    Slope s;
    for_column(j, [&](std::size_t i, double x) {
      if constexpr (is_logistic) {
        const double share = share_of(i), C = problem_.C[i];
        s.gradient -= C * problem_.y[i] * x * share;
        s.curvature += C * x * x * share * (1.0 - share);
        return;
      }
      if (shortfall_[i] <= 0.0) return;
      s.gradient -= 2.0 * problem_.C[i] * problem_.y[i] * x * shortfall_[i];
      s.curvature += 2.0 * problem_.C[i] * x * x;
    });
    return s;
  }

  double share_of(std::size_t i) const { return logistic_share(1.0 - shortfall_[i]); }
  double loss(std::size_t i) const {
    if constexpr (is_logistic) return problem_.C[i] * logistic_loss(1.0 - shortfall_[i]);
    const double short_of = std::max(0.0, shortfall_[i]);
    return problem_.C[i] * short_of * short_of;
  }
  double losses_along(index_t j) const {
    double sum = 0.0;
    for_column(j, [&](std::size_t i, double) { sum += loss(i); });
    return sum;
  }

  void move(index_t j, double step) {
    w_[j] += step;
    for_column(j, [&](std::size_t i, double x) { shortfall_[i] -= step * problem_.y[i] * x; });
  }

  // Returns by how much the objective falls.
  double pass() {
    ++n_iter_;
    for (std::size_t t = n_active_; t > 1; --t)
      std::swap(features_[t - 1], features_[random_.below(t)]);
    double decrease = 0.0, violation = 0.0;
    for (std::size_t t = 0; t < n_active_;) {
      const index_t j = features_[t];
      if (is_late(j)) break;
      const Slope s = slope(j);
      const double lambda = penalty(j);
      const double excess = std::abs(s.gradient) - lambda;
      if (w_[j] == 0.0 && -excess > shrink_below_) {
        std::swap(features_[t], features_[--n_active_]);
        continue;
      }
      ++t;
      violation = std::max(
          violation, w_[j] == 0.0 ? excess : std::abs(s.gradient + std::copysign(lambda, w_[j])));
      decrease += step(j, s, lambda);
    }
    shrink_below_ = violation / static_cast<double>(shortfall_.size());
    return decrease;
  }

  double step(index_t j, const Slope& s, double lambda) {
    const double w = w_[j], length = step_length(s, lambda, w);
    if (length == 0.0) return 0.0;
    if (!std::isfinite(length)) throw NumericError("the weights overflow");
    // The curvature if all samples fell short bounds the losses from above, at no further pass.
    const double of_penalty = lambda * (std::abs(w + length) - std::abs(w));
    const double promised = s.gradient * length + of_penalty;
    const double bound = s.gradient * length + greatest_[j] * length * length + of_penalty;
    if (bound <= kSufficient * promised) {
      move(j, length);
      return -bound;
    }
    const double before = losses_along(j) + lambda * std::abs(w);
    double moved = 0.0;
    for (int k = 0; k < kMostHalvings; ++k) {
      const double factor = std::ldexp(1.0, -k);
      move(j, factor * length - moved);
      moved = factor * length;
      const double change = losses_along(j) + lambda * std::abs(w_[j]) - before;
      if (change <= kSufficient * factor * promised) return -change;
    }
    move(j, -moved);
    w_[j] = w;
    return 0.0;
  }

  double objective() const {
    double sum = 0.0;
    for (std::size_t t = 0; t < n_active_; ++t) // the others are 0
      sum += penalty(features_[t]) * std::abs(w_[features_[t]]);
    for (std::size_t i = 0; i < shortfall_.size(); ++i) sum += loss(i);
    return sum;
  }

  // Evaluates the objectives, and all features again. Returns whether the gap is small enough.
  bool check() {
    sum_up();
    if (bias_value_ != 0.0 && is_bias_free_) centre_bias();
    set_alpha();
    double steepest = 0.0;
    bool is_zero = true; // every weight with a penalty
    n_active_ = features_.size();
    for (std::size_t t = 0; t < n_active_;) {
      const index_t j = features_[t];
      is_late(j);
      double sum = 0.0;
      for_column(j, [&](std::size_t i, double x) { sum += beta_[i] * x; });
      const bool is_penalised = penalty(j) > 0.0;
      if (is_penalised) steepest = std::max(steepest, std::abs(sum));
      is_zero = is_zero && (!is_penalised || w_[j] == 0.0);
      if (is_penalised && w_[j] == 0.0 && std::abs(sum) < 1.0 - shrink_below_)
        std::swap(features_[t], features_[--n_active_]);
      else
        ++t;
    }
    const L1DualPoint dual = l1_dual_point(problem_, beta_, steepest);
    for (double& b : beta_) b *= dual.share;
    primal_ = objective();
    dual_ = dual.objective;
    if (!std::isfinite(primal_ + dual_)) throw NumericError("the objective overflows");
    if (primal_ < least_primal_) {
      least_primal_ = primal_;
      best_w_ = w_;
    }
    least_dual_ = std::min(least_dual_, dual_);
    if (is_zero && steepest > kSteepestAtZero) return false;
    return primal_ + dual_ <= options_.tol * primal_;
  }

  // beta_i = y_i alpha_i of the losses.
  void set_alpha() {
    beta_.resize(shortfall_.size());
    for (std::size_t i = 0; i < beta_.size(); ++i)
      beta_[i] = is_logistic ? problem_.C[i] * problem_.y[i] * share_of(i)
                             : 2.0 * problem_.C[i] * problem_.y[i] * std::max(0.0, shortfall_[i]);
    if (is_bias_free_) balance(beta_);
  }

  // Moves a bias without penalty to where the losses are least.
  void centre_bias() {
    const index_t j = columns_.n_features();
    for (int k = 0; k < kMostHalvings; ++k)
      if (step(j, slope(j), 0.0) <= kRounding * objective()) return;
  }

  // Without the rounding of many moves.
  void sum_up() {
    std::fill(shortfall_.begin(), shortfall_.end(), 1.0);
    for (const index_t j : features_) {
      const double w = w_[j];
      if (w == 0.0) continue;
      is_late(j);
      for_column(j, [&](std::size_t i, double x) { shortfall_[i] -= w * problem_.y[i] * x; });
    }
  }

  // Called for every column read, which lets the caller end it.
  bool is_late(index_t j) {
    return time_.is_up_after(is_bias(j) ? std::ssize(shortfall_) : columns_.size(j), [&] {
      return Progress{.n_iter = n_iter_,
                      .relative_gap = (primal_ + dual_) / primal_,
                      .dual_objective = dual_,
                      .n_free = static_cast<index_t>(n_active_)};
    });
  }

  LinearSolution unfinished(optim::StopReason reason) {
    return solution(check() ? optim::StopReason::converged : reason);
  }

  // Where that is not the last, of the best that was checked.
  LinearSolution solution(optim::StopReason reason) {
    if (reason != optim::StopReason::converged) {
      if (least_primal_ < primal_) w_ = best_w_;
      primal_ = least_primal_;
      dual_ = least_dual_;
    }
    LinearSolution result;
    result.separator.w.assign(w_.begin(), w_.end() - 1);
    result.separator.b = bias_value_ * w_.back();
    result.beta = beta_;
    result.set_bounds(primal_, primal_ + dual_);
    result.n_iter = n_iter_;
    result.n_free = static_cast<index_t>(n_active_);
    result.seconds = time_.seconds();
    result.stop_reason = reason;
    return result;
  }

  const Columns& columns_;
  const LinearProblem& problem_;
  const LinearOptions& options_;
  optim::TimeLimit time_;
  Random random_;
  bool is_bias_free_;
  double bias_value_; // of the feature whose weight is the bias, the last; 0: none
  std::vector<double> w_;
  std::vector<double> greatest_;  // half the greatest curvature of the losses along a weight
  std::vector<double> shortfall_; // 1 - y_i f(x_i)
  std::vector<double> beta_;
  std::vector<index_t> features_; // the first n_active_; the others are set aside
  std::size_t n_active_ = 0;
  double shrink_below_ = std::numeric_limits<double>::infinity();
  double primal_ = 1.0, dual_ = 0.0;
  std::vector<double> best_w_;
  double least_primal_ = std::numeric_limits<double>::infinity(), least_dual_ = least_primal_;
  index_t n_iter_ = 0;
};

} // namespace

LinearSolution solve_l1_coordinate_descent(const Columns& columns, const LinearProblem& problem,
                                           const LinearOptions& options, Control& control) {
  if (problem.loss == LinearLoss::logistic)
    return FeatureDescent<true>(columns, problem, options, control).run();
  return FeatureDescent<false>(columns, problem, options, control).run();
}

} // namespace maxmargin::linear
