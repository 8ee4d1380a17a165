#include "maxmargin/dual/block_smo.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/dual/shrinking.hpp"
#include "maxmargin/dual/working_block.hpp"
#include "maxmargin/dual/working_set.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

namespace maxmargin::dual {
namespace {

// The inner problem is solved to this share of the outer violation: a larger share wastes kernel
// rows, a smaller one wastes steps on a block that the next one changes. In large blocks steps cost
// more than the rows of cheap kernel values.
constexpr double kInnerShare = 0.1;
constexpr double kInnerShareOfLarge = 0.3;
constexpr index_t kLargeBlock = 1024;

// Where the true violation is larger than the tolerance after all, the solver aims at less than it.
constexpr double kAimOfRefined = 0.7;

// Up to this many variables, all are one block: its kernel matrix costs less than choosing. So are
// more, where their kernel matrix stands in memory already: the pairs of classes that store theirs
// (svm/one_vs_one.cpp), not the larger ones of a search.
constexpr index_t kLargestOneBlock = 256;
constexpr index_t kLargestStoredBlock = 2048;

// Pair steps of no more than this do not outlast a wake-up. Waking threads before such steps took
// 4 % off a fit of a9a; longer steps would find them asleep again.
constexpr double kSecondsOfWakeUp = 60e-6;

// Updates of the gradient may have left this share of the tolerance in it.
constexpr double kDriftShare = 0.01;

// In float32, the violation must halve in so many pair steps.
constexpr index_t kPatientSteps = 20000;
constexpr index_t kPatientStepsPerVariable = 20;

template <Real T> class BlockSmo {
 public:
  BlockSmo(const DualProblem& problem, KernelMatrix<T>& kernel, const SolverOptions& options,
           Control& control, ExactSums* exact)
      : problem_(problem), kernel_(kernel), options_(options), control_(control), state_(problem),
        shrinker_(state_, kernel), block_(problem, kernel, options.time_limit, control),
        max_iter_(options.max_iter >= 0 ? options.max_iter : default_max_iter(problem.size())),
        in_one_block_(state_.n <= kLargestOneBlock ||
                      (state_.n <= kLargestStoredBlock && block_.stored() != nullptr)),
        working_set_(in_one_block_ ? 0 : problem.size(), kernel.n_columns(),
                     kernel.has_expensive_values()) {
    total_step_ = problem.start_step;
    if (exact != nullptr) refinement_.emplace(*exact);
  }

  Solution run() {
    Solution solution;
    add_start();
    Ends ends = checked_ends();
    for (;;) {
      if (has_stagnated(violation_of(ends), solution.n_iter)) {
        solution.stop_reason = optim::StopReason::imprecise;
        break;
      }
      if (violation_of(ends) < aim_) {
        if (shrinker_.is_shrunk()) {
          unshrink();
          ends = checked_ends();
          continue;
        }
        if (is_final(solution, ends)) break;
      }
      if (limit_reached(solution)) break;
      if (block_.is_unbounded()) {
        solution.stop_reason = optim::StopReason::unbounded;
        break;
      }
      const bool has_moved =
          in_one_block_ ? solve_whole(solution)
                        : solve_on(working_set_.select(state_, ends), violation_of(ends), solution);
      if (!has_moved && !block_.is_unbounded() && !limit_reached(solution)) {
        if (!shrinker_.is_shrunk()) {
          solution.stop_reason =
              is_float32() ? optim::StopReason::imprecise : optim::StopReason::stalled;
          break;
        }
        unshrink(); // the others may still move
      }
      ends = checked_ends();
      if (options_.shrinking && !in_one_block_ && shrinker_.shrink(ends, aim_)) {
        working_set_.renumber(shrinker_.kept());
        ends = checked_ends();
      }
      control_.poll([&] { return progress(solution.n_iter, ends); });
    }
    if (shrinker_.is_shrunk()) unshrink();
    if (needs_refinement() && solution.stop_reason != optim::StopReason::converged)
      refinement_->find_true_ends(state_, problem_.linear);
    solution.is_inexact = needs_refinement();
    solution.total_step = total_step_;
    double largest = 0.0;
    for (index_t t = 0; t < state_.n; ++t) largest = std::max(largest, std::abs(state_.beta[t]));
    solution.drift = drift(total_step_ + std::sqrt(static_cast<double>(solution.n_iter)) * largest);
    ends = checked_ends();
    // Aiming lower than the tolerance, it may have been stopped when it was there.
    if (violation_of(ends) < options_.tol) solution.stop_reason = optim::StopReason::converged;
    for (const simd::Violation& v : ends) solution.intervals.push_back({v.up, v.low});
    static_cast<VariableArrays&>(solution) = std::move(state_);
    return solution;
  }

 private:
  Progress progress(index_t n_iter, const Ends& ends) const {
    Progress now{.n_iter = n_iter,
                 .kkt_violation = violation_of(ends),
                 .dual_objective = objective_,
                 .n_bounded = shrinker_.n_bounded_aside()};
    for (index_t t = 0; t < state_.n; ++t) {
      if (state_.beta[t] == 0.0) continue;
      ++(state_.is_free(t) ? now.n_free : now.n_bounded);
    }
    return now;
  }

  Ends checked_ends() const {
    Ends ends = ends_of(state_);
    for (const simd::Violation& v : ends)
      if (std::isnan(v.up - v.low) || v.up == HUGE_VAL || v.low == -HUGE_VAL)
        throw NumericError("kernel values overflow");
    return ends;
  }

  bool limit_reached(Solution& solution) const {
    if (solution.n_iter >= max_iter_)
      solution.stop_reason = optim::StopReason::max_iter;
    else if (is_past(options_.time_limit, control_))
      solution.stop_reason = optim::StopReason::time_limit;
    else
      return false;
    return true;
  }

  void add_start() {
    if (!problem_.start_sums.empty()) return add_known_start();
    changed_.reserve(problem_.start.size());
    delta_.reserve(problem_.start.size());
    for (index_t t = 0; t < static_cast<index_t>(problem_.start.size()); ++t)
      if (problem_.start[t] != 0.0) {
        changed_.push_back(t);
        delta_.push_back(problem_.start[t]);
      }
    if (!changed_.empty()) add_changes({});
  }

  void add_known_start() {
    for (index_t t = 0; t < static_cast<index_t>(problem_.start.size()); ++t) {
      state_.gradient[t] += problem_.start_sums[t] + state_.ridge_times_beta(t);
      objective_ += 0.5 * state_.beta[t] * (problem_.linear[t] + state_.gradient[t]);
    }
  }

  // Brings the gradient, and with it the objective, up to date.
  void add_changes(std::span<const char> is_free) {
    add_half_slopes();
    kernel_.add_rows(changed_, delta_, state_.gradient.data(), is_free);
    state_.add_ridge(changed_, delta_);
    add_half_slopes();
  }

  // A quadratic function changes by the step times the mean of its slopes at both ends.
  void add_half_slopes() {
    for (std::size_t k = 0; k < changed_.size(); ++k)
      objective_ += 0.5 * delta_[k] * state_.gradient[changed_[k]];
  }

  static constexpr bool is_float32() { return std::is_same_v<T, float>; }

  // By how much the rounding of changes of beta that sum up to this may have left the gradient off.
  double drift(double changes) const {
    constexpr double rounding = std::numeric_limits<double>::epsilon() / 2.0;
    return rounding * changes * block_.largest_value();
  }

  // Whether the gradient may be off by more than the tolerance bears: by the rounding of float32
  // values, or by updates.
  bool needs_refinement() const {
    return refinement_ && (is_float32() || drift(total_step_) > kDriftShare * options_.tol);
  }

  // Whether the violation has stayed for very long at what the rounding of float32 values makes.
  bool has_stagnated(double violation, index_t n_iter) {
    if (!is_float32()) return false;
    if (violation < 0.5 * halved_violation_) {
      halved_violation_ = violation;
      halved_at_ = n_iter;
    }
    return n_iter - halved_at_ > std::max(kPatientSteps, kPatientStepsPerVariable * state_.n);
  }

  // Whether there is no more to do though the violation seems small enough; else `ends` is the true
  // one, which is not.
  bool is_final(Solution& solution, Ends& ends) {
    if (!needs_refinement()) return true;
    refinement_->find_true_ends(state_, problem_.linear);
    ends = checked_ends();
    if (violation_of(ends) < options_.tol) return true;
    if (!refinement_->prepare_to_go_on(state_, problem_.linear, violation_of(ends))) {
      solution.stop_reason =
          is_float32() ? optim::StopReason::imprecise : optim::StopReason::stalled;
      return true;
    }
    ends = checked_ends();
    aim_ = kAimOfRefined * options_.tol;
    return false;
  }

  void unshrink() {
    shrinker_.unshrink();
    working_set_.forget();
  }

  // All variables are one block, whose gradient is the whole gradient. Returns false when none
  // could move.
  bool solve_whole(Solution& solution) {
    const index_t n = state_.n;
    block_.take_all(state_);
    const BlockVariables& block = block_.variables();
    const double before = block.total_step;
    solution.n_iter += block_.solve(aim_, max_iter_ - solution.n_iter);
    total_step_ += block.total_step - before;
    if (std::equal(state_.beta.data(), state_.beta.data() + n, block.beta.data())) return false;
    for (index_t t = 0; t < n; ++t)
      objective_ +=
          0.5 * (block.beta[t] - state_.beta[t]) * (block.gradient[t] + state_.gradient[t]);
    std::copy_n(block.beta.data(), n, state_.beta.data());
    std::copy_n(block.gradient.data(), n, state_.gradient.data());
    return true;
  }

  // Returns false when no variable of the set could move.
  bool solve_on(const std::vector<index_t>& set, double outer_violation, Solution& solution) {
    block_.take(set, state_);
    const BlockVariables& block = block_.variables();
    const std::vector<index_t>& slots = block_.slots();
    const bool has_expensive_steps = block.n > kLargeBlock && !kernel_.has_expensive_values();
    const double share = has_expensive_steps ? kInnerShareOfLarge : kInnerShare;
    const double inner_tol = std::max(share * outer_violation, 0.5 * aim_);
    // Threads wake up while the pair steps go on, where these take about as long.
    if (seconds_of_steps_ < kSecondsOfWakeUp) kernel_.expect_rows(slots.size());
    const double begin = control_.seconds();
    solution.n_iter += block_.solve(inner_tol, max_iter_ - solution.n_iter);
    seconds_of_steps_ = control_.seconds() - begin;

    changed_.clear();
    delta_.clear();
    is_free_.clear();
    for (index_t k = 0; k < block.n; ++k) {
      const index_t t = slots[k];
      const double delta = t < 0 ? 0.0 : block.beta[k] - state_.beta[t];
      if (delta == 0.0) continue;
      changed_.push_back(t);
      delta_.push_back(delta);
      total_step_ += std::abs(delta);
      // A variable that came to rest at a bound seldom moves again; a free one does.
      is_free_.push_back(block.beta[k] > block.lower[k] && block.beta[k] < block.upper[k]);
      state_.beta[t] = block.beta[k];
    }
    if (changed_.empty()) return false;
    add_changes(is_free_);
    return true;
  }

  const DualProblem& problem_;
  KernelMatrix<T>& kernel_;
  const SolverOptions& options_;
  Control& control_;
  SolverState state_;
  Shrinker<T> shrinker_;
  std::optional<Refinement> refinement_;
  WorkingBlock<T> block_;
  std::vector<index_t> changed_;
  std::vector<double> delta_;
  std::vector<char> is_free_;
  double aim_ = options_.tol; // the violation at which to stop
  index_t max_iter_;
  bool in_one_block_;
  WorkingSet working_set_;        // unless all are one block
  double objective_ = 0.0;        // but for the rounding of kernel values
  double total_step_ = 0.0;       // sum of |change| of all variables
  double seconds_of_steps_ = 0.0; // on the last block
  double halved_violation_ = HUGE_VAL;
  index_t halved_at_ = 0; // pair steps
};

} // namespace

template <Real T>
Solution solve(const DualProblem& problem, KernelMatrix<T>& kernel, const SolverOptions& options,
               Control& control, ExactSums* exact) {
  return BlockSmo<T>(problem, kernel, options, control, exact).run();
}

template Solution solve(const DualProblem&, KernelMatrix<float>&, const SolverOptions&, Control&,
                        ExactSums*);
template Solution solve(const DualProblem&, KernelMatrix<double>&, const SolverOptions&, Control&,
                        ExactSums*);

} // namespace maxmargin::dual
