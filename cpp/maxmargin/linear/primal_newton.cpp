#include "maxmargin/linear/primal_newton.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/row_passes.hpp"
#include "maxmargin/linear/smooth_losses.hpp"
#include "maxmargin/optim/best_weights.hpp"
#include "maxmargin/optim/idle_steps.hpp"
#include "maxmargin/optim/newton_system.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin::linear {
namespace {

constexpr double kRounding = 1e-15;  // a slope below this share of the objective is none
constexpr double kSlopeLeft = 1e-12; // at the end of a step, of that at its beginning
// Of losses that are made smooth:
constexpr double kSmoothSlopeLeft = 1e-2;
constexpr double kFirstWidth = 0.3; // of the spread of targets
constexpr double kNarrowing = 0.7;
constexpr double kInnerGap = 3.0; // of what the width adds to the gap
constexpr int kMostIdleSteps = 20;
constexpr double kLeastFall = 0.9;

class PrimalNewton {
 public:
  PrimalNewton(const LinearProblem& problem, const LinearOptions& options, Control& control)
      : problem_(problem), options_(options), time_(options.time_limit, control), control_(control),
        intercept_(InterceptFeature::of(problem.intercept_scaling)),
        passes_(problem.X, intercept_, options.threads, control),
        system_(passes_.centre(), intercept_.feature, intercept_.ridge), losses_(problem, passes_),
        is_squared_(is_squared(problem.loss)),
        weights_(static_cast<std::size_t>(passes_.n_weights()), 0.0) {
    if (!is_squared_) {
      losses_.set_width(kFirstWidth * spread());
      losses_.set_centres(options.start);
      idle_steps_ = optim::IdleSteps(kMostIdleSteps, kLeastFall);
    }
    if (options.start.empty()) return;
    passes_.run({.sums = {{options.start, &weights_}}});
    if (intercept_.feature != 0.0)
      weights_.back() *= intercept_.ridge > 0.0 ? 1.0 / intercept_.ridge : 0.0;
    losses_.set_weights(weights_);
  }

  LinearSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultNewtonSteps : options_.max_iter;
    optim::StopReason reason = optim::StopReason::max_iter;
    for (;; ++n_iter_) {
      evaluate();
      if (looks_solved()) {
        if (is_proved()) return finish(optim::StopReason::converged);
        losses_.set_weights(weights_); // what steps have added up is off
        evaluate();
      }
      best_.consider(objective_, weights_);
      if (n_iter_ >= max_iter) break;
      if (time_.look()) {
        reason = optim::StopReason::time_limit;
        break;
      }
      control_.poll([&] {
        return Progress{.n_iter = n_iter_,
                        .relative_gap = gap_ / objective_,
                        .dual_objective = gap_ - objective_,
                        .n_free = losses_.count()};
      });
      narrow();
      if (is_idle() || !step()) {
        reason = optim::StopReason::stalled;
        break;
      }
    }
    if (is_proved() || (best_.replace(objective_, weights_) && is_proved()))
      reason = optim::StopReason::converged;
    return finish(reason);
  }

 private:
  double penalty(std::size_t k) const {
    return static_cast<index_t>(k) < n_cols(problem_.X) ? 1.0 : intercept_.ridge;
  }
  double penalised_product(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += penalty(k) * a[k] * b[k];
    return sum;
  }

