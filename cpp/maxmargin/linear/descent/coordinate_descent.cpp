#include "maxmargin/linear/descent/coordinate_descent.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/linear/descent/dual_descent.hpp"
#include "maxmargin/linear/descent/dual_state.hpp"
#include "maxmargin/linear/descent/subspace_cg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace maxmargin::linear {
namespace {

// Conjugate gradient steps at a time: 18 sparse problems (3000 x 2000 and 1500 x 8000, all losses,
// C = 0.01, 1, 100) take 698, 559 and 509 passes with 10, 20 and 40, in the same time.
constexpr int kSubspaceSteps = 20;
constexpr double kWorkOfElement = 2.0;     // multiplications that take as long
constexpr double kLeastCurvature = 1e-200; // so that its inverse is finite
// A further feature this many times as long as the samples would take all that a step can do. (Up
// to a length of 1 it does so nevertheless: the bias of tiny samples may have far to go.)
constexpr double kLongestFeature = 10.0;
// Rounds that keep the bias near its last value converge in some tens of passes, or, where samples
// are tiny and few, hardly at all.
constexpr index_t kPassesOfRounds = 500;

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

// The b at which sum_i C_i (y_i - b)^2 + ridge / 2 b^2 is least.
double weighted_mean(const LinearProblem& problem, double ridge) {
  const double total = std::accumulate(problem.C.begin(), problem.C.end(), 0.5 * ridge);
  if (!(total > 0.0) || !std::isfinite(total)) return 0.0;
  double mean = 0.0;
  for (std::size_t i = 0; i < problem.y.size(); ++i) mean += problem.C[i] / total * problem.y[i];
  return mean;
}

// The dual, as DualDescent takes it.
class LinearDual {
 public:
  struct Status {
    double residual = 0.0;
    double gap = 0.0;
    double violation = 0.0;

    bool is_optimal() const { return violation < 0.0; }
    bool is_shrinkable(double distance) const { return -violation > distance; }
  };

  LinearDual(const AnyRows& rows, index_t n_features, index_t row_elements,
             const LinearProblem& problem, std::span<const double> start, int threads,
             bool may_have_rounds)
      : state_{{}, rows}, subspace_(state_, threads), row_elements_(row_elements),
        n_samples_(n_rows(problem.X)),
        threads_(thread_count_for(threads, kWorkOfElement * static_cast<double>(row_elements) *
                                               static_cast<double>(n_samples_))),
        is_squared_(is_squared(problem.loss)) {
    state_.w.assign(static_cast<std::size_t>(n_features), 0.0);
    place_coordinates(problem, start, may_have_rounds);
    state_.sum_up();
    if (!has_rounds_) return;
    if (!start.empty() && bias_ridge_ > 0.0)
      set_bias(sum_of_beta() / bias_ridge_);
    else // a bias far off would take many rounds
      set_bias(is_squared(problem.loss) ? weighted_mean(problem, bias_ridge_)
                                        : weighted_median(problem));
  }

  index_t size() const { return static_cast<index_t>(state_.coordinates.size()); }
  index_t row_elements() const { return row_elements_; }
  void fetch_place(index_t k) const { __builtin_prefetch(&state_.coordinates[k]); }
  index_t sample(index_t k) const { return state_.coordinates[k].sample; }
  const AnyRows& rows() const { return state_.rows; }

  bool has_rounds() const { return has_rounds_; }
  int check_threads() const { return threads_; }
  template <class Rows> Status status(const Rows& rows, index_t k) const {
    const DualCoordinate& c = state_.coordinates[k];
    const double u = state_.residual(rows, c);
    return {u, c.gap(u), -c.least_open_slope(u)};
  }
  double loss(index_t k, const Status& at) const { return state_.coordinates[k].loss(at.residual); }
  double conjugate(index_t k) const { return state_.coordinates[k].conjugate(); }
  double penalty() {
    half_square_of_w_ = 0.5 * sum_of_squares(std::span<const double>(state_.w));
    return half_square_of_w_ + (has_rounds_ ? penalty_of_bias(state_.bias())
                                            : 0.5 * state_.bias_weight * state_.bias_weight);
  }

  // v = (w, bias_weight) is a sum of vectors beta_i x_i that may be longer than it by many orders.
  double rounding() const {
    double lengths = 0.0;
    for (const DualCoordinate& c : state_.coordinates)
      if (c.beta != 0.0)
        lengths += std::abs(c.beta) * std::sqrt(std::max(0.0, 1.0 / c.inverse_curvature - c.ridge));
    const double of_v = std::numeric_limits<double>::epsilon() / 2.0 * lengths;
    const double length =
        std::sqrt(2.0 * half_square_of_w_ + state_.bias_weight * state_.bias_weight);
    return of_v * (length + 0.5 * of_v);
  }

