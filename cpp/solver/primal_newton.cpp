#include "solver/primal_newton.hpp"

#include "base/error.hpp"
#include "solver/dual_coordinate.hpp"
#include "solver/linear_certificate.hpp"
#include "solver/newton_system.hpp"
#include "solver/row_passes.hpp"
#include "solver/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace maxmargin {
namespace {

constexpr int kMostSearchSteps = 100;
constexpr double kRounding = 1e-15; // a decrease below this share of the objective is none
constexpr int kMostIdleSteps = 3;
// H is summed up anew when so much of its trace has been taken away, with rounding left behind.
constexpr double kMostCancelled = 0.9;

class PrimalNewton {
 public:
  PrimalNewton(const LinearProblem& problem, const LinearOptions& options, Control& control)
      : problem_(problem), options_(options), time_(options.time_limit, control), control_(control),
        intercept_(InterceptFeature::of(problem.intercept_scaling)),
        passes_(problem.X, intercept_, options.threads, control),
        system_(passes_.centre(), intercept_.feature, intercept_.ridge),
        gram_(passes_.empty_gram()), weights_(static_cast<std::size_t>(passes_.n_weights()), 0.0),
        values_(problem.y.size(), 0.0), value_steps_(problem.y.size()), beta_(problem.y.size()),
        curvature_change_(problem.y.size()), has_curvature_(problem.y.size(), 0) {
    if (options.start.empty()) return;
    passes_.run({.sums = {{options.start, &weights_}}});
    if (intercept_.feature != 0.0)
      weights_.back() *= intercept_.ridge > 0.0 ? 1.0 / intercept_.ridge : 0.0;
    evaluate_values();
  }

  LinearSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultNewtonSteps : options_.max_iter;
    StopReason reason = StopReason::max_iter;
    for (;; ++n_iter_) {
      evaluate();
      if (looks_solved()) {
        if (is_proved()) return finish(StopReason::converged);
        evaluate_values(); // what steps have added up is off
        evaluate();
      }
      if (n_iter_ >= max_iter) break;
      if (time_.look()) {
        reason = StopReason::time_limit;
        break;
      }
      control_.poll([&] {
        return Progress{.n_iter = n_iter_,
                        .relative_gap = gap_ / objective_,
                        .dual_objective = gap_ - objective_,
                        .n_free = n_losses_};
      });
      if (is_idle() || !step()) {
        reason = StopReason::stalled;
        break;
      }
    }
    if (is_proved()) reason = StopReason::converged;
    return finish(reason);
  }

 private:
  void evaluate_values() { passes_.run({.weights = weights_, .products = values_}); }

  double penalty(std::size_t k) const {
    return static_cast<index_t>(k) < n_cols(problem_.X) ? 1.0 : intercept_.ridge;
  }
  double penalised_product(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += penalty(k) * a[k] * b[k];
    return sum;
  }

