#include "maxmargin/linear/l1/l1_interior_point.hpp"

#include "maxmargin/linear/newton/row_passes.hpp"
#include "maxmargin/optim/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace maxmargin::linear {
namespace {

constexpr int kMostSteps = 100;       // about thirty suffice; beyond, rounding is in the way
constexpr double kGapOfTol = 1e-3;    // of the tolerance: to separate the features that count
constexpr double kToBoundary = 0.995; // a step's share of the way there (newton/interior_point.cpp)
constexpr double kLeastStep = 1e-6;   // likewise: a shorter one ends the steps
constexpr double kFreeBias = 1e4; // the feature of a bias without penalty, over the greatest value
constexpr double kRidges[] = {1e-15, 1e-13, 1e-11, 1e-9};

// x > 0 and its multiplier z > 0, with x z = mu to come.
struct Pair {
  double x = 1.0, z = 1.0;
  double x_step = 0.0, z_step = 0.0, curve = 0.0; // curve: the prediction's product of both steps

  // What z is to become with x as it is, but for - z / x times the step of x.
  double goal(double mu) const { return (mu - curve) / x; }
  void set_steps(double step, double mu) {
    x_step = step;
    z_step = goal(mu) - z - z / x * step;
  }
  double longest(double t) const {
    if (x_step * t < -x) t = -x / x_step;
    if (z_step * t < -z) t = -z / z_step;
    return t;
  }
  void move(double t) {
    x += t * x_step;
    z += t * z_step;
  }
};

class L1InteriorPoint {
 public:
  L1InteriorPoint(const Columns& columns, const LinearProblem& problem, int threads,
                  Control& control)
      : n_features_(columns.n_features()) {
    std::vector<index_t> place(problem.y.size(), -1);
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (problem.C[i] == 0.0) continue;
      place[i] = std::ssize(inverse_curvature_);
      inverse_curvature_.push_back(0.5 / problem.C[i]);
    }
    n_ = std::ssize(inverse_curvature_);
    values_.assign(static_cast<std::size_t>((n_features_ + 1) * n_), 0.0);
    double largest = 0.0;
    for (index_t j = 0; j < n_features_; ++j)
      columns.for_entries(j, [&](index_t i, double x) {
        if (place[i] < 0) return;
        values_[j * n_ + place[i]] = problem.y[i] * x;
        largest = std::max(largest, std::abs(x));
      });
    const double bias = std::isinf(problem.intercept_scaling) ? kFreeBias * std::max(largest, 1.0)
                                                              : problem.intercept_scaling;
    for (std::size_t i = 0; i < place.size(); ++i)
      if (place[i] >= 0) values_[n_features_ * n_ + place[i]] = problem.y[i] * bias;
    view_ = DenseView<double>{values_.data(), n_features_ + 1, n_};
    passes_.emplace(view_, InterceptFeature{}, threads, control, Centring::none);
    begin();
  }

  // Whether there was time.
  bool run(double tol, optim::TimeLimit& time) {
    for (int k = 0; k < kMostSteps && !is_near(tol); ++k) {
      if (time.look()) return false;
      if (!step()) break;
    }
    return true;
  }

  std::vector<index_t> features() const {
    std::vector<index_t> found;
    for (index_t j = 0; j < n_features_; ++j)
      if (below_[j].z > below_[j].x || above_[j].z > above_[j].x) found.push_back(j);
    return found;
  }

 private:
  // sum_j a_j t_j, and t_j.alpha for every j.
  std::vector<double> combine(const std::vector<double>& a) {
    std::vector<double> sum;
    passes_->run({.sums = {{a, &sum}}});
    return sum;
  }
  std::vector<double> products(const std::vector<double>& alpha) {
    std::vector<double> result(below_.size());
    passes_->run({.weights = alpha, .products = result});
    return result;
  }

  // alpha so small that half of the way to every bound is left.
  void begin() {
    const std::size_t n = static_cast<std::size_t>(n_);
    below_.resize(static_cast<std::size_t>(n_features_) + 1);
    std::vector<double> alpha(n);
    for (std::size_t i = 0; i < n; ++i) alpha[i] = std::min(1.0, 0.5 / inverse_curvature_[i]);
    std::vector<double> g = products(alpha);
    double steepest = 1.0;
    for (const double value : g) steepest = std::max(steepest, 2.0 * std::abs(value));
    const double mu =
        std::accumulate(alpha.begin(), alpha.end(), 0.0) / steepest / static_cast<double>(n);
    for (const double a : alpha) alpha_.push_back({a / steepest, mu / (a / steepest)});
    above_ = below_;
    for (std::size_t j = 0; j < g.size(); ++j) {
      const double x = g[j] / steepest;
      below_[j] = {1.0 - x, mu / (1.0 - x)};
      above_[j] = {1.0 + x, mu / (1.0 + x)};
    }
  }