  // With what improve() gains.
  double overshoot() const { return is_squared_ ? 3.5 : 2.0; }

  template <class Rows> double move(const Rows& rows, index_t k, const Status& at) {
    DualCoordinate& c = state_.coordinates[k];
    const double before = c.beta, step = c.minimiser(at.residual) - before;
    if (step == 0.0) return 0.0;
    if (!std::isfinite(step)) throw NumericError("the dual variables overflow");
    state_.move(rows, c, step);
    const double slope = c.ridge * before - at.residual;
    return -step * (slope + 0.5 * step / c.inverse_curvature) -
           c.epsilon * (std::abs(c.beta) - std::abs(before));
  }

  template <class Late> double move_together(std::span<const index_t> active, const Late& is_late) {
    return subspace_.run(active, kSubspaceSteps, is_late);
  }

  // The bias follows the sum of the dual variables, and strays in every pass from what is best for
  // w. With a squared loss that is most of what the primal objective has too much, and a step of
  // Newton's method finds the best.
  void keep(index_t k, const Status& at) {
    if (is_squared_) residuals_[k] = at.residual;
  }
  void improve(Bounds& bounds) {
    if (!is_squared_ || state_.bias_scale == 0.0) return;
    const double shift = best_shift();
    const Bounds shifted = bounds_with_bias_shifted_by(shift);
    if (!(shifted.gap < bounds.gap)) return;
    bounds = shifted;
    bias_shift_ = shift;
  }

  void note_place() {
    if (has_rounds_) place_ = state_;
  }
  void go_back() {
    if (has_rounds_) static_cast<DualPoint&>(state_) = place_;
  }
  void save() { saved_ = LinearSeparator{state_.w, state_.bias() + bias_shift_}; }
  void restore() { is_restored_ = true; }

  void settle() {
    bias_shift_ = 0.0;
    if (is_squared_) residuals_.resize(state_.coordinates.size());
    if (has_rounds_) move_bias();
  }
  void sum_up() { state_.sum_up(); }

  LinearSolution solution(const LinearOutcome& outcome) && {
    std::vector<double> beta(static_cast<std::size_t>(n_samples_), 0.0);
    for (const DualCoordinate& c : state_.coordinates) beta[c.sample] = c.beta;
    if (!is_restored_) saved_ = {std::move(state_.w), state_.bias() + bias_shift_};
    return {outcome, std::move(saved_), std::move(beta)};
  }

 private:
  void place_coordinates(const LinearProblem& problem, std::span<const double> start,
                         bool may_have_rounds) {
    std::vector<double> square_norms;
    square_norms.reserve(static_cast<std::size_t>(n_samples_));
    state_.coordinates.reserve(static_cast<std::size_t>(n_samples_));
    for (index_t i = 0; i < n_samples_; ++i) {
      if (problem.C[i] == 0.0) continue;
      DualCoordinate c(problem, i);
      if (!start.empty()) c.beta = std::clamp(start[i], c.lower, c.upper);
      state_.coordinates.push_back(c);
      square_norms.push_back(state_.rows.square_norm(i));
    }
    const double sum = std::accumulate(square_norms.begin(), square_norms.end(), 0.0);
    const double mean = sum / std::max(1.0, static_cast<double>(square_norms.size()));
    const double length = mean > 0.0 ? std::sqrt(mean) : 1.0, scaling = problem.intercept_scaling;
    has_rounds_ = std::isinf(scaling) ||
                  (may_have_rounds && scaling > std::max(1.0, kLongestFeature * length));
    state_.bias_scale = has_rounds_ ? length : scaling;
    bias_ridge_ = 1.0 / scaling / scaling;
    const double of_bias = state_.bias_scale * state_.bias_scale;
    for (std::size_t k = 0; k < square_norms.size(); ++k) {
      DualCoordinate& c = state_.coordinates[k];
      c.inverse_curvature = 1.0 / std::max(square_norms[k] + of_bias + c.ridge, kLeastCurvature);
    }
  }

  double penalty_of_bias(double b) const { return 0.5 * bias_ridge_ * b * b; }

  double best_shift() const {
    double slope = bias_ridge_ * state_.bias(), curvature = bias_ridge_;
    for (std::size_t k = 0; k < residuals_.size(); ++k) {
      const DualCoordinate& c = state_.coordinates[k];
      const double of_loss = c.loss_slope(residuals_[k]);
      slope -= of_loss;
      curvature += of_loss == 0.0 ? 0.0 : 1.0 / c.ridge;
    }
    return -slope / curvature;
  }