  // beta at the present values, the gradient and the objective; H there.
  void evaluate() {
    const auto n_parts = static_cast<std::size_t>(passes_.n_parts());
    std::vector<double> losses(n_parts);
    std::vector<index_t> n_losses(n_parts), n_changes(n_parts);
    passes_.for_parts([&](index_t begin, index_t end, index_t part) {
      for (index_t i = begin; i < end; ++i) {
        beta_[i] = curvature_change_[i] = 0.0;
        if (problem_.C[i] == 0.0) continue;
        const DualCoordinate c(problem_, i);
        const double u = c.y - values_[i];
        beta_[i] = c.maximiser(u);
        losses[part] += c.loss(u);
        const bool has_loss = beta_[i] != 0.0;
        n_losses[part] += has_loss;
        n_changes[part] += has_loss != (has_curvature_[i] != 0);
      }
    });
    n_losses_ = std::accumulate(n_losses.begin(), n_losses.end(), index_t{0});
    const index_t n_changes_all = std::accumulate(n_changes.begin(), n_changes.end(), index_t{0});
    if (n_changes_all > n_losses_) must_sum_up_ = true;
    change_curvature();
    passes_.run({.sums = {{beta_, &gradient_}}, .gram_weights = curvature_change_, .gram = &gram_});
    objective_ = std::accumulate(losses.begin(), losses.end(), 0.0) +
                 0.5 * penalised_product(weights_, weights_);
    gap_ = 0.0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      gradient_[k] = penalty(k) * weights_[k] - gradient_[k];
      if (penalty(k) > 0.0) gap_ += 0.5 * gradient_[k] * gradient_[k] / penalty(k);
    }
    if (!std::isfinite(objective_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
  }

  // What is to be added to H: everything, or the samples that have won or lost a loss.
  void change_curvature() {
    if (must_sum_up_) {
      gram_.clear();
      std::fill(has_curvature_.begin(), has_curvature_.end(), std::uint8_t{0});
    }
    double removed = 0.0, total = 0.0;
    for (std::size_t i = 0; i < beta_.size(); ++i) {
      const bool has_loss = beta_[i] != 0.0, had_loss = has_curvature_[i] != 0;
      const double curvature = 2.0 * problem_.C[i];
      total += has_loss ? curvature : 0.0;
      removed += had_loss && !has_loss ? curvature : 0.0;
      curvature_change_[i] = has_loss == had_loss ? 0.0 : (has_loss ? curvature : -curvature);
      has_curvature_[i] = has_loss ? 1 : 0;
    }
    cancelled_ = must_sum_up_ ? 0.0 : cancelled_ + removed;
    must_sum_up_ = cancelled_ > kMostCancelled * total;
  }

  // Since beta is optimal at the values, the gap is that of the weights alone: half the square of
  // the gradient. The intercept without penalty is left to the proof.
  bool looks_solved() const { return gap_ <= options_.tol * objective_; }

  bool is_proved() {
    proof_ = certify(problem_, intercept_, passes_, weights_, beta_, options_.tol);
    return proof_.duality_gap() <= options_.tol * proof_.primal_objective;
  }

  // Whether for some steps neither the objective nor the gap has fallen: rounding is in the way. At
  // the end the gap falls on when the objective cannot.
  bool is_idle() {
    if (objective_ < least_objective_ * (1.0 - kRounding) || gap_ < 0.5 * least_gap_) n_idle_ = 0;
    least_objective_ = std::min(least_objective_, objective_);
    least_gap_ = std::min(least_gap_, gap_);
    must_sum_up_ = must_sum_up_ || n_idle_ > 0;
    return n_idle_++ > kMostIdleSteps;
  }

  // Returns whether there is a step.
  bool step() {
    if (!system_.factor(gram_)) return false;
    std::vector<double> direction = gradient_;
    for (double& g : direction) g = -g;
    system_.solve(direction);
    passes_.run({.weights = direction, .products = value_steps_});
    const double length = search(direction);
    if (!(length > 0.0) || !std::isfinite(length)) return false;
    for (std::size_t k = 0; k < weights_.size(); ++k) weights_[k] += length * direction[k];
    passes_.for_parts([&](index_t begin, index_t end, index_t) {
      for (index_t i = begin; i < end; ++i) values_[i] += length * value_steps_[i];
    });
    return true;
  }

  struct Slope {
    double first = 0.0, second = 0.0; // derivatives
  };

  Slope slope_at(double length, const Slope& penalty) const {
    std::vector<Slope> parts(static_cast<std::size_t>(passes_.n_parts()));
    passes_.for_parts([&](index_t begin, index_t end, index_t part) {
      for (index_t i = begin; i < end; ++i) {
        if (problem_.C[i] == 0.0) continue;
        const DualCoordinate c(problem_, i);
        const double by = value_steps_[i];
        const double beta = c.maximiser(c.y - (values_[i] + length * by));
        if (beta == 0.0) continue;
        parts[part].first -= beta * by;
        parts[part].second += by * by / c.ridge;
      }
    });
    Slope slope{penalty.first + length * penalty.second, penalty.second};
    for (const Slope& part : parts) {
      slope.first += part.first;
      slope.second += part.second;
    }
    return slope;
  }

  // The length of the step to the minimum along the direction, where the slope is 0: Newton steps
  // on the slope, which is piecewise linear and rises, within a bracket. A full step where the
  // slope is lost in rounding, and 0 where it points upwards.
  double search(const std::vector<double>& direction) const {
    const Slope penalty{penalised_product(weights_, direction),
                        penalised_product(direction, direction)};
    const double start = slope_at(0.0, penalty).first;
    if (std::abs(start) <= kRounding * objective_) return 1.0;
    if (!(start < 0.0)) return 0.0;
    double low = 0.0, high = std::numeric_limits<double>::infinity(), length = 1.0;
    for (int k = 0; k < kMostSearchSteps; ++k) {
      const Slope slope = slope_at(length, penalty);
      if (std::abs(slope.first) <= kSlopeLeft * -start) break;
      (slope.first < 0.0 ? low : high) = length;
      double next = length - slope.first / slope.second;
      if (!(next > low && next < high)) next = std::isinf(high) ? 2.0 * length : 0.5 * (low + high);
      if (next == length) break;
      length = next;
    }
    return length;
  }

  LinearSolution finish(StopReason reason) {
    proof_.n_iter = n_iter_;
    proof_.n_free = n_losses_;
    proof_.seconds = time_.seconds();
    proof_.stop_reason = reason;
    return std::move(proof_);
  }

  static constexpr double kSlopeLeft = 1e-12;

  const LinearProblem& problem_;
  const LinearOptions& options_;
  TimeLimit time_;
  Control& control_;
  InterceptFeature intercept_;
  RowPasses passes_;
  NewtonSystem system_;
  WeightedGram gram_; // of the samples marked in has_curvature_
  std::vector<double> weights_, gradient_;
  std::vector<double> values_, value_steps_; // f, and what it changes by along the direction
  std::vector<double> beta_, curvature_change_;
  std::vector<std::uint8_t> has_curvature_;
  double objective_ = 0.0, gap_ = 0.0, cancelled_ = 0.0;
  double least_objective_ = std::numeric_limits<double>::infinity();
  double least_gap_ = least_objective_;
  int n_idle_ = 0;
  bool must_sum_up_ = true;
  index_t n_losses_ = 0, n_iter_ = 0;
  LinearSolution proof_;
};

} // namespace

LinearSolution solve_primal_newton(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return PrimalNewton(problem, options, control).run();
}

} // namespace maxmargin