  // The gradient, the objective, H and the gap.
  void evaluate() {
    losses_.evaluate();
    objective_ = losses_.sum() + 0.5 * penalised_product(weights_, weights_);
    gap_of_weights_ = 0.0;
    gradient_.resize(weights_.size());
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      gradient_[k] = penalty(k) * weights_[k] - losses_.slopes()[k];
      if (penalty(k) > 0.0) gap_of_weights_ += 0.5 * gradient_[k] * gradient_[k] / penalty(k);
    }
    gap_ = losses_.gap() + gap_of_weights_;
    if (!std::isfinite(objective_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
  }

  // Where beta is optimal at the values, the gap is that of the weights alone: half the square of
  // the gradient. The intercept without penalty is left to the proof.
  bool looks_solved() const { return gap_ <= options_.tol * objective_; }

  bool is_proved() {
    proof_ = certify(problem_, intercept_, passes_, weights_, losses_.beta(), options_.tol);
    return proof_.duality_gap() <= options_.tol * proof_.primal_objective;
  }

  // Where the gap is mostly what the width adds to it, the losses are made smooth around the
  // present beta, and less so.
  void narrow() {
    if (is_squared_ || gap_of_weights_ >= kInnerGap * losses_.gap()) return;
    losses_.set_width(kNarrowing * losses_.width());
    evaluate();
  }

  // How far the targets lie from their mean, on the average; that of labels is 1.
  double spread() const {
    if (!is_insensitive(problem_.loss)) return 1.0;
    double total = 0.0, mean = 0.0, sum = 0.0;
    for (const double c : problem_.C) total += c;
    for (std::size_t i = 0; i < problem_.y.size(); ++i)
      mean += problem_.C[i] / total * problem_.y[i];
    for (std::size_t i = 0; i < problem_.y.size(); ++i)
      sum += problem_.C[i] / total * std::abs(problem_.y[i] - mean);
    return sum > 0.0 && std::isfinite(sum) ? sum : 1.0;
  }

  bool is_idle() {
    const bool is_over = idle_steps_.count(objective_, gap_);
    if (idle_steps_.is_last_idle()) losses_.sum_up_anew();
    return is_over;
  }

  // Returns whether there is a step.
  bool step() {
    if (!system_.factor(losses_.matrix())) return false;
    std::vector<double> direction = gradient_;
    for (double& g : direction) g = -g;
    system_.solve(direction);
    losses_.set_direction(direction);
    const double length = search(direction);
    if (!(length > 0.0) || !std::isfinite(length)) return false;
    for (std::size_t k = 0; k < weights_.size(); ++k) weights_[k] += length * direction[k];
    losses_.move(length);
    return true;
  }

  // The length of the step to the minimum along the direction, where the slope is 0. A full step
  // where the slope is lost in rounding, and 0 where it points upwards.
  double search(const std::vector<double>& direction) const {
    const Slope penalty{penalised_product(weights_, direction),
                        penalised_product(direction, direction)};
    const double start =
        std::inner_product(gradient_.begin(), gradient_.end(), direction.begin(), 0.0);
    if (std::abs(start) <= kRounding * objective_) return 1.0;
    if (!(start < 0.0)) return 0.0;
    return losses_.search(-start, is_squared_ ? kSlopeLeft : kSmoothSlopeLeft,
                          [&](Slope& slope, double length) {
                            slope.first += penalty.first + length * penalty.second;
                            slope.second += penalty.second;
                            return length - slope.first / slope.second;
                          });
  }

  LinearSolution finish(optim::StopReason reason) {
    proof_.n_iter = n_iter_;
    proof_.n_free = losses_.count();
    proof_.seconds = time_.seconds();
    proof_.stop_reason = reason;
    return std::move(proof_);
  }

  const LinearProblem& problem_;
  const LinearOptions& options_;
  optim::TimeLimit time_;
  Control& control_;
  InterceptFeature intercept_;
  RowPasses passes_;
  optim::NewtonSystem system_;
  SmoothLosses losses_;
  bool is_squared_;
  optim::BestWeights<std::vector<double>> best_;
  std::vector<double> weights_, gradient_;
  double objective_ = 0.0, gap_of_weights_ = 0.0, gap_ = 0.0;
  optim::IdleSteps idle_steps_;
  index_t n_iter_ = 0;
  LinearSolution proof_;
};

} // namespace

LinearSolution solve_primal_newton(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return PrimalNewton(problem, options, control).run();
}

} // namespace maxmargin::linear