  // The bias of the dual variables is their sum over its ridge; the square of how far another is
  // from that adds to the gap.
  Bounds bounds_with_bias_shifted_by(double shift) const {
    Bounds bounds{half_square_of_w_ + penalty_of_bias(state_.bias() + shift),
                  penalty_of_bias(shift)};
    for (std::size_t k = 0; k < residuals_.size(); ++k) {
      const double u = residuals_[k] - shift;
      bounds.primal += state_.coordinates[k].loss(u);
      bounds.gap += state_.coordinates[k].gap(u);
    }
    return bounds;
  }

  double sum_of_beta() const { return state_.bias_weight / state_.bias_scale; }
  void set_bias(double bias) { state_.offset = bias - state_.bias_scale * state_.bias_weight; }

  // The next round begins where the bias is, and the sum of beta becomes that which belongs to it,
  // ridge b, by scaling the heavier side down. Where that does not suffice, b follows the sum.
  void move_bias() {
    const double bias = state_.bias(), goal = bias_ridge_ * bias;
    double positive = 0.0, negative = 0.0;
    for (const DualCoordinate& c : state_.coordinates)
      (c.beta > 0.0 ? positive : negative) += c.beta;
    const double excess = positive + negative - goal;
    const double heavier = excess > 0.0 ? positive : negative;
    const double share = heavier == 0.0 ? 0.0 : std::min(1.0, excess / heavier);
    for (DualCoordinate& c : state_.coordinates)
      if (c.beta * excess > 0.0) state_.move(c, -c.beta * share);
    const bool reaches_goal = excess == 0.0 || (heavier != 0.0 && excess / heavier <= 1.0);
    if (reaches_goal) state_.bias_weight = state_.bias_scale * goal;
    set_bias(reaches_goal ? bias : sum_of_beta() / bias_ridge_);
  }

  DualState state_;
  SubspaceCg subspace_;
  index_t row_elements_;
  index_t n_samples_;
  int threads_;
  bool is_squared_;
  bool has_rounds_ = false;       // that keep the bias near its last value
  double bias_ridge_ = 0.0;       // of its penalty, ridge / 2 b^2
  double bias_shift_ = 0.0;       // of that in the primal
  double half_square_of_w_ = 0.0; // in the last penalty()
  std::vector<double> residuals_; // before the shift
  DualPoint place_;
  LinearSeparator saved_;
  bool is_restored_ = false;
};

LinearSolution solve(const AnyRows& rows, index_t n_features, index_t row_elements,
                     const LinearProblem& problem, const LinearOptions& options, Control& control) {
  optim::TimeLimit time(options.time_limit, control);
  LinearDual dual(rows, n_features, row_elements, problem, options.start, options.threads, true);
  const index_t most_passes = options.max_iter < 0 ? kDefaultPasses : options.max_iter;
  const bool may_go_on = dual.has_rounds() && std::isfinite(problem.intercept_scaling) &&
                         most_passes > kPassesOfRounds;
  LinearOptions first = options;
  if (may_go_on) first.max_iter = kPassesOfRounds;
  const LinearOutcome outcome = DualDescent(dual, first, time).run();
  LinearSolution solution = std::move(dual).solution(outcome);
  if (!may_go_on || solution.stop_reason == optim::StopReason::converged || time.is_up())
    return solution;

  LinearOptions rest = options;
  rest.start = solution.beta;
  rest.max_iter = most_passes - (solution.n_iter - options.passes_before);
  rest.passes_before = solution.n_iter;
  LinearDual plain(rows, n_features, row_elements, problem, rest.start, rest.threads, false);
  const LinearOutcome second = DualDescent(plain, rest, time).run();
  solution.seconds = 0.0; // which those of the second include
  return better_of(std::move(solution), std::move(plain).solution(second), options.tol);
}

} // namespace

LinearSolution solve_coordinate_descent(const CompactSamples& samples, const LinearProblem& problem,
                                        const LinearOptions& options, Control& control) {
  LinearSolution solution = solve(samples.rows(), samples.n_features(), samples.row_elements(),
                                  problem, options, control);
  solution.separator.w = samples.original(solution.separator.w);
  return solution;
}

LinearSolution solve_coordinate_descent(const LinearProblem& problem, const LinearOptions& options,
                                        Control& control) {
  const index_t row_elements = n_stored(problem.X) / std::max<index_t>(1, n_rows(problem.X));
  return solve(AnyRows(problem.X), n_cols(problem.X), row_elements, problem, options, control);
}

} // namespace maxmargin::linear
