#include "maxmargin/linear/l1/l1_newton.hpp"

#include "maxmargin/linear/l1/l1_line.hpp"
#include "maxmargin/linear/l1/l1_quadratic.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/second_order.hpp"
#include "maxmargin/linear/newton/smooth_losses.hpp"
#include "maxmargin/linear/stagnation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace maxmargin::linear {
namespace {

// From one stage to the next the penalty falls by about so much; all but the last end with this
// relative gap. Nine problems (normal samples, 3000 x 40, 2000 x 150 and 1500 x 20 with noisier and
// noisier labels, C = 0.01, 1, 100, tolerance 1e-5) take 55, 45 and 36 steps with ratios of 10, 30
// and 100, in the same time; fewer stages leave more to the start of the last. Gaps of 0.2, 0.5 and
// 0.8 take 47, 45 and 45.
constexpr double kStageRatio = 30.0;
constexpr double kStageGap = 0.5;
// By the minimum of the quadratic, of the violation before. 1e-3, 1e-2 and 1e-1 take 42, 45 and 47
// steps there, each shorter than the one before.
constexpr double kViolationLeft = 1e-2;
// At the end of a step, of the slope at its beginning. Much, so that a full step is left as it is,
// at whose end weights are 0.
constexpr double kSlopeLeft = 1e-2;
const StepStagnation kStagnation(4, kAnyFall, 0.5); // of the objective and the gap
constexpr double kRounding = 1e-15; // a slope below this share of the objective is none

class L1Newton : public SecondOrder {
 public:
  L1Newton(const LinearProblem& problem, const LinearOptions& options, Control& control,
           double most_products)
      : SecondOrder(problem, options, control, kDefaultL1NewtonSteps,
                    InterceptFeature::of(problem.intercept_scaling).ridge == 0.0
                        ? Centring::dense_rows
                        : Centring::none),
        losses_(problem, passes_), penalties_(l1_penalties(problem, intercept_)),
        lambda_(penalties_), quadratic_(passes_.n_weights()), most_products_(most_products) {}

  LinearSolution run() override {
    evaluate_losses();
    double steepest_loss = 0.0; // no weight leaves 0 under a greater penalty
    for (index_t k = 0; k < n_cols(problem_.X); ++k)
      steepest_loss = std::max(steepest_loss, std::abs(gradient_[k]));
    const double n_stages =
        std::round(std::log(std::max(steepest_loss, 1.0)) / std::log(kStageRatio));
    for (double stage = 1.0; stage < n_stages; ++stage) {
      const double factor = std::pow(steepest_loss, 1.0 - stage / n_stages);
      for (std::size_t k = 0; k < lambda_.size(); ++k) lambda_[k] = factor * penalties_[k];
      stagnation_ = kStagnation;
      const optim::StopReason reason = approach(kStageGap, false);
      if (reason == optim::StopReason::max_iter || reason == optim::StopReason::time_limit)
        return finish(reason);
    }
    lambda_ = penalties_;
    stagnation_ = kStagnation;
    return finish(approach(options_.tol, true));
  }

 private:
  // With the penalties of the present stage; the losses are those of the last step.
  void evaluate() override {
    const Bounds at = bounds_with(lambda_);
    objective_ = at.primal;
    gap_ = at.gap;
  }

  void renew() override {
    losses_.set_weights(weights_);
    evaluate_losses();
  }

  // The losses, their gradient and their matrix.
  void evaluate_losses() {
    losses_.evaluate();
    gradient_.resize(weights_.size());
    std::ranges::transform(losses_.slopes(), gradient_.begin(), std::negate<>());
  }

  Bounds bounds() const override { return bounds_with(penalties_); }

  // The objective, and its gap but for what an intercept without penalty adds to it, which is left
  // to the certificate.
  Bounds bounds_with(std::span<const double> lambda) const {
    double primal = losses_.sum();
    for (std::size_t k = 0; k < weights_.size(); ++k) primal += lambda[k] * std::abs(weights_[k]);
    const double most = steepest(lambda, gradient_);
    return {primal, primal + l1_dual_point(problem_, losses_.beta(), most).objective};
  }

  LinearSolution certificate() override {
    return certify_l1(problem_, intercept_, passes_, penalties_, weights_, losses_.beta());
  }

  bool may_end() const override {
    for (std::size_t k = 0; k < weights_.size(); ++k)
      if (lambda_[k] > 0.0 && weights_[k] != 0.0) return true;
    return steepest(lambda_, gradient_) <= kSteepestAtZero;
  }

  index_t n_free() const override { return losses_.count(); }

  bool step() override {
    if (stagnation_.count(objective_, gap_)) losses_.sum_up_anew();
    if (stagnation_.is_stalled() || quadratic_.n_products() >= most_products_) return false;
    std::vector<double> direction = direction_to_minimum();
    const L1Line line(weights_, direction, lambda_);
    losses_.set_direction(direction);
    const double length = search(line, direction);
    if (!(length > 0.0) || !std::isfinite(length)) return false;
    line.move(length, weights_);
    losses_.move(length);
    evaluate_losses();
    return true;
  }

  // From the weights to the minimum of the quadratic and the penalty. Where the rows are less a
  // centre c, the intercept has no penalty, and its weight is that of x~ plus c.w / feature.
  std::vector<double> direction_to_minimum() {
    const std::vector<double>& centre = passes_.centre();
    std::vector<double> goal = weights_, gradient = gradient_;
    for (std::size_t k = 0; k < centre.size(); ++k) {
      goal.back() += centre[k] / intercept_.feature * weights_[k];
      gradient[k] -= centre[k] / intercept_.feature * gradient.back();
    }
    const std::vector<double> start = goal;
    quadratic_.set(losses_.matrix(), lambda_);
    quadratic_.minimise(goal, gradient, kViolationLeft * quadratic_.violation(weights_, gradient),
                        [&] { return quadratic_.n_products() < most_products_ && goes_on(); });
    for (std::size_t k = 0; k < goal.size(); ++k) goal[k] -= start[k];
    for (std::size_t k = 0; k < centre.size(); ++k)
      goal.back() -= centre[k] / intercept_.feature * goal[k];
    return goal;
  }

  // The length of the step to the minimum along the direction. A full step where the slope is lost
  // in rounding, and 0 where it points upwards.
  double search(const L1Line& line, const std::vector<double>& direction) const {
    const double start = line.slope() + std::inner_product(gradient_.begin(), gradient_.end(),
                                                           direction.begin(), 0.0);
    if (std::abs(start) <= kRounding * objective_) return 1.0;
    if (!(start < 0.0)) return 0.0;
    return losses_.search(-start, kSlopeLeft, [&](Slope& slope, double length) {
      return line.least(slope.first - length * slope.second, slope.second);
    });
  }

  SmoothLosses losses_;
  std::vector<double> penalties_, lambda_; // of the problem, and of the present stage
  L1Quadratic quadratic_;
  double most_products_;
  std::vector<double> gradient_; // of the losses
  StepStagnation stagnation_ = kStagnation;
};

} // namespace

LinearSolution solve_l1_newton(const LinearProblem& problem, const LinearOptions& options,
                               Control& control, double most_products) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return L1Newton(problem, options, control, most_products).run();
}

} // namespace maxmargin::linear
