#include "solver/crammer_singer.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/sample_rows.hpp"
#include "solver/coordinate_descent.hpp"
#include "solver/joint_weights.hpp"
#include "solver/lost_passes.hpp"
#include "solver/turn.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace maxmargin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;
// What a pass meets of the gap is more than what is left of it afterwards, by about this factor.
constexpr double kFirstOvershoot = 2.0, kMostOvershoot = 8.0;
// Passes after which w is summed up anew, so that the rounding of updates does not add up.
constexpr index_t kPassesPerSum = 50;

// The theta at which the sum of max(0, values - theta) is `total` > 0; the greatest of the values,
// where rounding leaves none above it. Every round but the last drops values that are not above
// theta, so that it ends even where rounding lets theta fall.
double simplex_threshold(std::span<const double> values, double total) {
  double theta = -kInfinity;
  std::size_t n_before = values.size() + 1;
  while (true) {
    double sum = 0.0;
    std::size_t n_above = 0;
    for (const double value : values) {
      if (value <= theta) continue;
      sum += value;
      ++n_above;
    }
    if (n_above >= n_before || n_above == 0) return theta;
    theta = (sum - total) / static_cast<double>(n_above);
    n_before = n_above;
  }
}

template <class Rows> class JointDescent {
 public:
  JointDescent(const Rows& rows, index_t n_features, const JointProblem& problem,
               const LinearOptions& options, index_t rows_per_poll, Control& control)
      : rows_(rows), problem_(problem), options_(options), random_(options.seed),
        n_classes_(problem.n_classes), rows_per_poll_(rows_per_poll),
        weights_(rows, n_features, problem.n_classes, problem.intercept_scaling),
        gradient_(static_cast<std::size_t>(problem.n_classes)), raised_(gradient_),
        control_(control) {
    place_samples();
    sum_up();
  }

  JointSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultPasses : options_.max_iter;
    while (n_iter_ < max_iter) {
      const Pass seen = pass();
      if (is_late_) return unfinished(StopReason::time_limit);
      const bool is_lost = lost_.count(seen.decrease, dual_);
      if (!is_lost && seen.gap > overshoot_ * options_.tol * -dual_) continue;
      if (check()) return solution(StopReason::converged);
      if (lost_.are_in_vain(gap_)) return solution(StopReason::stalled);
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

  // How a sample stands to the optimality condition, that only classes of the greatest gradient
  // have a share of it.
  struct Standing {
    double greatest = -kInfinity; // gradient
    double gap = 0.0;
    double violation = 0.0;  // how far a class with a share falls short of the greatest
    double lead = kInfinity; // of the greatest over those without a share
    index_t n_sharing = 0;

    // Whether all is left to one class, and no other is as close as that.
    bool rests_beyond(double distance) const {
      return n_sharing == 1 && violation == 0.0 && lead > distance;
    }
  };

  double* shares(index_t i) { return &shares_[i * n_classes_]; }

  void place_samples() {
    const auto n = static_cast<index_t>(problem_.y.size());
    shares_.assign(static_cast<std::size_t>(n * n_classes_), 0.0);
    curvature_.assign(static_cast<std::size_t>(n), 0.0);
    turns_.resize(static_cast<std::size_t>(n));
    const double of_bias = problem_.intercept_scaling * problem_.intercept_scaling;
    for (index_t i = 0; i < n; ++i) {
      const double C = problem_.C[i];
      if (C == 0.0) continue;
      samples_.push_back(i);
      curvature_[i] = rows_.square_norm(i) + of_bias;
      share_out(i);
    }
    active_ = samples_;
  }

  // All to the sample's own class, but for what a start has given to the others.
  void share_out(index_t i) {
    double* share = shares(i);
    const double C = problem_.C[i];
    double given = 0.0;
    if (!options_.start.empty()) {
      const double* beta = &options_.start[i * n_classes_];
      const double before = beta[problem_.y[i]];
      const double factor = before > C ? C / before : 1.0;
      for (index_t m = 0; m < n_classes_; ++m)
        if (m != problem_.y[i]) given += share[m] = std::max(0.0, -factor * beta[m]);
    }
    share[problem_.y[i]] = std::max(0.0, C - given);
  }

  double beta(index_t i, index_t m) {
    return (m == problem_.y[i] ? problem_.C[i] : 0.0) - shares(i)[m];
  }

  // The weights from the shares, without the rounding of many steps.
  void sum_up() {
    weights_.clear();
    for (const index_t i : samples_) {
      steps_.clear();
      for (index_t m = 0; m < n_classes_; ++m)
        if (beta(i, m) != 0.0) steps_.push_back({m, beta(i, m)});
      weights_.add(i, steps_);
    }
    summed_at_ = n_iter_;
  }

  // gradient_ becomes f_m + [m != y_i], the dual objective's slope along beta_i^m.
  Standing look_at(index_t i) {
    weights_.evaluate(i, gradient_);
    for (index_t m = 0; m < n_classes_; ++m) gradient_[m] += m == problem_.y[i] ? 0.0 : 1.0;

    Standing standing;
    standing.greatest = *std::max_element(gradient_.begin(), gradient_.end());
    const double* share = shares(i);
    for (index_t m = 0; m < n_classes_; ++m) {
      const double short_of = standing.greatest - gradient_[m];
      if (share[m] == 0.0) {
        standing.lead = std::min(standing.lead, short_of);
        continue;
      }
      standing.gap += share[m] * short_of;
      standing.violation = std::max(standing.violation, short_of);
      ++standing.n_sharing;
    }
    return standing;
  }

  Pass pass() {
    ++n_iter_;
    find_due();
    Pass seen;
    for (std::size_t t = 0; t < due_.size(); ++t) {
      if (poll()) break;
      if (t + kRowsAhead < due_.size()) rows_.fetch(due_[t + kRowsAhead]);
      const index_t i = due_[t];
      const Standing standing = look_at(i);
      if (standing.rests_beyond(shrink_above_)) {
        turns_[i].set_aside();
        continue;
      }
      seen.gap += standing.gap;
      turns_[i].doze(standing.violation == 0.0, n_iter_);
      if (standing.violation == 0.0) continue;
      seen.violation = std::max(seen.violation, standing.violation);
      seen.decrease += move(i, standing.greatest);
    }
    dual_ -= seen.decrease;
    shrink_above_ = seen.violation;
    return seen;
  }

  // Minimises over the shares of sample i: they become max(0, raised - theta) / curvature. They are
  // scaled to sum up to C_i, since the difference may be lost in rounding where the curvature is
  // small. Returns by how much the dual objective falls.
  double move(index_t i, double greatest) {
    double* share = shares(i);
    const double C = problem_.C[i], curvature = curvature_[i];
    for (index_t m = 0; m < n_classes_; ++m)
      raised_[m] = gradient_[m] - greatest + curvature * share[m];
    const double theta = simplex_threshold(raised_, curvature * C);
    double total = 0.0;
    for (double& value : raised_) total += value = std::max(0.0, value - theta);
    if (!(total > 0.0)) {
      const auto first = std::max_element(gradient_.begin(), gradient_.end());
      raised_[first - gradient_.begin()] = total = 1.0;
    }
    if (!std::isfinite(total)) throw NumericError("the dual variables overflow");
    steps_.clear();
    double decrease = 0.0;
    for (index_t m = 0; m < n_classes_; ++m) {
      const double next = C * (raised_[m] / total);
      const double step = share[m] - next;
      if (step == 0.0) continue;
      share[m] = next;
      steps_.push_back({m, step});
      decrease -= step * (gradient_[m] - greatest + 0.5 * curvature * step);
    }
    weights_.add(i, steps_);
    return decrease;
  }

  // Those whose turn it is, in random order.
  void find_due() {
    due_.clear();
    std::erase_if(active_, [&](index_t i) {
      if (turns_[i].next <= n_iter_) due_.push_back(i);
      return turns_[i].is_aside();
    });
    random_.shuffle(due_);
  }

  // Evaluates the objectives over all samples, and takes back those set aside that may have to
  // move. Returns whether the gap is small enough.
  bool check() {
    if (n_iter_ - summed_at_ >= kPassesPerSum) sum_up();
    double losses = 0.0, shared = 0.0;
    gap_ = 0.0;
    active_.clear();
    for (std::size_t t = 0; t < samples_.size(); ++t) {
      poll();
      if (t + kRowsAhead < samples_.size()) rows_.fetch(samples_[t + kRowsAhead]);
      const index_t i = samples_[t], y = problem_.y[i];
      const Standing standing = look_at(i);
      losses += problem_.C[i] * (standing.greatest - gradient_[y]);
      shared += beta(i, y);
      gap_ += standing.gap;
      if (!standing.rests_beyond(shrink_above_)) active_.push_back(i);
      if (standing.violation > 0.0 || turns_[i].is_aside()) turns_[i] = {};
    }
    const double penalty = weights_.half_square_norm();
    primal_ = penalty + losses;
    dual_ = penalty - shared;
    if (!std::isfinite(primal_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
    return gap_ <= options_.tol * primal_;
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

  JointSolution unfinished(StopReason reason) {
    return solution(check() ? StopReason::converged : reason);
  }

  JointSolution solution(StopReason reason) {
    JointSolution result;
    for (index_t m = 0; m < n_classes_; ++m) result.separators.push_back(weights_.separator(m));
    result.beta.assign(shares_.size(), 0.0);
    for (const index_t i : samples_)
      for (index_t m = 0; m < n_classes_; ++m) result.beta[i * n_classes_ + m] = beta(i, m);
    result.set_bounds(primal_, gap_);
    result.n_iter = n_iter_;
    result.seconds = control_.seconds() - begun_;
    result.stop_reason = reason;
    return result;
  }

  const Rows& rows_;
  const JointProblem& problem_;
  const LinearOptions& options_;
  Random random_;
  index_t n_classes_;
  index_t rows_per_poll_;
  index_t until_poll_ = 0;
  JointWeights<Rows> weights_;
  std::vector<double> shares_;    // those of all classes for one sample after the other
  std::vector<double> curvature_; // by sample
  std::vector<Turn> turns_;
  std::vector<index_t> samples_; // those with C_i > 0
  std::vector<index_t> active_;  // those that are not set aside, ascending
  std::vector<index_t> due_;
  std::vector<double> gradient_, raised_;                // of the sample at hand, by class
  std::vector<typename JointWeights<Rows>::Step> steps_; // of beta
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

JointSolution solve_crammer_singer(const CompactSamples& samples, const JointProblem& problem,
                                   const LinearOptions& options, Control& control) {
  const index_t n_elements = samples.row_elements() * problem.n_classes;
  const index_t rows_per_poll = 1 + kPollElements / (16 + n_elements);
  JointSolution solution = samples.visit([&](const auto& rows) {
    return JointDescent(rows, samples.n_features(), problem, options, rows_per_poll, control).run();
  });
  for (LinearSeparator& separator : solution.separators)
    separator.w = samples.original(separator.w);
  return solution;
}

} // namespace maxmargin
