#include "maxmargin/dual/block_smo.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/dual/inner_smo.hpp"
#include "maxmargin/dual/newton.hpp"
#include "maxmargin/dual/shrinking.hpp"
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
// those whose kernel matrix stands in memory already.
constexpr index_t kLargestOneBlock = 256;

// Pair steps of no more than this do not outlast a wake-up. Waking threads before such steps took
// 4 % off a fit of a9a; longer steps would find them asleep again.
constexpr double kSecondsOfWakeUp = 60e-6;

constexpr index_t kPadding = -1;

// Updates of the gradient may have left this share of the tolerance in it.
constexpr double kDriftShare = 0.01;

// In float32, the violation must halve in so many pair steps.
constexpr index_t kPatientSteps = 20000;
constexpr index_t kPatientStepsPerVariable = 20;

// In the dual of the hard margin, sum |beta| / 2 <= 1 / margin^2 wherever the objective is below 0.
// Two classes are taken for inseparable where that proves the margin to be smaller than the
// distances between samples by the square root of this.
constexpr double kInseparable = 1e13;

constexpr index_t kStepsBetweenClocks = 1 << 15; // pair steps between two readings of the clock

template <Real T> class BlockSmo {
 public:
  BlockSmo(const DualProblem& problem, KernelMatrix<T>& kernel, const SolverOptions& options,
           Control& control, ExactSums* exact)
      : problem_(problem), kernel_(kernel), options_(options), control_(control), state_(problem),
        shrinker_(state_, kernel),
        working_set_(problem.size(), kernel.n_columns(), kernel.has_expensive_values()),
        max_iter_(options.max_iter >= 0 ? options.max_iter : default_max_iter(problem.size())),
        in_one_block_(state_.n <= kLargestOneBlock || stored() != nullptr) {
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
      if (is_unbounded_) {
        solution.stop_reason = optim::StopReason::unbounded;
        break;
      }
      const bool has_moved =
          in_one_block_ ? solve_whole(solution)
                        : solve_on(working_set_.select(state_, ends), violation_of(ends), solution);
      if (!has_moved && !is_unbounded_ && !limit_reached(solution)) {
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
    ends = checked_ends();
    // Aiming lower than the tolerance, it may have been stopped when it was there.
    if (violation_of(ends) < options_.tol) solution.stop_reason = optim::StopReason::converged;
    for (const simd::Violation& v : ends) solution.intervals.push_back({v.up, v.low});
    state_.export_to(solution);
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
    else if (control_.seconds() > options_.time_limit)
      solution.stop_reason = optim::StopReason::time_limit;
    else
      return false;
    return true;
  }

  void add_start() {
    for (index_t t = 0; t < static_cast<index_t>(problem_.start.size()); ++t)
      if (problem_.start[t] != 0.0) {
        changed_.push_back(t);
        delta_.push_back(problem_.start[t]);
      }
    if (!changed_.empty()) add_changes({});
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

  // Whether the gradient may be off by more than the tolerance bears: by the rounding of float32
  // values, or by that of many updates with large float64 ones.
  bool needs_refinement() const {
    constexpr double rounding = std::numeric_limits<double>::epsilon() / 2.0;
    return refinement_ &&
           (is_float32() || rounding * total_step_ * largest_value_ > kDriftShare * options_.tol);
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

  // The matrix of the problem where it stands in memory.
  const T* stored() const { return problem_.ridge.empty() ? kernel_.stored() : nullptr; }

  void fill_block(std::span<const index_t> rows) {
    kernel_.square(rows, block_.own.data(), block_.stride);
    if (state_.ridge.empty()) return;
    for (index_t k = 0; k < block_.n; ++k)
      block_.own[k * (block_.stride + 1)] += static_cast<T>(state_.ridge[rows[k]]);
  }

  // All variables are one block, whose gradient is the whole gradient. Returns false when none
  // could move.
  bool solve_whole(Solution& solution) {
    const index_t n = state_.n;
    if (block_.n != n) {
      if (stored() != nullptr) {
        block_.borrow(stored(), n);
      } else {
        block_.resize(n);
        fill_block(identity_order(n));
      }
      block_.groups = state_.groups;
      std::copy_n(state_.lower.data(), n, block_.lower.data());
      std::copy_n(state_.upper.data(), n, block_.upper.data());
      set_diagonal();
    }
    std::copy_n(state_.beta.data(), n, block_.beta.data());
    std::copy_n(state_.gradient.data(), n, block_.gradient.data());
    const double before = block_.total_step;
    solve_inner(aim_, solution);
    total_step_ += block_.total_step - before;
    if (std::equal(state_.beta.data(), state_.beta.data() + n, block_.beta.data())) return false;
    for (index_t t = 0; t < n; ++t)
      objective_ +=
          0.5 * (block_.beta[t] - state_.beta[t]) * (block_.gradient[t] + state_.gradient[t]);
    std::copy_n(block_.beta.data(), n, state_.beta.data());
    std::copy_n(block_.gradient.data(), n, state_.gradient.data());
    return true;
  }

  void set_diagonal() {
    block_.may_be_unbounded = problem_.may_be_unbounded;
    for (index_t k = 0; k < block_.n; ++k) {
      block_.diagonal[k] = block_.kernel[k * block_.stride + k];
      const double magnitude = std::abs(static_cast<double>(block_.diagonal[k]));
      if (!(magnitude < 1e150)) throw NumericError("kernel values overflow");
      largest_value_ = std::max(largest_value_, magnitude);
    }
  }

  // Whether the objective has no lower bound: a direction of unbounded descent was found, or the
  // coefficients are larger than those of any separable classes.
  bool is_unbounded_below() const {
    if (block_.is_unbounded) return true;
    if (!problem_.may_be_unbounded) return false;
    double sum = 0.0, widest = 0.0;
    for (index_t k = 0; k < block_.n; ++k) {
      if (std::isinf(block_.upper[k] - block_.lower[k])) sum += std::abs(block_.beta[k]);
      const double from_first = static_cast<double>(block_.kernel[k]); // K(first, k)
      const double lengths =
          static_cast<double>(block_.diagonal[0]) + static_cast<double>(block_.diagonal[k]);
      widest = std::max(widest, lengths - 2.0 * from_first);
    }
    return 0.5 * sum * widest > kInseparable;
  }

  // Lays the variables of the set out by groups, each of which begins on a line of the block,
  // whatever the type of its kernel values.
  void lay_out(const std::vector<index_t>& set) {
    slots_.clear();
    slot_groups_.clear();
    auto next = set.begin();
    for (const Group& group : state_.groups) {
      while (slots_.size() % kLane<float> != 0) slots_.push_back(kPadding);
      const index_t begin = static_cast<index_t>(slots_.size());
      for (; next != set.end() && *next < group.end; ++next) slots_.push_back(*next);
      slot_groups_.push_back({begin, static_cast<index_t>(slots_.size())});
    }
  }

  // Returns false when no variable of the set could move.
  bool solve_on(const std::vector<index_t>& set, double outer_violation, Solution& solution) {
    lay_out(set);
    const index_t n = static_cast<index_t>(slots_.size());
    block_.resize(n);
    block_.groups = slot_groups_;
    rows_ = slots_;
    std::ranges::replace(rows_, kPadding, index_t{0}); // any row serves as padding
    fill_block(rows_);
    for (index_t k = 0; k < n; ++k) {
      const index_t t = slots_[k];
      block_.beta[k] = t < 0 ? 0.0 : state_.beta[t];
      block_.gradient[k] = t < 0 ? 0.0 : state_.gradient[t];
      block_.lower[k] = t < 0 ? 0.0 : state_.lower[t];
      block_.upper[k] = t < 0 ? 0.0 : state_.upper[t];
    }
    set_diagonal();
    const bool has_expensive_steps = n > kLargeBlock && !kernel_.has_expensive_values();
    const double share = has_expensive_steps ? kInnerShareOfLarge : kInnerShare;
    const double inner_tol = std::max(share * outer_violation, 0.5 * aim_);
    // Threads wake up while the pair steps go on, where these take about as long.
    if (seconds_of_steps_ < kSecondsOfWakeUp) kernel_.expect_rows(slots_.size());
    const double begin = control_.seconds();
    solve_inner(inner_tol, solution);
    seconds_of_steps_ = control_.seconds() - begin;

    changed_.clear();
    delta_.clear();
    is_free_.clear();
    for (index_t k = 0; k < n; ++k) {
      const index_t t = slots_[k];
      const double delta = t < 0 ? 0.0 : block_.beta[k] - state_.beta[t];
      if (delta == 0.0) continue;
      changed_.push_back(t);
      delta_.push_back(delta);
      total_step_ += std::abs(delta);
      // A variable that came to rest at a bound seldom moves again; a free one does.
      is_free_.push_back(block_.beta[k] > block_.lower[k] && block_.beta[k] < block_.upper[k]);
      state_.beta[t] = block_.beta[k];
    }
    if (changed_.empty()) return false;
    add_changes(is_free_);
    return true;
  }

  // Pair steps, and a Newton step whenever they have cost as much as one without finishing.
  void solve_inner(double tol, Solution& solution) {
    bool may_use_newton = true;
    index_t steps = 0, patience = patience_of_pairs();
    while (control_.seconds() <= options_.time_limit) {
      const index_t left = std::min(max_iter_ - solution.n_iter, kStepsBetweenClocks);
      const index_t most = may_use_newton ? std::min(left, patience - steps) : left;
      const index_t done = solve_block(block_, tol, most, control_);
      solution.n_iter += done;
      steps += done;
      is_unbounded_ = is_unbounded_below();
      if (is_unbounded_ || done < most || solution.n_iter >= max_iter_) return;
      control_.poll();
      if (!may_use_newton || steps < patience) continue;
      may_use_newton = newton_.take(block_, kernel_.threads());
      solution.n_iter += may_use_newton;
      steps = 0;
      patience = patience_of_pairs();
    }
  }

  index_t patience_of_pairs() const {
    return std::max(2 * block_.n, NewtonStep::cost_in_pair_steps(block_));
  }

  const DualProblem& problem_;
  KernelMatrix<T>& kernel_;
  const SolverOptions& options_;
  Control& control_;
  SolverState state_;
  Shrinker<T> shrinker_;
  WorkingSet working_set_;
  std::optional<Refinement> refinement_;
  BlockProblem<T> block_;
  NewtonStep newton_;
  std::vector<index_t> slots_; // of the block: numbers of variables, or padding
  std::vector<Group> slot_groups_;
  std::vector<index_t> rows_; // of the kernel matrix, by slot
  std::vector<index_t> changed_;
  std::vector<double> delta_;
  std::vector<char> is_free_;
  double aim_ = options_.tol; // the violation at which to stop
  index_t max_iter_;
  bool in_one_block_;
  bool is_unbounded_ = false;
  double objective_ = 0.0;  // but for the rounding of kernel values
  double total_step_ = 0.0; // sum of |change| of all variables
  double largest_value_ = 0.0;
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
