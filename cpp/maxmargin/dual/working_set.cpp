#include "maxmargin/dual/working_set.hpp"

#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::dual {
namespace {

// The square block may have as many values as so many kernel rows: more where values are expensive,
// as are the rows that smaller blocks would take.
constexpr double kRowsPerBlock = 512.0;
constexpr double kExpensiveRowsPerBlock = 1024.0;

// Variables scanned at a time, after which the thresholds rise.
constexpr index_t kChunk = 1024;

// Candidates kept beyond those wanted, until the least are dropped.
constexpr std::size_t kSlack = 64;

} // namespace

WorkingSet::WorkingSet(index_t n_variables, index_t row_values, bool has_expensive_values)
    : usual_size_(has_expensive_values ? 512 : 256),
      largest_size_(
          std::clamp<index_t>(static_cast<index_t>(std::sqrt(
                                  (has_expensive_values ? kExpensiveRowsPerBlock : kRowsPerBlock) *
                                  static_cast<double>(row_values))),
                              2048, 8192)),
      is_chosen_(static_cast<std::size_t>(n_variables), 0) {}

const std::vector<index_t>& WorkingSet::select(const SolverState& state, const Ends& ends) {
  keep_free(state);
  for (const index_t t : kept_) is_chosen_[t] = 1;
  set_ = kept_;
  const index_t n_groups = static_cast<index_t>(state.groups.size());
  const index_t room = std::max(2 * n_groups, size_limit_ - static_cast<index_t>(set_.size()));
  for (std::size_t g = 0; g < state.groups.size(); ++g)
    add_violators_of(state, state.groups[g], ends[g], room / n_groups);
  for (const index_t t : set_) is_chosen_[t] = 0;
  std::sort(set_.begin(), set_.end());
  size_limit_ = std::min(std::max(usual_size_, size_limit_), 2 * size_limit_);
  return set_;
}

void WorkingSet::add_violators_of(const SolverState& state, const Group& group,
                                  const simd::Violation& ends, index_t count) {
  // Only a variable beyond the other end of the interval has a partner to step with.
  up_.begin(count / 2, ends.low);
  low_.begin(count - count / 2, -ends.up);
  std::int32_t places[kChunk];
  for (index_t begin = group.begin; begin < group.end; begin += kChunk) {
    const simd::PairView chunk = state.view({begin, std::min(begin + kChunk, group.end)});
    const index_t n_found =
        simd::active_table().find_violators(chunk, up_.threshold(), -low_.threshold(), places);
    for (index_t k = 0; k < n_found; ++k) {
      const index_t t = begin + places[k];
      const double descent = -state.gradient[t];
      if (is_chosen_[t]) continue;
      if (descent > up_.threshold() && state.may_grow(t)) up_.take(descent, t);
      if (-descent > low_.threshold() && state.may_fall(t)) low_.take(-descent, t);
    }
  }
  add(up_.finish());
  add(low_.finish());
}

void WorkingSet::keep_free(const SolverState& state) {
  kept_.clear();
  for (const index_t t : set_)
    if (state.is_free(t)) kept_.push_back(t);
  const index_t n_free = static_cast<index_t>(kept_.size());
  if (2 * n_free > size_limit_ && size_limit_ >= usual_size_)
    size_limit_ = std::min(largest_size_, 2 * size_limit_);
  const index_t most = size_limit_ / 2;
  if (n_free <= most) return;
  // Those that are furthest from the level where the free variables should lie matter most.
  const auto group_of = [&](index_t t) { return t >= state.groups.back().begin ? 1 : 0; };
  double sum[2] = {}, count[2] = {};
  for (const index_t t : kept_) {
    sum[group_of(t)] += state.gradient[t];
    count[group_of(t)] += 1.0;
  }
  const auto distance = [&](index_t t) {
    return std::abs(state.gradient[t] - sum[group_of(t)] / count[group_of(t)]);
  };
  const auto before = [&](index_t a, index_t b) {
    const double da = distance(a), db = distance(b);
    return da > db || (da == db && a < b);
  };
  std::nth_element(kept_.begin(), kept_.begin() + most, kept_.end(), before);
  kept_.resize(static_cast<std::size_t>(most));
}

void WorkingSet::Best::begin(index_t count, double above) {
  count_ = static_cast<std::size_t>(count);
  threshold_ = above;
  items_.clear();
}

void WorkingSet::Best::take(double key, index_t index) {
  items_.push_back({key, index});
  if (items_.size() == 2 * count_ + kSlack) drop_others();
}

void WorkingSet::Best::drop_others() {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.key > b.key || (a.key == b.key && a.index < b.index);
  };
  const auto last = items_.begin() + static_cast<index_t>(count_) - 1;
  std::nth_element(items_.begin(), last, items_.end(), before);
  threshold_ = last->key; // one of the same key that comes later is worse
  items_.resize(count_);
}

const std::vector<WorkingSet::Candidate>& WorkingSet::Best::finish() {
  if (items_.size() > count_) drop_others();
  return items_;
}

void WorkingSet::add(const std::vector<Candidate>& candidates) {
  for (const Candidate& c : candidates)
    if (!is_chosen_[c.index]) { // a free variable may be on both sides
      is_chosen_[c.index] = 1;
      set_.push_back(c.index);
    }
}

void WorkingSet::renumber(const std::vector<index_t>& kept) {
  std::vector<index_t> now(is_chosen_.size(), -1);
  for (std::size_t k = 0; k < kept.size(); ++k)
    if (kept[k] >= 0) now[kept[k]] = static_cast<index_t>(k);
  std::vector<index_t> renumbered;
  for (const index_t t : set_)
    if (now[t] >= 0) renumbered.push_back(now[t]);
  set_ = std::move(renumbered);
}

void WorkingSet::forget() {
  set_.clear();
}

} // namespace maxmargin::dual
