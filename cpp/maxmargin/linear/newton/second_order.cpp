#include "maxmargin/linear/newton/second_order.hpp"

#include "maxmargin/base/error.hpp"

#include <cmath>
#include <utility>

namespace maxmargin::linear {

SecondOrder::SecondOrder(const LinearProblem& problem, const LinearOptions& options,
                         Control& control, index_t default_steps, Centring centring)
    : problem_(problem), options_(options), time_(options.time_limit, control), control_(control),
      intercept_(InterceptFeature::of(problem.intercept_scaling)),
      passes_(problem.X, intercept_, options.threads, control, centring),
      weights_(static_cast<std::size_t>(passes_.n_weights()), 0.0),
      max_iter_(options.max_iter < 0 ? default_steps : options.max_iter),
      looks_(options.is_capped, static_cast<double>(n_stored(problem.X))) {}

optim::StopReason SecondOrder::approach(double tol, bool is_last) {
  for (;; ++n_iter_) {
    evaluate();
    if (!std::isfinite(objective_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
    if (gap_ <= tol * objective_ && may_end()) {
      if (!is_last || is_proved()) return optim::StopReason::converged;
      renew();
    }
    if (const double objective = bounds().primal; objective < best_objective_) {
      best_objective_ = objective;
      best_weights_ = weights_;
    }
    if (looks_.is_due(n_iter_)) look();
    if (n_iter_ >= max_iter_) return optim::StopReason::max_iter;
    if (!goes_on()) return optim::StopReason::time_limit;
    if (!step()) return optim::StopReason::stalled;
  }
}

void SecondOrder::look() {
  LinearSolution here = certificate();
  seen_ = seen_ ? better_of(*std::move(seen_), std::move(here), options_.tol) : std::move(here);
}

bool SecondOrder::start() {
  if (options_.start.empty()) return false;
  passes_.run({.sums = {{options_.start, &weights_}}});
  if (intercept_.feature != 0.0)
    weights_.back() *= intercept_.ridge > 0.0 ? 1.0 / intercept_.ridge : 0.0;
  return true;
}

bool SecondOrder::goes_on() {
  control_.poll([&] {
    const Bounds now = bounds();
    return Progress{.n_iter = n_iter_,
                    .relative_gap = now.gap / now.primal,
                    .dual_objective = now.gap - now.primal,
                    .n_free = n_free()};
  });
  return !time_.look();
}

bool SecondOrder::is_proved() {
  proof_ = certificate();
  return proof_.duality_gap() <= options_.tol * proof_.primal_objective;
}

LinearSolution SecondOrder::finish(optim::StopReason reason) {
  const auto is_better = [&] {
    if (!(best_objective_ < bounds().primal)) return false;
    weights_ = std::move(best_weights_);
    return true;
  };
  if (reason != optim::StopReason::converged && (is_proved() || (is_better() && is_proved())))
    reason = optim::StopReason::converged;
  proof_.stop_reason = reason;
  if (reason != optim::StopReason::converged && seen_)
    proof_ = better_of(*std::move(seen_), std::move(proof_), options_.tol);
  proof_.n_iter = n_iter_;
  proof_.n_free = n_free();
  proof_.seconds = time_.seconds();
  return std::move(proof_);
}

} // namespace maxmargin::linear
