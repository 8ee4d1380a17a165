#include "maxmargin/linear/l1/l1_interior_point.hpp"

#include "maxmargin/linear/attempts.hpp"
#include "maxmargin/linear/l1/l1_newton.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/linear/newton/second_order.hpp"
#include "maxmargin/optim/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace maxmargin::linear {
namespace {

constexpr double kToBoundary = 0.995; // a step's share of the way there (newton/interior_point.cpp)
// Likewise: a shorter one ends the steps. 300 x 290 normal samples, C = 1e4, take 40 ms with a quarter
// of it and with four times as much.
constexpr double kLeastStep = 1e-6;
constexpr double kRounding = 1e-16; // of the objective: a gap that no step makes less
constexpr double kFreeBias = 1e4; // the feature of a bias without penalty, over the greatest value
constexpr double kRidges[] = {1e-15, 1e-13, 1e-11, 1e-9};
constexpr double kMostElements = 1 << 25; // of the copy of the samples, of 8 bytes
// Of proximal Newton's method, which goes first where there are more than so many samples for a
// feature. 200 features, 2, 3 and 4 times as many normal samples, C = 1 to 1e4: where a fifth of
// the labels are flipped, it takes 33 to 490, 3 to 4 and 3 ms, and this method 20, 20 to 37 and 30
// to 53 ms; where classes are separable, 30 to 590 ms, and this method 21 to 45.
constexpr double kSamplesPerFeature = 2.0;
// Products of the matrices of its quadratics, of those that this method takes: it fails where they
// are more.
constexpr double kShareOfWork = 0.2;
constexpr double kTypicalSteps = 16.0;
// With fewer products than these proximal Newton's method alone serves, which ends at a vertex where
// weights are not unique: it takes 0.5 and 1.6 ms for 40 x 40 normal samples, C = 1 and 100, and 1.5
// and 5.2 ms for 60 x 60, where this method takes 0.7.
constexpr double kFewestProducts = 2e6;

// x > 0 and its multiplier z > 0, with x z = mu to come.
struct Pair {
  double x = 1.0, z = 1.0;
  double x_step = 0.0, z_step = 0.0, curve = 0.0; // curve: the prediction's product of both steps

  double ratio() const { return z / x; }
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

class L1InteriorPoint : public SecondOrder {
 public:
  L1InteriorPoint(const LinearProblem& problem, const LinearOptions& options, Control& control)
      : SecondOrder(problem, options, control, kDefaultL1InteriorSteps, Centring::none),
        penalties_(l1_penalties(problem, intercept_)), units_(weights_.size(), 1.0) {
    for (std::size_t i = 0; i < problem.y.size(); ++i) {
      if (problem.C[i] == 0.0) continue;
      counted_.push_back(static_cast<index_t>(i));
      inverse_curvature_.push_back(0.5 / problem.C[i]);
    }
    n_ = std::ssize(counted_);
    is_by_feature_ = n_ <= std::ssize(weights_);
    copy_samples();
    reader_.emplace(view_, InterceptFeature{}, options.threads, control, Centring::none);
    begin();
  }

 private:
  // y_i x~_ik times the unit of the weight, which has the penalty 1.
  void copy_samples() {
    const index_t width = std::ssize(weights_), d = n_cols(problem_.X);
    values_.assign(static_cast<std::size_t>(width * n_), 0.0);
    const auto at = [&](index_t i, index_t k) -> double& {
      return values_[is_by_feature_ ? k * n_ + i : i * width + k];
    };
    double largest = 1.0;
    std::visit(
        [&](const auto& X) {
          for (index_t i = 0; i < n_; ++i)
            for_nonzeros(X, counted_[i], [&](index_t k, auto x) {
              at(i, k) = problem_.y[counted_[i]] * static_cast<double>(x);
              largest = std::max(largest, std::abs(static_cast<double>(x)));
            });
        },
        problem_.X);
    if (width > d) {
      units_[d] = penalties_[d] > 0.0 ? 1.0 / penalties_[d] : kFreeBias * largest;
      for (index_t i = 0; i < n_; ++i)
        at(i, d) = problem_.y[counted_[i]] * intercept_.feature * units_[d];
    }
    view_ = is_by_feature_ ? DenseView<double>{values_.data(), width, n_}
                           : DenseView<double>{values_.data(), n_, width};
  }

  // sum_k a_k t_k by sample, and t_k.alpha by feature.
  std::vector<double> combine(const std::vector<double>& a) {
    return read(a, !is_by_feature_, alpha_.size());
  }
  std::vector<double> products(const std::vector<double>& alpha) {
    return read(alpha, is_by_feature_, units_.size());
  }
  std::vector<double> read(const std::vector<double>& a, bool is_by_row, std::size_t size) {
    std::vector<double> result(size);
    if (is_by_row)
      reader_->run({.weights = a, .products = result});
    else
      reader_->run({.sums = {{a, &result}}});
    return result;
  }