  double mu() const {
    double sum = 0.0, count = 0.0;
    for (const auto* pairs : all_) {
      for (const Pair& pair : *pairs) sum += pair.x * pair.z;
      count += static_cast<double>(pairs->size());
    }
    return sum / count;
  }

  // Whether the objectives of w = u - v and of alpha are.
  bool is_near(double tol) {
    std::vector<double> w(below_.size());
    double primal = 0.0, dual = 0.0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      w[j] = below_[j].z - above_[j].z;
      primal += std::abs(w[j]);
    }
    const std::vector<double> f = combine(w);
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double short_of = std::max(0.0, 1.0 - f[i]), a = alpha_[i].x;
      primal += short_of * short_of * 0.5 / inverse_curvature_[i];
      dual += a - 0.5 * a * a * inverse_curvature_[i];
    }
    return !(primal - dual > tol * primal);
  }

  bool step() {
    if (!factor()) return false;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) pair.curve = 0.0;
    solve(0.0);
    const double before = mu(), longest = longest_step();
    double after = 0.0, count = 0.0;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) {
        after += (pair.x + longest * pair.x_step) * (pair.z + longest * pair.z_step);
        count += 1.0;
        pair.curve = pair.x_step * pair.z_step;
      }
    solve(before * std::pow(std::clamp(after / count / before, 0.0, 1.0), 3));
    const double length = std::min(1.0, kToBoundary * longest_step());
    if (!(length > kLeastStep)) return false;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) pair.move(length);
    return true;
  }

  double longest_step() const {
    double t = 1.0 / kToBoundary;
    for (const auto* pairs : all_)
      for (const Pair& pair : *pairs) t = pair.longest(t);
    return t;
  }

  bool factor() {
    std::vector<double> weights(below_.size());
    for (std::size_t j = 0; j < weights.size(); ++j)
      weights[j] = below_[j].z / below_[j].x + above_[j].z / above_[j].x;
    WeightedGram gram = passes_->empty_gram();
    passes_->run({.gram_weights = weights, .gram = &gram});
    matrix_.resize(static_cast<std::size_t>(n_ * n_));
    scale_.resize(static_cast<std::size_t>(n_));
    for (index_t i = 0; i < n_; ++i) {
      const double* row = gram.data() + i * gram.stride();
      const double own = row[i] + alpha_[i].z / alpha_[i].x + inverse_curvature_[i];
      if (!std::isfinite(own)) return false;
      scale_[i] = 1.0 / std::sqrt(own);
      for (index_t j = 0; j < i; ++j) matrix_[i * n_ + j] = scale_[i] * row[j] * scale_[j];
      matrix_[i * n_ + i] = 1.0;
    }
    return std::ranges::any_of(
        kRidges, [&](double ridge) { return cholesky_.factor(matrix_.data(), n_, n_, ridge); });
  }

  void solve(double mu) {
    std::vector<double> goals(below_.size());
    for (std::size_t j = 0; j < goals.size(); ++j)
      goals[j] = below_[j].goal(mu) - above_[j].goal(mu);
    const std::vector<double> f = combine(goals);
    std::vector<double> by(alpha_.size());
    for (std::size_t i = 0; i < by.size(); ++i)
      by[i] = scale_[i] * (alpha_[i].goal(mu) + 1.0 - f[i] - alpha_[i].x * inverse_curvature_[i]);
    cholesky_.solve(by);
    for (std::size_t i = 0; i < by.size(); ++i) by[i] *= scale_[i];
    const std::vector<double> g = products(by);
    for (std::size_t i = 0; i < by.size(); ++i) alpha_[i].set_steps(by[i], mu);
    for (std::size_t j = 0; j < g.size(); ++j) {
      below_[j].set_steps(-g[j], mu);
      above_[j].set_steps(g[j], mu);
    }
  }

  index_t n_features_, n_ = 0;
  std::vector<double> inverse_curvature_; // 1 / (2 C_i)
  std::vector<double> values_;            // t_j one after the other, at last that of the bias
  MatrixView view_;
  std::optional<RowPasses> passes_;
  std::vector<Pair> alpha_, below_, above_; // with s, u and v as multipliers
  std::vector<Pair>* const all_[3] = {&alpha_, &below_, &above_};
  std::vector<double> matrix_, scale_;
  optim::Cholesky cholesky_;
};

} // namespace

std::vector<index_t> find_l1_features(const Columns& columns, const LinearProblem& problem,
                                      double tol, int threads, optim::TimeLimit& time,
                                      Control& control) {
  L1InteriorPoint method(columns, problem, threads, control);
  if (!method.run(kGapOfTol * tol, time)) return {};
  return method.features();
}

} // namespace maxmargin::linear
