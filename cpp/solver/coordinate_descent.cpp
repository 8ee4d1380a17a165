#include "solver/coordinate_descent.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/sample_rows.hpp"
#include "solver/dual_coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace maxmargin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;
// What a pass meets of the gap is more than what is left of it afterwards, by about this factor.
constexpr double kFirstOvershoot = 2.0, kMostOvershoot = 8.0;
// A pass that lowers the objective by less than this share of it is lost in rounding.
constexpr double kRounding = 1e-16;
constexpr double kLeastCurvature = 1e-200;
// Passes after which w is summed up anew, so that the rounding of updates does not add up.
constexpr index_t kPassesPerSum = 50;

template <class Rows> class CoordinateDescent {
 public:
  CoordinateDescent(const Rows& rows, const LinearProblem& problem, const LinearOptions& options,
                    index_t rows_per_poll, Control& control)
      : rows_(rows), options_(options), random_(options.seed), n_samples_(n_rows(problem.X)),
        rows_per_poll_(rows_per_poll), w_(static_cast<std::size_t>(n_cols(problem.X)), 0.0),
        control_(control) {
    coordinates_.reserve(static_cast<std::size_t>(n_samples_));
    double norms = 0.0;
    for (index_t i = 0; i < n_samples_; ++i) {
      if (problem.C[i] == 0.0) continue;
      DualCoordinate c(problem, i);
      if (!options.start.empty()) c.beta = std::clamp(options.start[i], c.lower, c.upper);
      c.inverse_curvature = rows_.square_norm(i); // for now
      norms += c.inverse_curvature;
      coordinates_.push_back(c);
    }
    is_bias_free_ = std::isinf(problem.intercept_scaling);
    const double mean = norms / std::max(1.0, static_cast<double>(coordinates_.size()));
    scale_bias(is_bias_free_ ? (mean > 0.0 ? std::sqrt(mean) : 1.0) : problem.intercept_scaling);
    sum_up();
    active_ = identity_order(static_cast<index_t>(coordinates_.size()));
    n_active_ = active_.size();
  }

  LinearSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultPasses : options_.max_iter;
    int stalled_passes = 0;
    while (n_iter_ < max_iter) {
      const Pass seen = pass();
      if (is_late_) return unfinished(StopReason::time_limit);
      const bool is_stalled = seen.decrease <= kRounding * std::abs(dual_);
      stalled_passes = is_stalled ? stalled_passes + 1 : 0;
      if (!is_stalled && seen.gap > overshoot_ * options_.tol * least_primal()) continue;
      if (is_bias_free_) move_bias();
      if (check()) return solution(StopReason::converged);
      if (stalled_passes == 2) return solution(StopReason::stalled);
      overshoot_ = std::clamp(0.9 * seen.gap / gap_, 1.0, kMostOvershoot);
    }
    return unfinished(StopReason::max_iter);
  }

 private:
  struct Pass {
    double gap = 0.0;       // as met on the way
    double decrease = 0.0;  // of the dual objective
    double violation = 0.0; // the greatest
  };

  double value_at(const DualCoordinate& c) const {
    return rows_.dot(c.sample, w_.data()) + offset_ + bias_scale_ * bias_weight_;
  }

  Pass pass() {
    ++n_iter_;
    shuffle_active();
    Pass seen;
    for (std::size_t t = 0; t < n_active_;) {
      if (--until_poll_ <= 0 && poll()) break;
      fetch_ahead(t);
      DualCoordinate& c = coordinates_[active_[t]];
      const double u = c.y - value_at(c);
      const double rest = c.rest(u);
      if (rest > shrink_above_) {
        std::swap(active_[t], active_[--n_active_]);
        continue;
      }
      ++t;
      seen.gap += c.gap(u);
      if (rest >= 0.0) continue;
      seen.violation = std::max(seen.violation, -rest);
      seen.decrease += move(c, u);
    }
    dual_ -= seen.decrease;
    shrink_above_ = seen.violation;
    return seen;
  }

  // Returns by how much the dual objective falls.
  double move(DualCoordinate& c, double u) {
    const double before = c.beta, after = c.minimiser(u);
    const double step = after - before;
    if (step == 0.0) return 0.0;
    if (!std::isfinite(step)) throw NumericError("the dual variables overflow");
    c.beta = after;
    rows_.add(c.sample, step, w_.data());
    bias_weight_ += bias_scale_ * step;
    const double slope = c.ridge * before - u;
    return -step * (slope + 0.5 * step / c.inverse_curvature) -
           c.epsilon * (std::abs(after) - std::abs(before));
  }

  void shuffle_active() {
    for (std::size_t t = n_active_; t > 1; --t)
      std::swap(active_[t - 1], active_[random_.below(t)]);
  }

  void fetch_ahead(std::size_t t) const {
    if (t + 2 * kRowsAhead < n_active_)
      __builtin_prefetch(&coordinates_[active_[t + 2 * kRowsAhead]]);
    if (t + kRowsAhead < n_active_) rows_.fetch(coordinates_[active_[t + kRowsAhead]].sample);
  }

  // Evaluates the objectives over all samples, and takes back those set aside that may have to
  // move. Returns whether the gap is small enough.
  bool check() {
    if (n_iter_ - summed_at_ >= kPassesPerSum) sum_up();
    double losses = 0.0, conjugates = 0.0;
    gap_ = 0.0;
    n_active_ = 0;
    for (std::size_t k = 0; k < coordinates_.size(); ++k) {
      if (--until_poll_ <= 0) poll();
      if (k + kRowsAhead < coordinates_.size()) rows_.fetch(coordinates_[k + kRowsAhead].sample);
      const DualCoordinate& c = coordinates_[k];
      const double u = c.y - value_at(c);
      losses += c.loss(u);
      conjugates += c.conjugate();
      gap_ += c.gap(u);
      if (c.rest(u) <= shrink_above_) active_[n_active_++] = static_cast<index_t>(k);
    }
    // Those at rest stand behind, in any order.
    std::vector<bool> is_active(coordinates_.size(), false);
    for (std::size_t t = 0; t < n_active_; ++t) is_active[active_[t]] = true;
    std::size_t rest = n_active_;
    for (std::size_t k = 0; k < coordinates_.size(); ++k)
      if (!is_active[k]) active_[rest++] = static_cast<index_t>(k);
    const double penalty = half_square_norm();
    primal_ = penalty + losses;
    dual_ = penalty + conjugates;
    if (!std::isfinite(primal_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
    return gap_ <= options_.tol * primal_;
  }

  double half_square_norm() const {
    const double square = std::inner_product(w_.begin(), w_.end(), w_.begin(), 0.0);
    return 0.5 * (square + bias_weight_ * bias_weight_);
  }
  double least_primal() const { return std::max(-dual_, 0.0); }

  void scale_bias(double scale) {
    bias_scale_ = scale;
    for (DualCoordinate& c : coordinates_)
      c.inverse_curvature =
          1.0 / std::max(c.inverse_curvature + scale * scale + c.ridge, kLeastCurvature);
  }

  void sum_up() {
    summed_at_ = n_iter_;
    std::fill(w_.begin(), w_.end(), 0.0);
    bias_weight_ = 0.0;
    for (const DualCoordinate& c : coordinates_) {
      if (c.beta == 0.0) continue;
      rows_.add(c.sample, c.beta, w_.data());
      bias_weight_ += bias_scale_ * c.beta;
    }
  }

  // The bias takes over what its penalised part has reached, and the sum of beta becomes 0 by
  // scaling the heavier side down.
  void move_bias() {
    offset_ += bias_scale_ * bias_weight_;
    double positive = 0.0, negative = 0.0;
    for (const DualCoordinate& c : coordinates_) (c.beta > 0.0 ? positive : negative) += c.beta;
    const double excess = positive + negative;
    const double heavier = excess > 0.0 ? positive : negative;
    for (DualCoordinate& c : coordinates_) {
      if (excess == 0.0 || c.beta * excess <= 0.0) continue;
      const double step = -c.beta * (excess / heavier);
      c.beta += step;
      rows_.add(c.sample, step, w_.data());
    }
    bias_weight_ = 0.0;
  }

  // Returns whether time is up.
  bool poll() {
    until_poll_ = rows_per_poll_;
    control_.poll([&] {
      return Progress{n_iter_, 0.0, static_cast<index_t>(n_active_), 0, 0.0, gap_ / primal_};
    });
    is_late_ = control_.seconds() - begun_ > options_.time_limit;
    return is_late_;
  }

  LinearSolution unfinished(StopReason reason) {
    if (is_bias_free_) move_bias();
    return solution(check() ? StopReason::converged : reason);
  }

  LinearSolution solution(StopReason reason) const {
    LinearSolution result;
    result.separator = {w_, offset_ + bias_scale_ * bias_weight_};
    result.beta.assign(static_cast<std::size_t>(n_samples_), 0.0);
    for (const DualCoordinate& c : coordinates_) result.beta[c.sample] = c.beta;
    result.primal_objective = primal_;
    result.dual_objective = gap_ - primal_;
    result.n_iter = n_iter_;
    result.seconds = control_.seconds() - begun_;
    result.stop_reason = reason;
    return result;
  }

  const Rows rows_;
  const LinearOptions& options_;
  Random random_;
  index_t n_samples_;
  index_t rows_per_poll_;
  index_t until_poll_ = 0;
  std::vector<DualCoordinate> coordinates_;
  std::vector<index_t> active_; // the first n_active_; the others are set aside
  std::size_t n_active_ = 0;
  std::vector<double> w_;
  double bias_scale_ = 0.0, bias_weight_ = 0.0; // b = offset + scale * weight
  double offset_ = 0.0;
  bool is_bias_free_ = false;
  double gap_ = 1.0, primal_ = 1.0, dual_ = 0.0; // as last evaluated; dual_ also after passes
  double overshoot_ = kFirstOvershoot;
  double shrink_above_ = kInfinity;
  index_t n_iter_ = 0, summed_at_ = 0;
  bool is_late_ = false;
  Control& control_;
  double begun_ = control_.seconds();
};

} // namespace

LinearSolution solve_coordinate_descent(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control) {
  return std::visit(
      [&](const auto& view) {
        const index_t row_elements = n_stored(view) / std::max<index_t>(1, view.rows);
        const index_t rows_per_poll = 1 + kPollElements / (16 + row_elements);
        return CoordinateDescent(rows_of(view), problem, options, rows_per_poll, control).run();
      },
      problem.X);
}

} // namespace maxmargin
