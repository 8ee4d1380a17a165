#include "maxmargin/linear/descent/crammer_singer.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/linear/descent/dual_descent.hpp"
#include "maxmargin/linear/descent/multiclass_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace maxmargin::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

// The dual, as DualDescent takes it: a coordinate is the block of all shares of one sample.
class MulticlassDual {
 public:
  // Only classes of the greatest gradient may have a share of the sample.
  struct Status {
    double greatest = -kInfinity; // gradient
    double gap = 0.0;
    double violation = 0.0;  // how far a class with a share falls short of the greatest
    double lead = kInfinity; // of the greatest over those without a share
    index_t n_sharing = 0;

    bool is_optimal() const { return violation == 0.0; }
    // Whether all is left to one class, and no other is as close as that.
    bool is_shrinkable(double distance) const {
      return n_sharing == 1 && violation == 0.0 && lead > distance;
    }
  };

  MulticlassDual(const AnyRows& rows, index_t n_features, index_t row_elements,
                 const MulticlassProblem& problem, std::span<const double> start)
      : rows_(rows), problem_(problem), n_classes_(problem.n_classes),
        row_elements_(row_elements * problem.n_classes),
        weights_(rows.is_sparse(), n_features, problem.n_classes, problem.intercept_scaling),
        gradient_(static_cast<std::size_t>(problem.n_classes)), raised_(gradient_) {
    shares_.assign(problem.y.size() * gradient_.size(), 0.0);
    const double of_bias = problem.intercept_scaling * problem.intercept_scaling;
    for (index_t i = 0, n = static_cast<index_t>(problem.y.size()); i < n; ++i) {
      if (problem.C[i] == 0.0) continue;
      samples_.push_back(i);
      curvature_.push_back(rows.square_norm(i) + of_bias);
      share_out(i, start);
    }
    sum_up();
  }

  index_t size() const { return static_cast<index_t>(samples_.size()); }
  index_t row_elements() const { return row_elements_; }
  void fetch_place(index_t k) const { __builtin_prefetch(&samples_[k]); }
  index_t sample(index_t k) const { return samples_[k]; }
  const AnyRows& rows() const { return rows_; }

  int check_threads() const { return 1; } // who share gradient_
  double overshoot() const { return 2.0; }

  // gradient_ becomes f_m + [m != y_i], the dual objective's slope along beta_i^m.
  template <class Rows> Status status(const Rows& rows, index_t k) {
    const index_t i = samples_[k];
    weights_.evaluate(rows, i, gradient_);
    for (index_t m = 0; m < n_classes_; ++m) gradient_[m] += m == problem_.y[i] ? 0.0 : 1.0;

    Status status;
    status.greatest = *std::max_element(gradient_.begin(), gradient_.end());
    const double* share = shares(i);
    for (index_t m = 0; m < n_classes_; ++m) {
      const double short_of = status.greatest - gradient_[m];
      if (share[m] == 0.0) {
        status.lead = std::min(status.lead, short_of);
        continue;
      }
      status.gap += share[m] * short_of;
      status.violation = std::max(status.violation, short_of);
      ++status.n_sharing;
    }
    return status;
  }
  double loss(index_t k, const Status& at) const {
    const index_t i = samples_[k];
    return problem_.C[i] * (at.greatest - gradient_[problem_.y[i]]);
  }
  double conjugate(index_t k) const { return -beta(samples_[k], problem_.y[samples_[k]]); }
  double rounding() const { return 0.0; } // not bounded
  double penalty() const { return weights_.half_square_norm(); }

