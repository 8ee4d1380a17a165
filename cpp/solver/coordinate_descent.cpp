#include "solver/coordinate_descent.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "solver/dual_descent.hpp"
#include "solver/dual_state.hpp"
#include "solver/face_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace maxmargin {
namespace {

// Conjugate gradient steps at a time.
constexpr int kFaceSteps = 20;
constexpr double kLeastCurvature = 1e-200;

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

// The dual, as DualDescent takes it.
template <class Rows> class LinearDual {
 public:
  struct Standing {
    double residual = 0.0;
    double gap = 0.0;
    double violation = 0.0;

    bool is_at_rest() const { return violation < 0.0; }
    bool rests_beyond(double distance) const { return -violation > distance; }
  };

  LinearDual(const Rows& rows, index_t n_features, index_t row_elements,
             const LinearProblem& problem, std::span<const double> start)
      : state_{rows, {}, {}}, row_elements_(row_elements), n_samples_(n_rows(problem.X)) {
    state_.w.assign(static_cast<std::size_t>(n_features), 0.0);
    is_bias_free_ = std::isinf(problem.intercept_scaling);
    // A bias far off would take many rounds.
    if (is_bias_free_ && is_insensitive(problem.loss)) state_.offset = weighted_median(problem);
    place_coordinates(problem, start);
    state_.sum_up();
  }

  index_t size() const { return static_cast<index_t>(state_.coordinates.size()); }
  index_t row_elements() const { return row_elements_; }
  void fetch_place(index_t k) const { __builtin_prefetch(&state_.coordinates[k]); }
  void fetch(index_t k) const { state_.rows.fetch(state_.coordinates[k].sample); }

  Standing look_at(index_t k) const {
    const DualCoordinate& c = state_.coordinates[k];
    const double u = state_.residual(c);
    return {u, c.gap(u), -c.rest(u)};
  }
  double loss(index_t k, const Standing& at) const {
    return state_.coordinates[k].loss(at.residual);
  }
  double conjugate(index_t k) const { return state_.coordinates[k].conjugate(); }
  double penalty() const { return state_.half_square_norm(); }

  double move(index_t k, const Standing& at) {
    DualCoordinate& c = state_.coordinates[k];
    const double before = c.beta, step = c.minimiser(at.residual) - before;
    if (step == 0.0) return 0.0;
    if (!std::isfinite(step)) throw NumericError("the dual variables overflow");
    state_.move(c, step);
    const double slope = c.ridge * before - at.residual;
    return -step * (slope + 0.5 * step / c.inverse_curvature) -
           c.epsilon * (std::abs(c.beta) - std::abs(before));
  }

  template <class Late> double move_together(std::span<const index_t> active, const Late& is_late) {
    return face_.run(active, kFaceSteps, is_late);
  }

  void settle() {
    if (is_bias_free_) move_bias();
  }
  void sum_up() { state_.sum_up(); }

  LinearSolution solution(const LinearOutcome& outcome) const {
    std::vector<double> beta(static_cast<std::size_t>(n_samples_), 0.0);
    for (const DualCoordinate& c : state_.coordinates) beta[c.sample] = c.beta;
    return {outcome, {state_.w, state_.bias()}, std::move(beta)};
  }

 private:
  void place_coordinates(const LinearProblem& problem, std::span<const double> start) {
    std::vector<double> square_norms;
    for (index_t i = 0; i < n_samples_; ++i) {
      if (problem.C[i] == 0.0) continue;
      DualCoordinate c(problem, i);
      if (!start.empty()) c.beta = std::clamp(start[i], c.lower, c.upper);
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

  DualState<Rows> state_;
  FaceDescent<Rows> face_{state_};
  index_t row_elements_;
  index_t n_samples_;
  bool is_bias_free_ = false;
};

} // namespace

LinearSolution solve_coordinate_descent(const CompactSamples& samples, const LinearProblem& problem,
                                        const LinearOptions& options, Control& control) {
  TimeLimit time(options.time_limit, control);
  LinearSolution solution = samples.visit([&](const auto& rows) {
    LinearDual dual(rows, samples.n_features(), samples.row_elements(), problem, options.start);
    const LinearOutcome outcome = DualDescent(dual, options, time).run();
    return dual.solution(outcome);
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
