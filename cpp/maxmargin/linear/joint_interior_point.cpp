#include "maxmargin/linear/joint_interior_point.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/linear/interior_point.hpp"
#include "maxmargin/linear/row_passes.hpp"
#include "maxmargin/optim/newton_system.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

namespace maxmargin::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// What a sample gives to the other classes at the start, of its C.
constexpr double kStart = 0.1;
constexpr double kToBoundary = 0.99; // of the longest step
constexpr double kLeastStep = 1e-10;
constexpr int kMostIdleSteps = 10; // without a smaller gap
constexpr double kLeastSlack = 1e-200;

// What there is of every class.
struct ClassState {
  std::vector<double> weights, direction;
  std::vector<double> miss;                // sum_i beta_i x~_i - R w~
  std::vector<double> values, value_steps; // f, and what it changes by along the direction
  std::vector<double> share, slack, share_step, slack_step;
  std::vector<double> ratio;           // share / slack
  std::vector<double> complementarity; // less its goal
  std::vector<double> coef;
};

class JointInteriorPoint {
 public:
  JointInteriorPoint(const JointProblem& problem, const LinearOptions& options, Control& control)
      : problem_(problem), options_(options), time_(options.time_limit, control), control_(control),
        threads_(thread_count(options.threads)), n_samples_(n_rows(problem.X)),
        n_classes_(problem.n_classes), intercept_(InterceptFeature::of(problem.intercept_scaling)),
        passes_(problem.X, intercept_, options.threads, control),
        system_(passes_.centre(), intercept_.feature, intercept_.ridge),
        classes_(static_cast<std::size_t>(n_classes_)),
        ratios_(static_cast<std::size_t>(n_samples_)) {
    begin();
  }

