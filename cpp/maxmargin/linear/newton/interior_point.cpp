#include "maxmargin/linear/newton/interior_point.hpp"

#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/linear/newton/second_order.hpp"
#include "maxmargin/linear/stagnation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace maxmargin::linear {
namespace {

// The share of the box at which alpha begins: at most optima fewer samples have a loss than have
// none, and weights that are too large take many steps to shrink.
// Nine problems of 300 x 20 to 300 x 60, tolerance 1e-6, take 109, 97 and 94 steps from 0.03, 0.1
// and 0.3, and 111, 97 and 97 with 0.9, 0.995 and 0.9995 of the way to the boundary.
constexpr double kStart = 0.1;
constexpr double kToBoundary = 0.995;      // the share of the way to the boundary that a step takes
constexpr double kLeastStep = 1e-9;        // likewise: a shorter one ends the steps
constexpr double kLeastCurvature = 1e-100; // of a variable, so that its inverse does not overflow

struct Variable {
  double alpha = 0.0, room = 0.0;          // room = C - alpha, with all its digits
  double lambda = 0.0, xi = 0.0;           // the multipliers of alpha >= 0 and of room >= 0
  double weight = 0.0;                     // d
  double curve_lambda = 0.0, curve_xi = 0; // the prediction's products of second order
  double alpha_step = 0.0;

  double complementarity() const { return alpha * lambda + room * xi; }
};

struct Steps {
  double alpha, lambda, xi;
};

// With the products of second order and mu, the target of alpha lambda and room xi.
Steps steps_of(const Variable& v, double mu, double alpha_step) {
  return {alpha_step, (mu - v.curve_lambda - v.lambda * alpha_step) / v.alpha - v.lambda,
          (mu + v.curve_xi + v.xi * alpha_step) / v.room - v.xi};
}

// The longest share of the steps that keeps everything >= 0, if less than `longest`.
double longest_step(const Variable& v, const Steps& steps, double longest) {
  const auto limit = [&](double value, double step) {
    if (step * longest < -value) longest = -value / step;
  };
  limit(v.alpha, steps.alpha);
  limit(v.room, -steps.alpha);
  limit(v.lambda, steps.lambda);
  limit(v.xi, steps.xi);
  return longest;
}

class InteriorPoint : public SecondOrder {
 public:
  InteriorPoint(const LinearProblem& problem, const LinearOptions& options, Control& control)
      : SecondOrder(problem, options, control, kDefaultInteriorSteps),
        is_absolute_(problem.loss == LinearLoss::epsilon_insensitive && problem.epsilon == 0.0),
        n_copies_(problem.loss == LinearLoss::epsilon_insensitive && !is_absolute_ ? 2 : 1),
        system_(passes_.centre(), intercept_.feature, intercept_.ridge),
        gram_(passes_.empty_gram()), imbalance_(weights_.size(), 0.0),
        values_(problem.y.size(), 0.0), value_steps_(problem.y.size(), 0.0),
        row_weights_(problem.y.size(), 0.0), coef_(problem.y.size(), 0.0),
        second_coef_(problem.y.size(), 0.0),
        variables_(problem.y.size() * static_cast<std::size_t>(n_copies_)) {
    begin();
  }

 private:
  // The signed dual variable of a sample is the sum of sign alpha + shift over its variables, which
  // lie between 0 and `upper`.
  struct Term {
    double sign, target, upper, shift = 0.0;
  };
  Term term(index_t i, int copy) const {
    const double y = problem_.y[i], C = problem_.C[i];
    if (is_absolute_) return {1.0, y, 2.0 * C, -C};
    if (n_copies_ == 1) return {y, 1.0, C};
    return copy == 0 ? Term{1.0, y - problem_.epsilon, C} : Term{-1.0, -y - problem_.epsilon, C};
  }

  // f(i, variable, term, z) for the variables of the samples [begin, end) that count.
  template <class F> void for_variables(index_t begin, index_t end, const F& f) {
    for (index_t i = begin; i < end; ++i) {
      if (problem_.C[i] == 0.0) continue;
      for (int copy = 0; copy < n_copies_; ++copy) {
        const Term t = term(i, copy);
        f(i, variables_[i * n_copies_ + copy], t, t.target - t.sign * values_[i]);
      }
    }
  }

