#include "maxmargin/dual/shrinking.hpp"

#include <algorithm>

namespace maxmargin::dual {
namespace {

constexpr index_t kRoundsBetween = 4;      // outer steps from one check to the next
constexpr double kLargestShare = 0.7;      // of the variables left for which the copies pay
constexpr index_t kSmallestProblem = 2000; // below, the copies cost more than they save
constexpr double kNearlyDone = 10;         // times tol: below, nothing more is set aside
constexpr int kShrinkCount = 2;            // checks in a row that find a variable shrinkable

} // namespace

template <Real T> void Shrinker<T>::find_kept(const Ends& ends) {
  shrink_counts_.resize(static_cast<std::size_t>(state_.n), 0);
  kept_.clear();
  kept_groups_.clear();
  for (std::size_t g = 0; g < state_.groups.size(); ++g) {
    while (kept_.size() % kLane<double> != 0) kept_.push_back(-1);
    const index_t begin = static_cast<index_t>(kept_.size());
    for (index_t t = state_.groups[g].begin; t < state_.groups[g].end; ++t) {
      const double descent = -state_.gradient[t];
      const bool may_grow = state_.may_grow(t), may_fall = state_.may_fall(t);
      if (!may_grow && !may_fall) continue; // padding, which has no number in the full problem
      // It may only grow, and lies below all that would have to fall for it; or the mirror image.
      const bool is_shrinkable =
          (!may_fall && descent < ends[g].low) || (!may_grow && descent > ends[g].up);
      shrink_counts_[t] =
          is_shrinkable ? static_cast<unsigned char>(std::min(kShrinkCount, shrink_counts_[t] + 1))
                        : 0;
      if (shrink_counts_[t] < kShrinkCount) kept_.push_back(t);
    }
    kept_groups_.push_back({begin, static_cast<index_t>(kept_.size())});
  }
}

template <Real T> bool Shrinker<T>::shrink(const Ends& ends, double tol) {
  if (state_.n < kSmallestProblem || ++rounds_ % kRoundsBetween != 0) return false;
  if (violation_of(ends) < kNearlyDone * tol) return false;
  find_kept(ends);
  const index_t n_kept = static_cast<index_t>(kept_.size());
  if (n_kept == 0 || static_cast<double>(n_kept) > kLargestShare * static_cast<double>(state_.n))
    return false;

  std::vector<index_t> columns = kept_;
  std::ranges::replace(columns, index_t{-1}, index_t{0}); // any column serves as padding
  kernel_.restrict_to(columns);
  SolverState active(kernel_.size());
  active.groups = kept_groups_;
  active.groups.back().end = active.n;
  if (!state_.ridge.empty()) active.ridge.resize(static_cast<std::size_t>(active.n), 0.0);
  std::vector<index_t> active_numbers;
  const auto is_set = [](double beta) { return beta != 0.0; };
  n_bounded_aside_ += std::count_if(state_.beta.data(), state_.beta.data() + state_.n, is_set);
  for (index_t k = 0; k < n_kept; ++k) {
    const index_t t = kept_[k];
    if (t < 0) {
      active_numbers.push_back(-1);
      continue;
    }
    active.beta[k] = state_.beta[t];
    active.gradient[k] = state_.gradient[t];
    active.lower[k] = state_.lower[t];
    active.upper[k] = state_.upper[t];
    if (!state_.ridge.empty()) active.ridge[k] = state_.ridge[t];
    active_numbers.push_back(is_shrunk() ? numbers_[t] : t);
  }
  if (is_shrunk()) {
    write_back();
  } else {
    start_.assign(state_.beta.data(), state_.beta.data() + state_.n);
    full_ = std::move(state_);
  }
  numbers_ = std::move(active_numbers);
  state_ = std::move(active);
  n_bounded_aside_ -= std::count_if(state_.beta.data(), state_.beta.data() + state_.n, is_set);
  shrink_counts_.clear();
  return true;
}

template <Real T> void Shrinker<T>::write_back() {
  for (std::size_t k = 0; k < numbers_.size(); ++k)
    if (numbers_[k] >= 0) full_.beta[numbers_[k]] = state_.beta[static_cast<index_t>(k)];
}

template <Real T> void Shrinker<T>::unshrink() {
  write_back();
  state_ = std::move(full_);
  numbers_.clear();
  n_bounded_aside_ = 0;
  shrink_counts_.clear();
  std::vector<index_t> moved;
  std::vector<double> delta;
  for (index_t t = 0; t < state_.n; ++t)
    if (state_.beta[t] != start_[t]) {
      moved.push_back(t);
      delta.push_back(state_.beta[t] - start_[t]);
    }
  kernel_.restore();
  kernel_.add_rows(moved, delta, state_.gradient.data());
  state_.add_ridge(moved, delta);
}

template class Shrinker<float>;
template class Shrinker<double>;

} // namespace maxmargin::dual
