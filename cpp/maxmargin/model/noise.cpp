#include "maxmargin/model/noise.hpp"

#include "maxmargin/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace maxmargin {
namespace {

// Those of the Algorithm 1 that the header names.
constexpr int kMostSteps = 100;
constexpr double kGradient = 1e-5, kLeastStep = 1e-10, kDescent = 1e-4, kRidge = 1e-12;

// The negative logarithm of the likelihood, with values in units of their magnitude.
class Likelihood {
 public:
  Likelihood(std::span<const double> values, double unit, std::span<const bool> is_first,
             std::span<const double> counts)
      : counts_(counts) {
    double first = 0.0, second = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) (is_first[i] ? first : second) += counts[i];
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_.push_back(values[i] / unit);
      targets_.push_back(is_first[i] ? (first + 1.0) / (first + 2.0) : 1.0 / (second + 2.0));
    }
    prior = std::log((second + 1.0) / (first + 1.0));
  }

  double loss(const Sigmoid& at) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double e = at.a * values_[i] + at.b;
      // log(1 + exp(e)) - (1 - t) e, without overflow
      sum += counts_[i] *
             (std::max(e, 0.0) + std::log1p(std::exp(-std::abs(e))) - (1.0 - targets_[i]) * e);
    }
    return sum;
  }

  // A Newton step and its descent; false where the gradient is small.
  bool step(const Sigmoid& at, Sigmoid& direction, double& descent) const {
    double h11 = kRidge, h22 = kRidge, h21 = 0.0, g1 = 0.0, g2 = 0.0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double v = values_[i], e = at.a * v + at.b, small = std::exp(-std::abs(e));
      const double p = (e >= 0.0 ? small : 1.0) / (1.0 + small);
      const double curvature = counts_[i] * p * (1.0 - p), slope = counts_[i] * (targets_[i] - p);
      h11 += v * v * curvature;
      h22 += curvature;
      h21 += v * curvature;
      g1 += v * slope;
      g2 += slope;
    }
    if (std::abs(g1) < kGradient && std::abs(g2) < kGradient) return false;
    const double determinant = h11 * h22 - h21 * h21;
    direction = {-(h22 * g1 - h21 * g2) / determinant, (h21 * g1 - h11 * g2) / determinant};
    descent = g1 * direction.a + g2 * direction.b;
    return true;
  }

  double prior = 0.0; // b of the shares of the classes

 private:
  std::vector<double> values_, targets_;
  std::span<const double> counts_;
};

} // namespace

Sigmoid fit_sigmoid(std::span<const double> values, std::span<const bool> is_first,
                    std::span<const double> counts, Control& control) {
  require(values.size() == is_first.size() && values.size() == counts.size(),
          "values, is_first and counts must have the same length");
  double unit = 0.0;
  for (const double value : values) unit = std::max(unit, std::abs(value));
  if (unit == 0.0) unit = 1.0;
  const Likelihood likelihood(values, unit, is_first, counts);
  Sigmoid best{0.0, likelihood.prior}, direction;
  double least = likelihood.loss(best), descent = 0.0;
  for (int n = 0; n < kMostSteps && likelihood.step(best, direction, descent); ++n) {
    control.poll();
    double length = 1.0;
    for (; length >= kLeastStep; length /= 2.0) {
      const Sigmoid next{best.a + length * direction.a, best.b + length * direction.b};
      const double found = likelihood.loss(next);
      if (!(found < least + kDescent * length * descent)) continue;
      best = next;
      least = found;
      break;
    }
    if (length < kLeastStep) break;
  }
  if (!std::isfinite(best.a + best.b)) return {0.0, likelihood.prior};
  return {best.a / unit, best.b};
}

double noise_scale(std::span<const double> errors) {
  const auto mean_below = [&](double most) {
    double sum = 0.0, count = 0.0;
    for (const double error : errors)
      if (std::abs(error) <= most) sum += std::abs(error), count += 1.0;
    return sum / count;
  };
  const double deviation = std::numbers::sqrt2 * mean_below(HUGE_VAL);
  return mean_below(5.0 * deviation);
}

} // namespace maxmargin
