#pragma once

#include "data/sample_rows.hpp"
#include "solver/dual_state.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace maxmargin {

// Conjugate gradients on the free variables of a linear problem's dual, those inside their boxes
// (and, with epsilon, not at 0): on this face the objective is quadratic. Where coordinate descent
// creeps because the free variables are strongly coupled, this moves them together; its rate
// depends on the square root of the condition number (More and Toraldo 1991 alternate the two in
// this way, with gradient projection for the coordinate passes).
//
// The point that it finds is projected onto the box, and the segment towards it, which is feasible,
// is followed to its least objective.
template <class Rows> class FaceDescent {
 public:
  explicit FaceDescent(DualState<Rows>& state) : state_(state) {}

  // Makes at most `most_steps` steps on the free ones of the given coordinates, each at the cost of
  // about a pass over them, and returns by how much the objective falls. poll() is called for every
  // row, and ends the steps by returning true.
  template <class Poll>
  double run(std::span<const index_t> candidates, int most_steps, const Poll& poll) {
    gather(candidates);
    if (free_.empty()) return 0.0;
    const std::size_t n = free_.size();
    step_.assign(n, 0.0);
    precondition();
    direction_ = preconditioned_;
    double square = dot(residual_, preconditioned_);
    const double first = square;
    for (int k = 0; k < most_steps && square > kAccuracy * first; ++k) {
      if (!multiply(direction_, poll)) return 0.0;
      const double curvature = dot(direction_, product_);
      if (!(curvature > 0.0)) break;
      const double length = square / curvature;
      for (std::size_t t = 0; t < n; ++t) {
        step_[t] += length * direction_[t];
        residual_[t] -= length * product_[t];
      }
      precondition();
      const double next = dot(residual_, preconditioned_);
      for (std::size_t t = 0; t < n; ++t)
        direction_[t] = preconditioned_[t] + next / square * direction_[t];
      square = next;
    }
    return follow();
  }

 private:
  // Of the squared residual at the start.
  static constexpr double kAccuracy = 1e-6;

  static bool is_free(const DualCoordinate& c) {
    return c.beta > c.lower && c.beta < c.upper && (c.epsilon == 0.0 || c.beta != 0.0);
  }

  void gather(std::span<const index_t> candidates) {
    free_.clear();
    gradient_.clear();
    for (const index_t k : candidates) {
      const DualCoordinate& c = state_.coordinates[k];
      if (!is_free(c)) continue;
      free_.push_back(k);
      const double slope = c.ridge * c.beta - state_.residual(c);
      gradient_.push_back(slope + (c.beta > 0.0 ? c.epsilon : -c.epsilon));
    }
    residual_.resize(gradient_.size());
    std::transform(gradient_.begin(), gradient_.end(), residual_.begin(), std::negate<>());
  }

  void precondition() {
    preconditioned_.resize(residual_.size());
    for (std::size_t t = 0; t < free_.size(); ++t)
      preconditioned_[t] = residual_[t] * state_.coordinates[free_[t]].inverse_curvature;
  }

  static double dot(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }

  // The change of w, and of the bias's weight, that belongs to a step.
  void sum_rows(const std::vector<double>& step) {
    w_.assign(state_.w.size(), 0.0);
    double sum = 0.0;
    for (std::size_t t = 0; t < free_.size(); ++t) {
      if (t + kRowsAhead < free_.size()) state_.rows.fetch(sample(t + kRowsAhead));
      if (step[t] == 0.0) continue;
      state_.rows.add(sample(t), step[t], w_.data());
      sum += step[t];
    }
    bias_weight_ = state_.bias_scale * sum;
  }

  // product_ becomes the Hessian times x.
  template <class Poll> bool multiply(const std::vector<double>& x, const Poll& poll) {
    sum_rows(x);
    product_.resize(x.size());
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (poll()) return false;
      if (t + kRowsAhead < free_.size()) state_.rows.fetch(sample(t + kRowsAhead));
      product_[t] = state_.rows.dot(sample(t), w_.data()) + state_.bias_scale * bias_weight_ +
                    state_.coordinates[free_[t]].ridge * x[t];
    }
    return true;
  }

  double follow() {
    double slope = 0.0, ridges = 0.0;
    for (std::size_t t = 0; t < free_.size(); ++t) {
      const DualCoordinate& c = state_.coordinates[free_[t]];
      const double low = c.epsilon > 0.0 && c.beta > 0.0 ? 0.0 : c.lower;
      const double high = c.epsilon > 0.0 && c.beta < 0.0 ? 0.0 : c.upper;
      step_[t] = std::clamp(c.beta + step_[t], low, high) - c.beta;
      slope += gradient_[t] * step_[t];
      ridges += c.ridge * step_[t] * step_[t];
    }
    if (!(slope < 0.0)) return 0.0;
    sum_rows(step_);
    const double curvature = dot(w_, w_) + bias_weight_ * bias_weight_ + ridges;
    const double length = curvature > 0.0 ? std::min(1.0, -slope / curvature) : 1.0;
    for (std::size_t t = 0; t < free_.size(); ++t)
      state_.coordinates[free_[t]].beta += length * step_[t];
    for (std::size_t j = 0; j < w_.size(); ++j) state_.w[j] += length * w_[j];
    state_.bias_weight += length * bias_weight_;
    return -length * (slope + 0.5 * length * curvature);
  }

  index_t sample(std::size_t t) const { return state_.coordinates[free_[t]].sample; }

  DualState<Rows>& state_;
  std::vector<index_t> free_;
  std::vector<double> gradient_, residual_, preconditioned_, direction_, product_, step_;
  std::vector<double> w_;
  double bias_weight_ = 0.0;
};

} // namespace maxmargin
