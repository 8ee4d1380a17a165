#include "maxmargin/linear/l1/l1_working_set.hpp"

#include "maxmargin/linear/attempts.hpp"
#include "maxmargin/linear/l1/l1_interior_point.hpp"
#include "maxmargin/linear/linear_certificate.hpp"
#include "maxmargin/linear/newton/newton_system.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace maxmargin::linear {
namespace {

constexpr index_t kFewest = 64; // features, whose matrix takes 64^3 / 3 products to factor
constexpr double kMostElements = 1 << 25; // of the copy of their columns, of 8 bytes
// The rest is for the features that are left out. 560 x 2000 and 300 x 1500 normal samples take 349,
// 341, 347 and 344, and 148, 147, 138 and 140 ms with 0.125, 0.25, 0.5 and 0.9.
constexpr double kShareOfTol = 0.5;

class WorkingSet {
 public:
  WorkingSet(const Columns& columns, const LinearProblem& problem, const LinearOptions& options,
             Control& control)
      : columns_(columns), problem_(problem), options_(options), control_(control),
        time_(options.time_limit, control),
        steepness_(static_cast<std::size_t>(columns.n_features())) {}

  LinearSolution run(const LinearSolution& before) {
    LinearSolution best = before;
    best.n_iter = 0;
    measure(best.beta);
    while (grow(best.separator.w)) {
      LinearSolution found = solve_on_set();
      const double steepest = measure(found.beta);
      const L1DualPoint dual = l1_dual_point(problem_, found.beta, steepest);
      for (double& b : found.beta) b *= dual.share;
      const bool was_stopped = found.stop_reason != optim::StopReason::converged;
      found.set_bounds(found.primal_objective, found.primal_objective + dual.objective);
      if (!was_stopped) found.stop_reason = optim::StopReason::stalled;
      found.n_iter += best.n_iter;
      best = better_of(std::move(best), std::move(found), options_.tol);
      if (was_stopped || best.stop_reason == optim::StopReason::converged) break;
    }
    best.seconds = time_.seconds();
    return best;
  }

 private:
  double n_elements(index_t n_features) const {
    return static_cast<double>(n_features) * static_cast<double>(problem_.y.size());
  }

  // |sum_i beta_i x_ij| by feature, and the greatest.
  double measure(std::span<const double> beta) {
    double most = 0.0;
    for (index_t j = 0; j < columns_.n_features(); ++j) {
      double sum = 0.0;
      columns_.for_entries(j, [&](index_t i, double x) { sum += beta[i] * x; });
      most = std::max(most, steepness_[j] = std::abs(sum));
      time_.is_up_after(columns_.size(j), [] { return Progress{}; });
    }
    return most;
  }

  // The features that have a weight, and as many of the others again, or as many as there were
  // before; false where there are none to join or too many.
  bool grow(std::span<const double> w) {
    std::vector<index_t> order;
    for (index_t j = 0; j < columns_.n_features(); ++j)
      if (columns_.size(j) > 0) order.push_back(j);
    const auto must = [&](index_t j) { return w[j] != 0.0 || std::ranges::binary_search(set_, j); };
    std::ranges::stable_sort(order, [&](index_t i, index_t j) {
      return std::pair(!must(i), -steepness_[i]) < std::pair(!must(j), -steepness_[j]);
    });
    const index_t n_needed = std::ranges::count_if(order, must);
    const index_t size = std::min<index_t>(std::ssize(order), std::max(kFewest, 2 * n_needed));
    if (time_.look() || size == std::ssize(set_) ||
        std::min(size, std::ssize(problem_.y)) > kMostFeatures || n_elements(size) > kMostElements)
      return false;
    set_.assign(order.begin(), order.begin() + size);
    std::ranges::sort(set_);
    return true;
  }

  LinearSolution solve_on_set() {
    const index_t n = std::ssize(problem_.y), size = std::ssize(set_);
    LinearOptions options = options_;
    options.time_limit = std::max(0.0, options_.time_limit - time_.seconds());
    if (size == columns_.n_features()) return solve_l1_by_steps(problem_, options, control_);
    options.tol = kShareOfTol * options_.tol;
    std::vector<double> samples(static_cast<std::size_t>(n * size), 0.0);
    for (index_t k = 0; k < size; ++k)
      columns_.for_entries(set_[k], [&](index_t i, double x) { samples[i * size + k] = x; });
    const MatrixView view = DenseView<double>{samples.data(), n, size};
    LinearSolution found =
        solve_l1_by_steps({problem_, view, problem_.y, problem_.C}, options, control_);
    AlignedVector<double> w(static_cast<std::size_t>(columns_.n_features()), 0.0);
    for (index_t k = 0; k < size; ++k) w[set_[k]] = found.separator.w[k];
    found.separator.w = std::move(w);
    return found;
  }

  const Columns& columns_;
  const LinearProblem& problem_;
  const LinearOptions& options_;
  Control& control_;
  optim::TimeLimit time_;
  std::vector<double> steepness_;
  std::vector<index_t> set_; // ascending
};

} // namespace

LinearSolution solve_l1_working_set(const Columns& columns, const LinearProblem& problem,
                                    const LinearSolution& before, const LinearOptions& options,
                                    Control& control) {
  return WorkingSet(columns, problem, options, control).run(before);
}

} // namespace maxmargin::linear
