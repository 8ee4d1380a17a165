#include "solver/coordinate_descent.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/sample_rows.hpp"
#include "solver/dual_state.hpp"
#include "solver/face_descent.hpp"
#include "solver/lost_passes.hpp"
#include "solver/turn.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace maxmargin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;
// What a pass meets of the gap is more than what is left of it afterwards, by about this factor.
constexpr double kFirstOvershoot = 2.0, kMostOvershoot = 8.0;
// Where this many passes have not halved what they meet of the gap, conjugate gradients take steps.
constexpr index_t kPatience = 20;
constexpr int kFaceSteps = 20;
constexpr double kLeastCurvature = 1e-200;
// Passes after which w is summed up anew, so that the rounding of updates does not add up.
constexpr index_t kPassesPerSum = 50;

// The b at which sum_i C_i |y_i - b| is least.
double weighted_median(const LinearProblem& problem) {
  std::vector<index_t> order = identity_order(static_cast<index_t>(problem.y.size()));
  std::sort(order.begin(), order.end(),
            [&](index_t i, index_t j) { return problem.y[i] < problem.y[j]; });
  const double total = std::accumulate(problem.C.begin(), problem.C.end(), 0.0);
  double sum = 0.0;
  for (const index_t i : order) {
    sum += problem.C[i];
    if (sum > 0.0 && sum >= 0.5 * total) return problem.y[i];
  }
  return 0.0;
}