  // The shares become max(0, raised - theta) / curvature. They are scaled to sum up to C_i, since
  // the difference may be lost in rounding where the curvature is small.
  template <class Rows> double move(const Rows& rows, index_t k, const Status& at) {
    const index_t i = samples_[k];
    double* share = shares(i);
    const double C = problem_.C[i], curvature = curvature_[k];
    for (index_t m = 0; m < n_classes_; ++m)
      raised_[m] = gradient_[m] - at.greatest + curvature * share[m];
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
      decrease -= step * (gradient_[m] - at.greatest + 0.5 * curvature * step);
    }
    weights_.add(rows, i, steps_);
    return decrease;
  }

  void note_place() {}
  void go_back() {}
  void settle() {}
  void save() { saved_ = separators(); }
  void restore() { is_restored_ = true; }
  void sum_up() {
    weights_.clear();
    for (const index_t i : samples_) {
      steps_.clear();
      for (index_t m = 0; m < n_classes_; ++m)
        if (beta(i, m) != 0.0) steps_.push_back({m, beta(i, m)});
      rows_.visit([&](const auto& rows) { weights_.add(rows, i, steps_); });
    }
  }

  MulticlassSolution solution(const LinearOutcome& outcome) const {
    MulticlassSolution result{outcome, {}, std::vector<double>(shares_.size(), 0.0)};
    result.separators = is_restored_ ? saved_ : separators();
    for (const index_t i : samples_)
      for (index_t m = 0; m < n_classes_; ++m) result.beta[i * n_classes_ + m] = beta(i, m);
    return result;
  }

 private:
  double* shares(index_t i) { return &shares_[i * n_classes_]; }
  std::vector<LinearSeparator> separators() const {
    std::vector<LinearSeparator> result;
    for (index_t m = 0; m < n_classes_; ++m) result.push_back(weights_.separator(m));
    return result;
  }
  double beta(index_t i, index_t m) const {
    return (m == problem_.y[i] ? problem_.C[i] : 0.0) - shares_[i * n_classes_ + m];
  }

  // All to the sample's own class, but for what a start has given to the others.
  void share_out(index_t i, std::span<const double> start) {
    double* share = shares(i);
    const double C = problem_.C[i];
    double given = 0.0;
    if (!start.empty()) {
      const double* beta = &start[i * n_classes_];
      const double before = beta[problem_.y[i]];
      const double factor = before > C ? C / before : 1.0;
      for (index_t m = 0; m < n_classes_; ++m)
        if (m != problem_.y[i]) given += share[m] = std::max(0.0, -factor * beta[m]);
    }
    share[problem_.y[i]] = std::max(0.0, C - given);
  }

  AnyRows rows_;
  const MulticlassProblem& problem_;
  index_t n_classes_;
  index_t row_elements_;
  MulticlassWeights weights_;
  std::vector<double> shares_;            // those of all classes for one sample after the other
  std::vector<index_t> samples_;          // by coordinate; those with C_i > 0
  std::vector<double> curvature_;         // by coordinate
  std::vector<double> gradient_, raised_; // of the sample last evaluated, by class
  std::vector<MulticlassWeights::Step> steps_; // of beta
  std::vector<LinearSeparator> saved_;
  bool is_restored_ = false;
};

} // namespace

MulticlassSolution solve_crammer_singer(const CompactSamples& samples,
                                        const MulticlassProblem& problem,
                                        const LinearOptions& options, Control& control) {
  optim::TimeLimit time(options.time_limit, control);
  MulticlassDual dual(samples.rows(), samples.n_features(), samples.row_elements(), problem,
                      options.start);
  const LinearOutcome outcome = DualDescent(dual, options, time).run();
  MulticlassSolution solution = dual.solution(outcome);
  solution.conclude(options.tol);
  // Weights of 0 lose 1 everywhere.
  const double at_zero = std::accumulate(problem.C.begin(), problem.C.end(), 0.0);
  if (solution.stop_reason != optim::StopReason::converged && at_zero < solution.primal_objective) {
    solution.set_bounds(at_zero, at_zero + solution.dual_objective);
    for (LinearSeparator& separator : solution.separators) {
      std::ranges::fill(separator.w, 0.0);
      separator.b = 0.0;
    }
  }
  for (LinearSeparator& separator : solution.separators)
    separator.w = samples.original(separator.w);
  return solution;
}

} // namespace maxmargin::linear
