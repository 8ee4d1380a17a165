#pragma once

#include "maxmargin/base/sums.hpp"
#include "maxmargin/linear/descent/dual_state.hpp"
#include "maxmargin/linear/descent/subspace_gram.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace maxmargin::linear {

// Conjugate gradients on the free variables of a linear problem's dual, those inside their boxes
// (and, with epsilon, not at 0): on this face the objective is quadratic. Where coordinate descent
// creeps because the free variables are strongly coupled, this moves them together; its rate
// depends on the square root of the condition number (More and Toraldo 1991 alternate the two in
// this way, with gradient projection for the coordinate passes).
//
// After every few steps, variables that have left their boxes are put at the bounds that they have
// passed, and stay there, while conjugate gradients begin anew on the others: on a face of strongly
// coupled variables, stopping at the first bound on the way would leave most of the way undone. The
// segment to the point that this finds is followed to its least objective. Where that is at its
// beginning, since variables that balance each other were put at different bounds, the steps are
// made again, from bound to bound.
class SubspaceCg {
 public:
  using Poll = SubspaceGram::Poll;

  SubspaceCg(DualState& state, int threads) : state_(state), threads_(threads) {}

  // Makes at most `most_steps` steps on the free ones of the given coordinates, each at the cost of
  // about a pass over them, and returns by how much the objective falls. poll() is called for every
  // row, and ends the steps by returning true.
  double run(std::span<const index_t> candidates, int most_steps, const Poll& poll) {
    if (!gather(candidates, poll) || free_.empty()) return 0.0;
    begin();
    const double goal = kAccuracy * square_of_residual();
    bool has_left = false;
    for (int k = 0; k < most_steps || (has_left && k < 2 * most_steps); k += kStepsPerRound) {
      if (!conjugate_steps(goal, poll)) return 0.0;
      has_left = hold_those_outside();
      if (has_left && !correct_residual(poll)) return 0.0;
      precondition();
      if (square_of_residual() <= goal) break;
    }
    Segment segment = measure(poll);
    if (segment.length < kShort) {
      begin();
      if (!go_from_bound_to_bound(most_steps, goal, poll)) return 0.0;
      segment = measure(poll);
    }
    return follow(segment);
  }

 private:
  // Until variables outside their boxes are held: 5, 10 and 20 take the problems of
  // coordinate_descent.cpp 685, 559 and 534 passes, in 0.19, 0.16 and 0.16 s.
  static constexpr int kStepsPerRound = 10;
  // Of the squared residual at the start: 1e-3, 1e-4 and 1e-6 take 564, 559 and 555 passes there.
  static constexpr double kAccuracy = 1e-4;
  // A curvature of no more than this share of what the variables have one by one is rounding.
  static constexpr double kFlat = 1e-10;
  static constexpr double kBeyond = 1.0 + 1e-12;
  static constexpr double kShort = 0.01; // a share of the segment that hardly pays for its steps

  // From where the variables are to step_: the share of it with the least objective, and by how
  // much that has fallen there.
  struct Segment {
    double length = 0.0, fall = 0.0;
  };

  // At the point where the variables are.
  void begin() {
    std::transform(gradient_.begin(), gradient_.end(), residual_.begin(), std::negate<>());
    step_.assign(free_.size(), 0.0);
    is_held_.assign(free_.size(), false);
    precondition();
  }

  // The objective falls on the way to any point of conjugate gradients, so that it may end early:
  // at the first bounds, where their variables are held.
  bool go_from_bound_to_bound(int most_steps, double goal, const Poll& poll) {
    for (int k = 0; k < most_steps && square_of_residual() > goal; ++k) {
      const std::vector<double> step = step_, residual = residual_;
      if (!conjugate_steps(goal, poll)) return false;
      const double share = share_within_bounds(step);
      for (std::size_t t = 0; t < free_.size(); ++t) {
        step_[t] = step[t] + share * (step_[t] - step[t]);
        residual_[t] = residual[t] + share * (residual_[t] - residual[t]);
      }
      if (!hold_those_outside()) return true;
      precondition();
    }
    return true;
  }

  // How much of the way from `step` to step_ is within the boxes; a little more, if not all of it.
  double share_within_bounds(const std::vector<double>& step) const {
    double share = 1.0;
    for (std::size_t t = 0; t < free_.size(); ++t) {
      const double way = step_[t] - step[t];
      if (way == 0.0) continue;
      const DualCoordinate& c = state_.coordinates[free_[t]];
      const auto [low, high] = bounds_of(c);
      share = std::min(share, kBeyond * ((way > 0.0 ? high : low) - c.beta - step[t]) / way);
    }
    return std::max(0.0, share);
  }

  bool conjugate_steps(double goal, const Poll& poll) {
    direction_ = preconditioned_;
    double square = square_of_residual();
    for (int k = 0; k < kStepsPerRound && square > goal; ++k) {
      if (!multiply(direction_, poll)) return false;
      const double curvature = dot(direction_, product_);
      const bool is_flat = !(curvature > kFlat * square_of_direction());
      const double length = is_flat ? length_to_bounds() : square / curvature;
      for (std::size_t t = 0; t < free_.size(); ++t) {
        step_[t] += length * direction_[t];
        residual_[t] -= length * product_[t];
      }
      if (is_flat) break;
      precondition();
      const double next = square_of_residual();
      for (std::size_t t = 0; t < free_.size(); ++t)
        direction_[t] = preconditioned_[t] + next / square * direction_[t];
      square = next;
    }
    return true;
  }