  // Within the box, with multipliers of the size of z.
  void begin() {
    double sum = 0.0;
    const auto n = static_cast<index_t>(problem_.y.size());
    for_variables(0, n, [&](index_t, const Variable&, const Term&, double z) {
      sum += std::abs(z);
      ++n_variables_;
    });
    const double size = sum / static_cast<double>(n_variables_);
    for_variables(0, n, [&](index_t, Variable& v, const Term& t, double z) {
      v.alpha = (is_absolute_ ? 0.5 : kStart) * t.upper;
      v.room = t.upper - v.alpha;
      v.lambda = std::max(-z, 0.0) + size;
      v.xi = std::max(z, 0.0) + size;
    });
  }

  // Takes the step (of which 0 changes nothing); then mu, the primal objective and the gap there.
  void evaluate() override {
    const double step = std::exchange(length_, 0.0);
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      if (step != 0.0) weights_[k] += step * direction_[k];
      imbalance_[k] *= 1.0 - step;
    }
    struct Sums {
      double loss = 0.0, gap = 0.0, complementarity = 0.0;
    };
    std::vector<Sums> parts(static_cast<std::size_t>(passes_.n_parts()));
    passes_.for_parts([&](index_t begin, index_t end, index_t part) {
      for (index_t i = begin; i < end; ++i) values_[i] += step * value_steps_[i];
      Sums sums;
      for_variables(begin, end, [&](index_t, Variable& v, const Term& t, double z) {
        const Steps steps = steps_of(v, target_mu_, v.alpha_step);
        if (step != 0.0) {
          v.alpha += step * steps.alpha;
          v.room -= step * steps.alpha;
          v.lambda += step * steps.lambda;
          v.xi += step * steps.xi;
        }
        const double loss = t.upper * std::max(z, 0.0);
        sums.loss += loss + t.shift * z;
        sums.gap += loss - v.alpha * z;
        sums.complementarity += v.complementarity();
      });
      parts[part] = sums;
    });
    objective_ = gap_ = complementarity_ = 0.0;
    for (const Sums& sums : parts) {
      objective_ += sums.loss;
      gap_ += sums.gap;
      complementarity_ += sums.complementarity;
    }
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      const double miss = imbalance_[k];
      objective_ += 0.5 * ridge(k) * weights_[k] * weights_[k];
      gap_ += ridge(k) > 0.0 ? 0.5 * miss * miss / ridge(k) : std::abs(miss * weights_[k]);
    }
  }

  double mu() const { return complementarity_ / static_cast<double>(2 * n_variables_); }

  bool step() override {
    stagnation_.count(mu(), gap_);
    if (stagnation_.is_stalled() || !predict()) return false;
    length_ = correct();
    return length_ > kLeastStep;
  }

  // The affine step, towards mu = 0, which gives target_mu_ and the terms of second order.
  bool predict() {
    gram_.clear();
    std::vector<double> sum;
    passes_.run({.body = [&](index_t begin, index_t end, index_t) { weigh(begin, end); },
                 .sums = {{coef_, &sum}, {second_coef_, &right_side_}},
                 .gram_weights = row_weights_,
                 .gram = &gram_});
    for (std::size_t k = 0; k < sum.size(); ++k) {
      imbalance_[k] = sum[k] - ridge(k) * weights_[k];
      right_side_[k] += imbalance_[k];
    }
    if (!system_.factor(gram_)) return false;
    direction_ = right_side_;
    system_.solve(direction_);

    std::vector<Prediction> parts(static_cast<std::size_t>(passes_.n_parts()));
    std::vector<double> curvature, centring;
    passes_.run({.weights = direction_,
                 .products = value_steps_,
                 .body = [&](index_t begin, index_t end,
                             index_t part) { parts[part] = predict(begin, end, parts[part]); },
                 .sums = {{coef_, &curvature}, {second_coef_, &centring}}});
    Prediction all;
    for (const Prediction& part : parts) {
      all.longest = std::min(all.longest, part.longest);
      all.slope += part.slope;
      all.curvature += part.curvature;
    }
    const double left =
        1.0 + all.longest * (all.slope + all.longest * all.curvature) / complementarity_;
    target_mu_ = mu() * std::pow(std::clamp(left, 0.0, 1.0), 3);
    for (std::size_t k = 0; k < right_side_.size(); ++k)
      right_side_[k] += curvature[k] + target_mu_ * centring[k];
    return true;
  }

  // The weights d, and the coefficients of w~ and of the affine right-hand side.
  void weigh(index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) row_weights_[i] = coef_[i] = second_coef_[i] = 0.0;
    for_variables(begin, end, [&](index_t i, Variable& v, const Term& t, double z) {
      v.weight = 1.0 / std::max(v.lambda / v.alpha + v.xi / v.room, kLeastCurvature);
      v.curve_lambda = v.curve_xi = 0.0;
      row_weights_[i] += v.weight;
      coef_[i] += t.sign * v.alpha + t.shift;
      second_coef_[i] += t.sign * v.weight * z;
    });
  }

  // How the sum of all alpha lambda + room xi changes along the affine step, and how long it is.
  struct Prediction {
    double longest = 1.0, slope = 0.0, curvature = 0.0;
  };
  Prediction predict(index_t begin, index_t end, Prediction sums) {
    for (index_t i = begin; i < end; ++i) coef_[i] = second_coef_[i] = 0.0;
    for_variables(begin, end, [&](index_t i, Variable& v, const Term& t, double z) {
      const double alpha_step = v.weight * (z - t.sign * value_steps_[i]);
      const Steps steps = steps_of(v, 0.0, alpha_step);
      sums.longest = longest_step(v, steps, sums.longest);
      v.curve_lambda = steps.alpha * steps.lambda;
      v.curve_xi = steps.alpha * steps.xi;
      sums.slope +=
          v.alpha * steps.lambda + v.lambda * steps.alpha + v.room * steps.xi - v.xi * steps.alpha;
      sums.curvature += v.curve_lambda - v.curve_xi;
      const double by = t.sign * v.weight;
      coef_[i] -= by * (v.curve_lambda / v.alpha + v.curve_xi / v.room);
      second_coef_[i] += by * (1.0 / v.alpha - 1.0 / v.room);
    });
    return sums;
  }

  // The corrected step; returns its length, 0 when it is not finite.
  double correct() {
    direction_ = right_side_;
    system_.solve(direction_);
    for (const double d : direction_)
      if (!std::isfinite(d)) return 0.0;
    std::vector<double> longest(static_cast<std::size_t>(passes_.n_parts()), 1.0 / kToBoundary);
    passes_.run({.weights = direction_,
                 .products = value_steps_,
                 .body = [&](index_t begin, index_t end, index_t part) {
                   for_variables(begin, end, [&](index_t i, Variable& v, const Term& t, double z) {
                     const double goal = z + (target_mu_ - v.curve_lambda) / v.alpha -
                                         (target_mu_ + v.curve_xi) / v.room;
                     v.alpha_step = v.weight * (goal - t.sign * value_steps_[i]);
                     const Steps steps = steps_of(v, target_mu_, v.alpha_step);
                     longest[part] = longest_step(v, steps, longest[part]);
                   });
                 }});
    return kToBoundary * *std::min_element(longest.begin(), longest.end());
  }

  LinearSolution certificate() override {
    std::vector<double> beta(problem_.y.size(), 0.0);
    for_variables(0, static_cast<index_t>(beta.size()),
                  [&](index_t i, const Variable& v, const Term& t, double) {
                    beta[i] += t.sign * v.alpha + t.shift;
                  });
    return certify(problem_, intercept_, passes_, weights_, std::move(beta), options_.tol);
  }

  index_t n_free() const override { return n_variables_; }

  bool is_absolute_; // the loss is |y - f|
  int n_copies_;     // variables of a sample
  NewtonSystem system_;
  WeightedGram gram_;
  std::vector<double> direction_, right_side_;
  std::vector<double> imbalance_;            // sum_j s_j alpha_j x~_j - R w~
  std::vector<double> values_, value_steps_; // f, and what it changes by along the direction
  std::vector<double> row_weights_, coef_, second_coef_;
  std::vector<Variable> variables_; // those of one sample side by side
  index_t n_variables_ = 0;
  double length_ = 0.0; // of the step that is to be taken
  double target_mu_ = 0.0, complementarity_ = 0.0;
  StepStagnation stagnation_{20, 0.9, 0.9}; // of mu and the gap
};

} // namespace

LinearSolution solve_interior_point(const LinearProblem& problem, const LinearOptions& options,
                                    Control& control) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return InteriorPoint(problem, options, control).run();
}

} // namespace maxmargin::linear
