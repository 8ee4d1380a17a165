#include "maxmargin/dual/working_block.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/random.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::dual {
namespace {

// In the dual of the hard margin, sum |beta| / 2 <= 1 / margin^2 wherever the objective is below 0.
// Two classes are taken for inseparable where that proves the margin to be smaller than the
// distances between samples by the square root of this.
constexpr double kInseparable = 1e13;

constexpr index_t kStepsBetweenClocks = 1 << 15; // pair steps between two readings of the clock

} // namespace

template <Real T>
void WorkingBlock<T>::take(const std::vector<index_t>& set, const SolverState& state) {
  lay_out(set, state);
  const index_t n = static_cast<index_t>(slots_.size());
  block_.resize(n);
  block_.groups = slot_groups_;
  std::vector<index_t> rows = slots_;
  std::ranges::replace(rows, kPadding, index_t{0}); // any row serves as padding
  fill_kernel(rows, state);
  for (index_t k = 0; k < n; ++k) {
    const index_t t = slots_[k];
    block_.beta[k] = t < 0 ? 0.0 : state.beta[t];
    block_.gradient[k] = t < 0 ? 0.0 : state.gradient[t];
    block_.lower[k] = t < 0 ? 0.0 : state.lower[t];
    block_.upper[k] = t < 0 ? 0.0 : state.upper[t];
  }
  set_diagonal();
}

template <Real T> void WorkingBlock<T>::take_all(const SolverState& state) {
  const index_t n = state.n;
  if (block_.n != n) {
    if (stored() != nullptr) {
      block_.borrow(stored(), n);
    } else {
      block_.resize(n);
      fill_kernel(identity_order(n), state);
    }
    block_.groups = state.groups;
    std::copy_n(state.lower.data(), n, block_.lower.data());
    std::copy_n(state.upper.data(), n, block_.upper.data());
    set_diagonal();
  }
  std::copy_n(state.beta.data(), n, block_.beta.data());
  std::copy_n(state.gradient.data(), n, block_.gradient.data());
}

template <Real T> index_t WorkingBlock<T>::solve(double tol, index_t max_iter) {
  bool may_use_newton = true;
  index_t n_iter = 0, steps = 0, patience = patience_of_pairs();
  while (!is_past(time_limit_, control_)) {
    const index_t left = std::min(max_iter - n_iter, kStepsBetweenClocks);
    const index_t most = may_use_newton ? std::min(left, patience - steps) : left;
    const index_t done = solve_block(block_, tol, most, control_);
    n_iter += done;
    steps += done;
    is_unbounded_ = is_unbounded_below();
    if (is_unbounded_ || done < most || n_iter >= max_iter) break;
    control_.poll();
    if (!may_use_newton || steps < patience) continue;
    may_use_newton = newton_.take(block_, kernel_.threads());
    n_iter += may_use_newton;
    steps = 0;
    patience = patience_of_pairs();
  }
  return n_iter;
}

template <Real T>
void WorkingBlock<T>::lay_out(const std::vector<index_t>& set, const SolverState& state) {
  slots_.clear();
  slot_groups_.clear();
  auto next = set.begin();
  for (const Group& group : state.groups) {
    while (slots_.size() % kLane<float> != 0) slots_.push_back(kPadding); // whatever T is
    const index_t begin = static_cast<index_t>(slots_.size());
    for (; next != set.end() && *next < group.end; ++next) slots_.push_back(*next);
    slot_groups_.push_back({begin, static_cast<index_t>(slots_.size())});
  }
}

template <Real T>
void WorkingBlock<T>::fill_kernel(std::span<const index_t> rows, const SolverState& state) {
  kernel_.square(rows, block_.own.data(), block_.stride);
  if (state.ridge.empty()) return;
  for (index_t k = 0; k < block_.n; ++k)
    block_.own[k * (block_.stride + 1)] += static_cast<T>(state.ridge[rows[k]]);
}

template <Real T> void WorkingBlock<T>::set_diagonal() {
  block_.may_be_unbounded = problem_.may_be_unbounded;
  for (index_t k = 0; k < block_.n; ++k) {
    block_.diagonal[k] = block_.kernel[k * block_.stride + k];
    const double magnitude = std::abs(static_cast<double>(block_.diagonal[k]));
    if (!(magnitude < 1e150)) throw NumericError("kernel values overflow");
    largest_value_ = std::max(largest_value_, magnitude);
  }
}

// A direction of unbounded descent was found, or the coefficients are larger than those of any
// separable classes.
template <Real T> bool WorkingBlock<T>::is_unbounded_below() const {
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

template <Real T> index_t WorkingBlock<T>::patience_of_pairs() const {
  return std::max(2 * block_.n, BlockNewton::cost_in_pair_steps(block_));
}

template class WorkingBlock<float>;
template class WorkingBlock<double>;

} // namespace maxmargin::dual