  // But for what the others contribute, the curvature along it.
  double square_of_direction() const {
    return sum_of(std::size_t{0}, free_.size(), [&](std::size_t t) {
      return direction_[t] * direction_[t] / state_.coordinates[free_[t]].inverse_curvature;
    });
  }

  // Along a direction in which the objective falls for ever, a little beyond the first bound.
  double length_to_bounds() const {
    double length = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < free_.size(); ++t) {
      if (direction_[t] == 0.0) continue;
      const auto [low, high] = bounds_of(state_.coordinates[free_[t]]);
      const double beta = state_.coordinates[free_[t]].beta + step_[t];
      length = std::min(length, ((direction_[t] > 0.0 ? high : low) - beta) / direction_[t]);
    }
    return std::isfinite(length) ? std::max(0.0, length) * kBeyond : 0.0;
  }

  // Those of the face: with epsilon, a variable keeps its sign.
  static std::pair<double, double> bounds_of(const DualCoordinate& c) {
    return {c.epsilon > 0.0 && c.beta > 0.0 ? 0.0 : c.lower,
            c.epsilon > 0.0 && c.beta < 0.0 ? 0.0 : c.upper};
  }

  // Puts variables that have left their boxes at the bounds that they have passed. Returns whether
  // there are any; direction_ then is by how much they had left.
  bool hold_those_outside() {
    bool are_any = false;
    direction_.assign(free_.size(), 0.0);
    for (std::size_t t = 0; t < free_.size(); ++t) {
      const DualCoordinate& c = state_.coordinates[free_[t]];
      const auto [low, high] = bounds_of(c);
      const double beta = c.beta + step_[t];
      if (is_held_[t] || (low <= beta && beta <= high)) continue;
      const double step = std::clamp(beta, low, high) - c.beta;
      direction_[t] = step_[t] - step;
      step_[t] = step;
      is_held_[t] = true;
      are_any = true;
    }
    return are_any;
  }

  bool correct_residual(const Poll& poll) {
    if (!multiply(direction_, poll)) return false;
    for (std::size_t t = 0; t < free_.size(); ++t) residual_[t] += product_[t];
    return true;
  }

  static bool is_free(const DualCoordinate& c) {
    return c.beta > c.lower && c.beta < c.upper && (c.epsilon == 0.0 || c.beta != 0.0);
  }

  bool gather(std::span<const index_t> candidates, const Poll& poll) {
    free_.clear();
    samples_.clear();
    gradient_.clear();
    for (const index_t k : candidates) {
      const DualCoordinate& c = state_.coordinates[k];
      if (!is_free(c)) continue;
      if (poll()) return false;
      free_.push_back(k);
      samples_.push_back(c.sample);
      const double slope = c.ridge * c.beta - state_.residual(c);
      gradient_.push_back(slope + (c.beta > 0.0 ? c.epsilon : -c.epsilon));
    }
    residual_.resize(gradient_.size());
    product_.resize(free_.size());
    if (!gram_) gram_.emplace(state_.rows, static_cast<index_t>(state_.w.size()), threads_);
    return gram_->choose(samples_, poll);
  }

  void precondition() {
    preconditioned_.resize(residual_.size());
    for (std::size_t t = 0; t < free_.size(); ++t)
      preconditioned_[t] =
          is_held_[t] ? 0.0 : residual_[t] * state_.coordinates[free_[t]].inverse_curvature;
  }

  double square_of_residual() const { return dot(residual_, preconditioned_); }

  static double dot(const std::vector<double>& x, const std::vector<double>& y) {
    return sum_of(std::size_t{0}, x.size(), [&](std::size_t k) { return x[k] * y[k]; });
  }

  // product_ becomes the Hessian times x.
  bool multiply(const std::vector<double>& x, const Poll& poll) {
    if (!gram_->multiply(x, product_, poll)) return false;
    const double of_bias = state_.bias_scale * state_.bias_scale;
    const double sum = std::accumulate(x.begin(), x.end(), 0.0);
    for (std::size_t t = 0; t < x.size(); ++t)
      product_[t] += of_bias * sum + state_.coordinates[free_[t]].ridge * x[t];
    return true;
  }

  Segment measure(const Poll& poll) {
    const double slope = dot(gradient_, step_);
    if (!(slope < 0.0) || !multiply(step_, poll)) return {};
    const double curvature = dot(step_, product_);
    const double length = curvature > 0.0 ? std::min(1.0, -slope / curvature) : 1.0;
    return {length, -length * (slope + 0.5 * length * curvature)};
  }

  double follow(const Segment& segment) {
    for (std::size_t t = 0; t < free_.size(); ++t) {
      if (t + kRowsAhead < free_.size()) state_.rows.fetch(samples_[t + kRowsAhead]);
      DualCoordinate& c = state_.coordinates[free_[t]];
      const double beta = std::clamp(c.beta + segment.length * step_[t], c.lower, c.upper);
      if (beta == c.beta) continue;
      state_.move(c, beta - c.beta);
      c.beta = beta;
    }
    return segment.fall;
  }

  DualState& state_;
  int threads_;
  std::optional<SubspaceGram> gram_;
  std::vector<index_t> free_, samples_;
  std::vector<double> gradient_, residual_, preconditioned_, direction_, product_, step_;
  std::vector<char> is_held_; // at a bound that it had passed
};

} // namespace maxmargin::linear