  // alpha so small that half of the way to every bound is left.
  void begin() {
    const std::size_t n = static_cast<std::size_t>(n_);
    std::vector<double> alpha(n);
    for (std::size_t i = 0; i < n; ++i) alpha[i] = std::min(1.0, 0.5 / inverse_curvature_[i]);
    std::vector<double> g = products(alpha);
    double steepest = 1.0;
    for (const double value : g) steepest = std::max(steepest, 2.0 * std::abs(value));
    const double mu =
        std::accumulate(alpha.begin(), alpha.end(), 0.0) / steepest / static_cast<double>(n);
    for (const double a : alpha) alpha_.push_back({a / steepest, mu / (a / steepest)});
    for (const double value : g) {
      const double x = value / steepest;
      below_.push_back({1.0 - x, mu / (1.0 - x)});
      above_.push_back({1.0 + x, mu / (1.0 + x)});
    }
  }

  // The sum of all x z after a share of the steps.
  double complementarity(double share) const {
    double sum = 0.0;
    for (const auto* pairs : all_)
      for (const Pair& pair : *pairs)
        sum += (pair.x + share * pair.x_step) * (pair.z + share * pair.z_step);
    return sum;
  }

  // The objectives of w = u - v, where that counts, and of alpha.
  void evaluate() override {
    std::vector<double> w(units_.size(), 0.0);
    objective_ = 0.0;
    for (std::size_t k = 0; k < w.size(); ++k) {
      if (below_[k].z > below_[k].x || above_[k].z > above_[k].x) w[k] = below_[k].z - above_[k].z;
      weights_[k] = w[k] * units_[k];
      objective_ += penalties_[k] * std::abs(weights_[k]);
    }
    const std::vector<double> f = combine(w);
    double dual = 0.0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double short_of = std::max(0.0, 1.0 - f[i]), a = alpha_[i].x;
      objective_ += short_of * short_of * 0.5 / inverse_curvature_[i];
      dual += a - 0.5 * a * a * inverse_curvature_[i];
    }
    gap_ = objective_ - dual;
  }

  LinearSolution certificate() override {
    std::vector<double> beta(problem_.y.size(), 0.0);
    for (std::size_t i = 0; i < alpha_.size(); ++i)
      beta[counted_[i]] = problem_.y[counted_[i]] * alpha_[i].x;
    return certify_l1(problem_, intercept_, passes_, penalties_, weights_, std::move(beta));
  }

  // Weights of 0 are left to the other methods.
  bool may_end() const override {
    for (std::size_t k = 0; k < weights_.size(); ++k)
      if (penalties_[k] > 0.0 && weights_[k] != 0.0) return true;
    return false;
  }

  index_t n_free() const override { return n_; }