  JointSolution run() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultInteriorSteps : options_.max_iter;
    for (;; ++n_iter_) {
      evaluate();
      if (gap_ <= options_.tol * objective_) return solution(optim::StopReason::converged);
      if (n_iter_ >= max_iter) return solution(optim::StopReason::max_iter);
      if (time_.look()) return solution(optim::StopReason::time_limit);
      control_.poll([&] {
        return Progress{.n_iter = n_iter_,
                        .relative_gap = gap_ / objective_,
                        .dual_objective = gap_ - objective_,
                        .n_free = n_samples_};
      });
      if (is_idle() || !step()) return solution(optim::StopReason::stalled);
    }
  }

 private:
  double C(index_t i) const { return problem_.C[i]; }
  bool is_own(index_t m, index_t i) const { return m == problem_.y[i]; }
  double slope(index_t m, index_t i) const {
    return classes_[m].values[i] + (is_own(m, i) ? 0.0 : 1.0);
  }
  double ridge(std::size_t k) const {
    return static_cast<index_t>(k) < n_cols(problem_.X) ? 1.0 : intercept_.ridge;
  }

  // Calls use(i) for the samples that count.
  template <class Use> void for_samples(const Use& use) const {
    for (index_t i = 0; i < n_samples_; ++i)
      if (C(i) > 0.0) use(i);
  }

  void begin() {
    for (index_t pair = 0; pair < n_classes_ * (n_classes_ + 1) / 2; ++pair)
      grams_.push_back(passes_.empty_gram());
    for (index_t m = 0; m < n_classes_; ++m) {
      ClassState& c = classes_[m];
      c.weights.assign(static_cast<std::size_t>(passes_.n_weights()), 0.0);
      for (auto* v : {&c.values, &c.value_steps, &c.share, &c.slack, &c.share_step, &c.slack_step,
                      &c.ratio, &c.complementarity, &c.coef})
        v->assign(static_cast<std::size_t>(n_samples_), 0.0);
      for_samples([&](index_t i) {
        const double to_others = kStart / static_cast<double>(n_classes_ - 1);
        c.share[i] = C(i) * (is_own(m, i) ? 1.0 - kStart : to_others);
        c.slack[i] = is_own(m, i) ? 2.0 : 1.0;
        ++n_variables_;
      });
    }
  }

  // The values, what the weights miss, the primal objective and the gap. It is a sum of numbers
  // that are never negative, so that nothing cancels.
  void evaluate() {
    std::vector<RowPass::Sum> sums;
    for (index_t m = 0; m < n_classes_; ++m) {
      ClassState& c = classes_[m];
      passes_.run({.weights = c.weights, .products = c.values});
      for_samples([&](index_t i) { c.coef[i] = (is_own(m, i) ? C(i) : 0.0) - c.share[i]; });
      sums.push_back({c.coef, &c.miss});
    }
    passes_.run({.sums = sums});
    objective_ = gap_ = 0.0;
    for (ClassState& c : classes_)
      for (std::size_t k = 0; k < c.weights.size(); ++k) {
        c.miss[k] -= ridge(k) * c.weights[k];
        objective_ += 0.5 * ridge(k) * c.weights[k] * c.weights[k];
        gap_ += 0.5 * c.miss[k] * c.miss[k] / ridge(k);
      }
    for_samples([&](index_t i) {
      double greatest = -kInfinity;
      for (index_t m = 0; m < n_classes_; ++m) greatest = std::max(greatest, slope(m, i));
      objective_ += C(i) * (greatest - slope(problem_.y[i], i));
      for (index_t m = 0; m < n_classes_; ++m)
        gap_ += classes_[m].share[i] * (greatest - slope(m, i));
    });
    if (!std::isfinite(objective_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
  }

  bool is_idle() {
    if (gap_ < 0.9 * least_gap_) {
      least_gap_ = gap_;
      n_idle_ = 0;
    }
    return ++n_idle_ > kMostIdleSteps;
  }

  // Returns whether there is one.
  bool step() {
    if (!factor()) return false;
    double sum = 0.0;
    for (ClassState& c : classes_)
      for_samples([&](index_t i) { sum += c.complementarity[i] = c.share[i] * c.slack[i]; });
    find_direction();

    // How far the affine step may go tells the goal; and it tells the terms of second order.
    const double affine = std::min(1.0, longest_step());
    double left = 0.0;
    for (ClassState& c : classes_)
      for_samples([&](index_t i) {
        left += (c.share[i] + affine * c.share_step[i]) * (c.slack[i] + affine * c.slack_step[i]);
      });
    const double mu = sum / static_cast<double>(n_variables_);
    const double goal = mu * std::pow(std::clamp(left / sum, 0.0, 1.0), 3);
    for (ClassState& c : classes_)
      for_samples(
          [&](index_t i) { c.complementarity[i] += c.share_step[i] * c.slack_step[i] - goal; });
    find_direction();

    const double length = std::min(1.0, kToBoundary * longest_step());
    if (!(length > kLeastStep)) return false;
    for (ClassState& c : classes_) {
      for (std::size_t k = 0; k < c.weights.size(); ++k) c.weights[k] += length * c.direction[k];
      for_samples([&](index_t i) {
        c.share[i] += length * c.share_step[i];
        c.slack[i] = std::max(c.slack[i] + length * c.slack_step[i], kLeastSlack);
      });
    }
    return true;
  }

  bool factor() {
    std::fill(ratios_.begin(), ratios_.end(), 0.0);
    for (ClassState& c : classes_)
      for_samples([&](index_t i) { ratios_[i] += c.ratio[i] = c.share[i] / c.slack[i]; });
    const double work = static_cast<double>(n_stored(problem_.X)) *
                        static_cast<double>(n_classes_ * n_cols(problem_.X));
    parallel_for(n_classes_, thread_count_for(threads_, work), [&](index_t m, int) {
      for (index_t other = 0; other <= m; ++other) {
        control_.poll();
        sum_up(m, other, grams_[m * (m + 1) / 2 + other]);
      }
    });
    return system_.factor(grams_);
  }

  // sum_i M_i x~_i x~_i' for a pair of classes.
  void sum_up(index_t m, index_t other, WeightedGram& gram) const {
    gram.clear();
    std::visit(
        [&](const auto& X) {
          for_samples([&](index_t i) {
            const double d = classes_[m].ratio[i];
            gram.add(X, i,
                     m == other ? d * (others(m, i) / ratios_[i])
                                : -d * (classes_[other].ratio[i] / ratios_[i]));
          });
        },
        problem_.X);
    gram.flush();
  }

  // The ratios of the other classes, without cancellation.
  double others(index_t m, index_t i) const {
    double sum = 0.0;
    for (index_t other = 0; other < n_classes_; ++other)
      if (other != m) sum += classes_[other].ratio[i];
    return sum;
  }

  // The direction in which every share times its slack falls by its complementarity, to first
  // order.
  void find_direction() {
    std::vector<double> fall(ratios_.size(), 0.0); // of all shares at fixed values and theta
    for (ClassState& c : classes_)
      for_samples([&](index_t i) { fall[i] += c.complementarity[i] / c.slack[i]; });
    std::vector<std::vector<double>> right(classes_.size());
    std::vector<RowPass::Sum> sums;
    for (std::size_t m = 0; m < classes_.size(); ++m) {
      ClassState& c = classes_[m];
      for_samples([&](index_t i) {
        c.coef[i] = c.complementarity[i] / c.slack[i] - c.ratio[i] * (fall[i] / ratios_[i]);
      });
      sums.push_back({c.coef, &right[m]});
    }
    passes_.run({.sums = sums});
    std::vector<double> direction;
    for (std::size_t m = 0; m < classes_.size(); ++m)
      for (std::size_t k = 0; k < right[m].size(); ++k)
        direction.push_back(right[m][k] + classes_[m].miss[k]);
    system_.solve(direction);

    std::vector<double> rise(ratios_.size(), 0.0); // of theta, times the ratios
    auto next = direction.begin();
    for (ClassState& c : classes_) {
      c.direction.assign(next, next + passes_.n_weights());
      next += passes_.n_weights();
      passes_.run({.weights = c.direction, .products = c.value_steps});
      for_samples([&](index_t i) { rise[i] += c.ratio[i] * c.value_steps[i]; });
    }
    for (ClassState& c : classes_)
      for_samples([&](index_t i) {
        c.slack_step[i] = (rise[i] - fall[i]) / ratios_[i] - c.value_steps[i];
        c.share_step[i] = -c.complementarity[i] / c.slack[i] - c.ratio[i] * c.slack_step[i];
      });
  }

  // That leaves all shares and slacks >= 0; 0 where it is not finite.
  double longest_step() const {
    double longest = kInfinity;
    bool is_finite = true;
    for (const ClassState& c : classes_)
      for_samples([&](index_t i) {
        if (c.share_step[i] < 0.0) longest = std::min(longest, -c.share[i] / c.share_step[i]);
        if (c.slack_step[i] < 0.0) longest = std::min(longest, -c.slack[i] / c.slack_step[i]);
        is_finite = is_finite && std::isfinite(c.share_step[i]) && std::isfinite(c.slack_step[i]);
      });
    return is_finite ? longest : 0.0;
  }

  JointSolution solution(optim::StopReason reason) const {
    JointSolution result;
    result.set_bounds(objective_, gap_);
    result.n_iter = n_iter_;
    result.n_free = n_samples_;
    result.seconds = time_.seconds();
    result.stop_reason = reason;
    result.beta.assign(static_cast<std::size_t>(n_samples_ * n_classes_), 0.0);
    for (index_t m = 0; m < n_classes_; ++m) {
      const ClassState& c = classes_[m];
      const auto d = static_cast<std::ptrdiff_t>(n_cols(problem_.X));
      const double b = intercept_.feature != 0.0 ? intercept_.feature * c.weights.back() : 0.0;
      result.separators.push_back({{c.weights.begin(), c.weights.begin() + d}, b});
      for_samples([&](index_t i) {
        result.beta[i * n_classes_ + m] = (is_own(m, i) ? C(i) : 0.0) - c.share[i];
      });
    }
    return result;
  }

  const JointProblem& problem_;
  const LinearOptions& options_;
  optim::TimeLimit time_;
  Control& control_;
  int threads_;
  index_t n_samples_, n_classes_;
  InterceptFeature intercept_;
  RowPasses passes_;
  optim::NewtonSystem system_;
  std::vector<WeightedGram> grams_; // of the pairs of classes
  std::vector<ClassState> classes_;
  std::vector<double> ratios_; // sums of them, by sample
  index_t n_variables_ = 0, n_iter_ = 0;
  double objective_ = 0.0, gap_ = 0.0;
  double least_gap_ = kInfinity;
  int n_idle_ = 0;
};

} // namespace

JointSolution solve_joint_interior_point(const JointProblem& problem, const LinearOptions& options,
                                         Control& control) {
  return JointInteriorPoint(problem, options, control).run();
}

} // namespace maxmargin::linear
