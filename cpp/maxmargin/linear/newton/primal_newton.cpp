#include "maxmargin/linear/newton/primal_newton.hpp"

#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/linear/newton/second_order.hpp"
#include "maxmargin/linear/newton/smooth_losses.hpp"
#include "maxmargin/linear/stagnation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin::linear {
namespace {

constexpr double kRounding = 1e-15;  // a slope below this share of the objective is none
constexpr double kSlopeLeft = 1e-12; // at the end of a step, of that at its beginning
// Of losses that are made smooth. The problems of l1/l1_newton.cpp, and as many regressions, take
// 391 steps in all with these, and with slopes of 1e-3 and 1e-1 394 and 395, with widths of 0.1 and
// 1 379 and 424, with factors of 0.5 and 0.85 395 and 453, and with gaps of 1 and 10 404 and 380.
constexpr double kSmoothSlopeLeft = 1e-2;
constexpr double kFirstWidth = 0.3; // of the spread of targets
constexpr double kNarrowing = 0.7;  // of the width
constexpr double kInnerGap = 3.0;   // of what the width adds to the gap

class PrimalNewton : public SecondOrder {
 public:
  PrimalNewton(const LinearProblem& problem, const LinearOptions& options, Control& control)
      : SecondOrder(problem, options, control, kDefaultNewtonSteps),
        system_(passes_.centre(), intercept_.feature, intercept_.ridge), losses_(problem, passes_),
        is_squared_(is_squared(problem.loss)) {
    if (!is_squared_) {
      losses_.set_width(kFirstWidth * spread());
      losses_.set_centres(options.start);
      // To narrow the width may take some steps that lower neither.
      stagnation_ = StepStagnation(21, kAnyFall, 0.9);
    }
    if (start()) losses_.set_weights(weights_);
  }

 private:
  // The gradient, the objective, H and the gap. Where beta is optimal at the values, that is the
  // gap of the weights alone: half the square of the gradient. The intercept without penalty is
  // left to the certificate.
  void evaluate() override {
    losses_.evaluate();
    objective_ = losses_.sum() + 0.5 * penalised_product(weights_, weights_);
    gap_of_weights_ = 0.0;
    gradient_.resize(weights_.size());
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      gradient_[k] = ridge(k) * weights_[k] - losses_.slopes()[k];
      if (ridge(k) > 0.0) gap_of_weights_ += 0.5 * gradient_[k] * gradient_[k] / ridge(k);
    }
    gap_ = losses_.gap() + gap_of_weights_;
  }

  void renew() override {
    losses_.set_weights(weights_);
    evaluate();
  }

  LinearSolution certificate() override {
    return certify(problem_, intercept_, passes_, weights_, losses_.beta(), options_.tol);
  }

  index_t n_free() const override { return losses_.count(); }

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

  bool step() override {
    narrow();
    if (stagnation_.count(objective_, gap_)) losses_.sum_up_anew();
    if (stagnation_.is_stalled() || !system_.factor(losses_.matrix())) return false;
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

  NewtonSystem system_;
  SmoothLosses losses_;
  bool is_squared_;
  std::vector<double> gradient_;
  double gap_of_weights_ = 0.0;
  StepStagnation stagnation_{4, kAnyFall, 0.5}; // of the objective and the gap
};

} // namespace

LinearSolution solve_primal_newton(const LinearProblem& problem, const LinearOptions& options,
                                   Control& control) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return PrimalNewton(problem, options, control).run();
}

} // namespace maxmargin::linear