  bool step() override {
    const double before = complementarity(0.0);
    if (!(before > kRounding * objective_) || !factor()) return false;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) pair.curve = 0.0;
    solve(0.0);
    const double left = complementarity(longest_step()) / before;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) pair.curve = pair.x_step * pair.z_step;
    const auto n_pairs = static_cast<double>(alpha_.size() + below_.size() + above_.size());
    solve(before / n_pairs * std::pow(std::clamp(left, 0.0, 1.0), 3));
    const double length = std::min(1.0, kToBoundary * longest_step());
    if (!(length > kLeastStep)) return false;
    for (auto* pairs : all_)
      for (Pair& pair : *pairs) pair.move(length);
    return true;
  }

  double longest_step() const {
    double t = 1.0 / kToBoundary;
    for (const auto* pairs : all_)
      for (const Pair& pair : *pairs) {
        if (!std::isfinite(pair.x_step + pair.z_step)) return 0.0;
        t = pair.longest(t);
      }
    return t;
  }

  bool factor() {
    sample_terms_.resize(alpha_.size());
    for (std::size_t i = 0; i < alpha_.size(); ++i)
      sample_terms_[i] = alpha_[i].ratio() + inverse_curvature_[i];
    feature_terms_.resize(below_.size());
    for (std::size_t k = 0; k < below_.size(); ++k)
      feature_terms_[k] = 1.0 / (below_[k].ratio() + above_[k].ratio());
    const std::vector<double>& diagonal = is_by_feature_ ? sample_terms_ : feature_terms_;
    std::vector<double> row_weights = is_by_feature_ ? feature_terms_ : sample_terms_;
    for (double& weight : row_weights) weight = 1.0 / weight;
    WeightedGram gram = reader_->empty_gram();
    reader_->run({.gram_weights = row_weights, .gram = &gram});
    const index_t size = gram.size();
    matrix_.resize(static_cast<std::size_t>(size * size));
    scale_.resize(diagonal.size());
    for (index_t i = 0; i < size; ++i) {
      const double* row = gram.data() + i * gram.stride();
      const double own = row[i] + diagonal[i];
      if (!std::isfinite(own)) return false;
      scale_[i] = 1.0 / std::sqrt(own);
      for (index_t j = 0; j < i; ++j) matrix_[i * size + j] = scale_[i] * row[j] * scale_[j];
      matrix_[i * size + i] = 1.0;
    }
    return std::ranges::any_of(kRidges, [&](double ridge) {
      return cholesky_.factor(matrix_.data(), size, size, ridge, options_.threads);
    });
  }

  void solve_factored(std::vector<double>& b) const {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] *= scale_[i];
    cholesky_.solve(b);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] *= scale_[i];
  }

  void solve(double mu) {
    std::vector<double> goals(below_.size());
    for (std::size_t k = 0; k < goals.size(); ++k)
      goals[k] = below_[k].goal(mu) - above_[k].goal(mu);
    std::vector<double> by = combine(goals);
    for (std::size_t i = 0; i < by.size(); ++i)
      by[i] = alpha_[i].goal(mu) + 1.0 - by[i] - alpha_[i].x * inverse_curvature_[i];
    std::vector<double> g;
    if (is_by_feature_) {
      solve_factored(by);
      g = products(by);
    } else {
      std::vector<double> scaled = by;
      for (std::size_t i = 0; i < by.size(); ++i) scaled[i] /= sample_terms_[i];
      std::vector<double> h = products(scaled);
      solve_factored(h);
      const std::vector<double> f = combine(h);
      for (std::size_t i = 0; i < by.size(); ++i) by[i] = (by[i] - f[i]) / sample_terms_[i];
      for (std::size_t k = 0; k < h.size(); ++k) h[k] *= feature_terms_[k];
      g = std::move(h);
    }
    for (std::size_t i = 0; i < by.size(); ++i) alpha_[i].set_steps(by[i], mu);
    for (std::size_t k = 0; k < g.size(); ++k) {
      below_[k].set_steps(-g[k], mu);
      above_[k].set_steps(g[k], mu);
    }
  }

  std::vector<double> penalties_;         // of the weights of x~
  std::vector<double> units_;             // of these weights, in which a weight of 1 costs 1
  std::vector<index_t> counted_;          // samples with C_i > 0
  std::vector<double> inverse_curvature_; // 1 / (2 C_i)
  index_t n_ = 0;
  bool is_by_feature_ = false; // the rows of the copy are features, and the matrix is of samples
  std::vector<double> values_; // the copy
  MatrixView view_;
  std::optional<RowPasses> reader_;         // of the copy
  std::vector<Pair> alpha_, below_, above_; // with s, u and v as multipliers
  std::vector<Pair>* const all_[3] = {&alpha_, &below_, &above_};
  std::vector<double> sample_terms_, feature_terms_; // D and 1 / W
  std::vector<double> matrix_, scale_;
  optim::Cholesky cholesky_;
};

bool suits_interior_point(const LinearProblem& problem) {
  const index_t n = n_rows(problem.X), d = n_cols(problem.X);
  return problem.loss == LinearLoss::squared_hinge && std::min(n, d) <= kMostFeatures &&
         static_cast<double>(n) * static_cast<double>(d) <= kMostElements &&
         l1_interior_products(static_cast<double>(n), static_cast<double>(d)) >= kFewestProducts;
}

} // namespace

double l1_interior_products(double n, double d) {
  const double fewer = std::min(n, d), more = std::max(n, d);
  return kTypicalSteps * fewer * fewer * (more / 2.0 + fewer / 6.0);
}

LinearSolution solve_l1_interior_point(const LinearProblem& problem, const LinearOptions& options,
                                       Control& control) {
  if (auto solution = solve_without_weights(problem)) return *std::move(solution);
  return L1InteriorPoint(problem, options, control).run();
}

LinearSolution solve_l1_by_steps(const LinearProblem& problem, const LinearOptions& options,
                                 Control& control) {
  const auto newton = [&](double most_products) {
    return [&, most_products](const LinearOptions& of_newton, const auto&...) {
      return solve_l1_newton(problem, of_newton, control, most_products);
    };
  };
  const auto n = static_cast<double>(n_rows(problem.X)), d = static_cast<double>(n_cols(problem.X));
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  if (!suits_interior_point(problem)) return newton(kUnlimited)(options);
  const auto interior = [&](const LinearOptions& of_interior, const auto&...) {
    return solve_l1_interior_point(problem, of_interior, control);
  };
  if (n_cols(problem.X) > kMostFeatures) return interior(options);
  const auto interior_first = [&](const LinearOptions& rest, const auto&...) {
    return in_turn(rest, kDefaultL1InteriorSteps, interior, newton(kUnlimited));
  };
  if (n <= kSamplesPerFeature * d) return interior_first(options);
  return in_turn(options, kDefaultL1NewtonSteps, newton(kShareOfWork * l1_interior_products(n, d)),
                 interior_first);
}

} // namespace maxmargin::linear
