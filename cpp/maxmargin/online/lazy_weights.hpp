#pragma once

#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace maxmargin::online {

// The state of training linear functions f_k(x) = w_k.x + b_k, from which it can go on.
struct OnlineState {
  std::vector<double> w, b; // the w_k one after the other; after the last step
  std::vector<double> average_w,
      average_b; // means over n_averaged steps; empty where not asked for
  index_t n_steps = 0;
  index_t n_averaged = 0;
  // Of an l1 penalty: what it took from each w, with its sign, and should have taken from all.
  // Empty and 0 without one.
  std::vector<double> lost;
  double due = 0.0;
};

// Weights under steps that change all of them, at the cost of the features that an example has.
//
//   w = scale v, so that the shrinking of an l2 penalty is one product;
//   sum of w over the steps = total v - u, where `total` sums up scale over the steps, and whatever
//     is added to v is added to u times the total before the step (without a penalty total is the
//     number of steps: the perceptron's w - u / T);
//   an l1 penalty takes from a weight, never beyond 0, what all weights should have lost so far
//     less what this one has lost (Tsuruoka, Tsujii and Ananiadou 2009), when it is next read.
class LazyWeights {
 public:
  struct Options {
    bool fit_intercept = true;
    bool averages = false;
    bool has_l1 = false;
  };

  LazyWeights(OnlineState start, const Options& options)
      : options_(options), n_functions_(static_cast<index_t>(start.b.size())),
        n_features_(static_cast<index_t>(start.w.size()) / std::max<index_t>(1, n_functions_)),
        v_(std::move(start.w)), b_(std::move(start.b)), n_averaged_(start.n_averaged) {
    if (options_.has_l1) {
      lost_ = std::move(start.lost);
      lost_.resize(v_.size(), 0.0);
      due_ = start.due;
    }
    if (!options_.averages) return;
    u_.assign(v_.size(), 0.0);
    u_b_.assign(b_.size(), 0.0);
    const double n = static_cast<double>(start.n_averaged);
    if (start.n_averaged == 0) return;
    for (std::size_t j = 0; j < u_.size(); ++j) u_[j] = -n * start.average_w[j];
    for (std::size_t k = 0; k < u_b_.size(); ++k) u_b_[k] = -n * start.average_b[k];
  }

  index_t n_functions() const { return n_functions_; }
  // Of a single function whose w nothing has shrunk.
  std::span<const double> weights() const { return v_; }
  double offset() const { return b_[0]; }

  template <class Rows> double value(const Rows& rows, index_t i, index_t k) const {
    return scale_ * rows.dot(i, v_.data() + k * n_features_) + b_[k];
  }

  // w_k += a x_i, and b_k += a.
  template <class Rows> void add(const Rows& rows, index_t i, index_t k, double a) {
    const double step = a / scale_;
    rows.add(i, step, v_.data() + k * n_features_);
    if (options_.fit_intercept) b_[k] += a;
    if (!options_.averages || n_new_ == 0) return;
    rows.add(i, step * total_, u_.data() + k * n_features_);
    if (options_.fit_intercept) u_b_[k] += a * static_cast<double>(n_new_);
  }

  void shrink(double factor) {
    scale_ *= factor;
    if (scale_ < kLeastScale) fold();
  }

  // The l1 penalty takes `amount` more from every weight.
  void charge(double amount) { due_ += amount; }
  template <class Rows> void settle(const Rows& rows, index_t i) {
    for (index_t k = 0; k < n_functions_; ++k)
      rows.for_columns(i, [&](index_t j) { settle(k * n_features_ + j); });
  }
  void settle_all() {
    if (!options_.has_l1) return;
    for (std::size_t e = 0; e < v_.size(); ++e) settle(static_cast<index_t>(e));
  }

  // Counts the weights as they stand in the average.
  void count() {
    total_ += scale_;
    ++n_new_;
  }

  double squared_norm() const {
    double sum = 0.0;
    for (const double x : v_) sum += x * x;
    return scale_ * scale_ * sum;
  }
  double l1_norm() const {
    double sum = 0.0;
    for (const double x : v_) sum += std::abs(x);
    return scale_ * sum;
  }

  OnlineState take(index_t n_steps) && {
    OnlineState state;
    state.n_steps = n_steps;
    const index_t n = n_averaged_ + n_new_;
    if (options_.averages) {
      state.n_averaged = n;
      state.average_w = mean(total_, v_, u_, scale_, n);
      state.average_b = mean(static_cast<double>(n_new_), b_, u_b_, 1.0, n);
    }
    for (double& x : v_) x *= scale_;
    state.w = std::move(v_);
    state.b = std::move(b_);
    state.lost = std::move(lost_);
    state.due = due_;
    return state;
  }

 private:
  static constexpr double kLeastScale = 1e-9;

  // (total x - u) / n; the last iterate where none was counted.
  static std::vector<double> mean(double total, const std::vector<double>& x,
                                  const std::vector<double>& u, double scale, index_t n) {
    std::vector<double> result(x.size());
    for (std::size_t j = 0; j < x.size(); ++j)
      result[j] = n == 0 ? scale * x[j] : (total * x[j] - u[j]) / static_cast<double>(n);
    return result;
  }

  void settle(index_t e) {
    const double w = scale_ * v_[e];
    if (w == 0.0) return;
    const double left =
        w > 0.0 ? std::max(0.0, w - (due_ + lost_[e])) : std::min(0.0, w + (due_ - lost_[e]));
    lost_[e] += left - w;
    const double change = left / scale_ - v_[e];
    if (options_.averages) u_[e] += total_ * change;
    v_[e] = left == 0.0 ? 0.0 : v_[e] + change;
  }

  // Sets scale to 1, with the same weights and the same sum over the steps.
  void fold() {
    if (options_.averages)
      for (std::size_t j = 0; j < v_.size(); ++j) u_[j] -= total_ * v_[j];
    for (double& x : v_) x *= scale_;
    total_ = 0.0;
    scale_ = 1.0;
  }

  Options options_;
  index_t n_functions_, n_features_;
  std::vector<double> v_, b_, u_, u_b_;
  std::vector<double> lost_; // by the l1 penalty, with its sign
  double scale_ = 1.0, total_ = 0.0, due_ = 0.0;
  index_t n_averaged_, n_new_ = 0; // steps averaged before, and since
};

} // namespace maxmargin::online