template <class Rows> class CoordinateDescent {
 public:
  CoordinateDescent(const Rows& rows, index_t n_features, const LinearProblem& problem,
                    const LinearOptions& options, index_t rows_per_poll, Control& control)
      : state_{rows, {}, {}}, options_(options), random_(options.seed),
        n_samples_(n_rows(problem.X)), rows_per_poll_(rows_per_poll), control_(control) {
    state_.w.assign(static_cast<std::size_t>(n_features), 0.0);
    is_bias_free_ = std::isinf(problem.intercept_scaling);
    // A bias far off would take many rounds.
    if (is_bias_free_ && is_insensitive(problem.loss)) state_.offset = weighted_median(problem);
    place_coordinates(problem);
    state_.sum_up();
    active_ = identity_order(static_cast<index_t>(state_.coordinates.size()));
    turns_.resize(active_.size());
  }

  LinearSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultPasses : options_.max_iter;
    index_t marked_at = 0;
    double marked_gap = kInfinity;
    while (n_iter_ < max_iter) {
      const Pass seen = pass();
      if (is_late_) return unfinished(StopReason::time_limit);
      const bool is_lost = lost_.count(seen.decrease, dual_);
      bool creeps = false;
      if (n_iter_ - marked_at >= kPatience) {
        creeps = seen.gap > 0.5 * marked_gap;
        marked_at = n_iter_;
        marked_gap = seen.gap;
      }
      if (is_lost || seen.gap <= overshoot_ * options_.tol * -dual_) {
        if (is_bias_free_) move_bias();
        if (check()) return solution(StopReason::converged);
        if (lost_.are_in_vain(gap_)) return solution(StopReason::stalled);
        overshoot_ = std::clamp(0.9 * seen.gap / gap_, 1.0, kMostOvershoot);
      }
      if (creeps) dual_ -= face_.run(active_, kFaceSteps, [&] { return poll(); });
    }
    return unfinished(StopReason::max_iter);
  }

 private:
  struct Pass {
    double gap = 0.0;       // as met on the way
    double decrease = 0.0;  // of the dual objective
    double violation = 0.0; // the greatest
  };

  void place_coordinates(const LinearProblem& problem) {
    std::vector<double> square_norms;
    for (index_t i = 0; i < n_samples_; ++i) {
      if (problem.C[i] == 0.0) continue;
      DualCoordinate c(problem, i);
      if (!options_.start.empty()) c.beta = std::clamp(options_.start[i], c.lower, c.upper);
      state_.coordinates.push_back(c);
      square_norms.push_back(state_.rows.square_norm(i));
    }
    const double sum = std::accumulate(square_norms.begin(), square_norms.end(), 0.0);
    const double mean = sum / std::max(1.0, static_cast<double>(square_norms.size()));
    state_.bias_scale = !is_bias_free_ ? problem.intercept_scaling
                        : mean > 0.0   ? std::sqrt(mean)
                                       : 1.0;
    const double of_bias = state_.bias_scale * state_.bias_scale;
    for (std::size_t k = 0; k < square_norms.size(); ++k) {
      DualCoordinate& c = state_.coordinates[k];
      c.inverse_curvature = 1.0 / std::max(square_norms[k] + of_bias + c.ridge, kLeastCurvature);
    }
  }

  Pass pass() {
    ++n_iter_;
    find_due();
    Pass seen;
    for (std::size_t t = 0; t < due_.size(); ++t) {
      if (poll()) break;
      fetch_ahead(t);
      const index_t k = due_[t];
      DualCoordinate& c = state_.coordinates[k];
      const double u = state_.residual(c);
      const double rest = c.rest(u);
      if (rest > shrink_above_) {
        turns_[k].set_aside();
        continue;
      }
      seen.gap += c.gap(u);
      turns_[k].doze(rest > 0.0, n_iter_);
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
    const double before = c.beta, step = c.minimiser(u) - before;
    if (step == 0.0) return 0.0;
    if (!std::isfinite(step)) throw NumericError("the dual variables overflow");
    state_.move(c, step);
    const double slope = c.ridge * before - u;
    return -step * (slope + 0.5 * step / c.inverse_curvature) -
           c.epsilon * (std::abs(c.beta) - std::abs(before));
  }

  // Those whose turn it is, in random order.
  void find_due() {
    due_.clear();
    std::erase_if(active_, [&](index_t k) {
      if (turns_[k].next <= n_iter_) due_.push_back(k);
      return turns_[k].is_aside();
    });
    random_.shuffle(due_);
  }

  void fetch_ahead(std::size_t t) const {
    if (t + 2 * kRowsAhead < due_.size())
      __builtin_prefetch(&state_.coordinates[due_[t + 2 * kRowsAhead]]);
    if (t + kRowsAhead < due_.size())
      state_.rows.fetch(state_.coordinates[due_[t + kRowsAhead]].sample);
  }

  // Evaluates the objectives over all samples, and takes back those set aside that may have to
  // move. Returns whether the gap is small enough.
  bool check() {
    if (n_iter_ - summed_at_ >= kPassesPerSum) {
      state_.sum_up();
      summed_at_ = n_iter_;
    }
    double losses = 0.0, conjugates = 0.0;
    gap_ = 0.0;
    active_.clear();
    for (std::size_t k = 0; k < state_.coordinates.size(); ++k) {
      poll();
      if (k + kRowsAhead < state_.coordinates.size())
        state_.rows.fetch(state_.coordinates[k + kRowsAhead].sample);
      const DualCoordinate& c = state_.coordinates[k];
      const double u = state_.residual(c);
      losses += c.loss(u);
      conjugates += c.conjugate();
      gap_ += c.gap(u);
      const double rest = c.rest(u);
      if (rest <= shrink_above_) active_.push_back(static_cast<index_t>(k));
      if (rest < 0.0 || turns_[k].is_aside()) turns_[k] = {};
    }
    const double penalty = state_.half_square_norm();
    primal_ = penalty + losses;
    dual_ = penalty + conjugates;
    if (!std::isfinite(primal_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
    return gap_ <= options_.tol * primal_;
  }

  // The bias takes over what its penalised part has reached, and the sum of beta becomes 0 by
  // scaling the heavier side down.
  void move_bias() {
    const double bias = state_.bias();
    double positive = 0.0, negative = 0.0;
    for (const DualCoordinate& c : state_.coordinates)
      (c.beta > 0.0 ? positive : negative) += c.beta;
    const double excess = positive + negative;
    const double heavier = excess > 0.0 ? positive : negative;
    for (DualCoordinate& c : state_.coordinates)
      if (c.beta * excess > 0.0) state_.move(c, -c.beta * (excess / heavier));
    state_.offset = bias;
    state_.bias_weight = 0.0;
  }

  // Called for every row read. Returns whether time is up.
  bool poll() {
    if (--until_poll_ > 0) return false;
    until_poll_ = rows_per_poll_;
    control_.poll([&] {
      return Progress{n_iter_, 0.0, static_cast<index_t>(active_.size()), 0, 0.0, gap_ / primal_};
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
    result.separator = {state_.w, state_.bias()};
    result.beta.assign(static_cast<std::size_t>(n_samples_), 0.0);
    for (const DualCoordinate& c : state_.coordinates) result.beta[c.sample] = c.beta;
    result.set_bounds(primal_, gap_);
    result.n_iter = n_iter_;
    result.seconds = control_.seconds() - begun_;
    result.stop_reason = reason;
    return result;
  }

  DualState<Rows> state_;
  FaceDescent<Rows> face_{state_};
  const LinearOptions& options_;
  Random random_;
  index_t n_samples_;
  index_t rows_per_poll_;
  index_t until_poll_ = 0;
  std::vector<index_t> active_; // coordinates that are not set aside, ascending
  std::vector<Turn> turns_;     // by coordinate
  std::vector<index_t> due_;
  bool is_bias_free_ = false;
  // As last evaluated; dual_ is also kept up to date by the passes.
  double gap_ = 1.0, primal_ = 1.0, dual_ = 0.0;
  LostPasses lost_;
  double overshoot_ = kFirstOvershoot;
  double shrink_above_ = kInfinity;
  index_t n_iter_ = 0, summed_at_ = 0;
  bool is_late_ = false;
  Control& control_;
  double begun_ = control_.seconds();
};

} // namespace

LinearSolution solve_coordinate_descent(const CompactSamples& samples, const LinearProblem& problem,
                                        const LinearOptions& options, Control& control) {
  const index_t rows_per_poll = 1 + kPollElements / (16 + samples.row_elements());
  LinearSolution solution = samples.visit([&](const auto& rows) {
    return CoordinateDescent(rows, samples.n_features(), problem, options, rows_per_poll, control)
        .run();
  });
  solution.separator.w = samples.original(solution.separator.w);
  return solution;
}

LinearSolution solve_coordinate_descent(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control) {
  return solve_coordinate_descent(CompactSamples(problem.X, options.threads), problem, options,
                                  control);
}

} // namespace maxmargin
