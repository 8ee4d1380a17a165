#include "maxmargin/dual/refinement.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::dual {
namespace {

constexpr std::size_t kEnds = 16;    // variables evaluated at each end to begin with,
constexpr index_t kSpread = 32;      // and spread over all, to see the errors' size
constexpr int kIdleRounds = 2;       // that did not halve the violation, after which to give up
constexpr double kErrorMargin = 4.0; // times the largest error seen: what the others may have

// The variables of the largest keys, no more than `count`.
void append_largest(std::vector<std::pair<double, index_t>>& keys, std::size_t count,
                    std::vector<index_t>& variables) {
  count = std::min(count, keys.size());
  std::partial_sort(keys.begin(), keys.begin() + static_cast<index_t>(count), keys.end(),
                    [](const auto& a, const auto& b) {
                      return a.first > b.first || (a.first == b.first && a.second < b.second);
                    });
  for (std::size_t k = 0; k < count; ++k) variables.push_back(keys[k].second);
}

} // namespace

void Refinement::begin(const SolverState& state) {
  rows_.clear();
  coef_.clear();
  for (index_t t = 0; t < state.n; ++t)
    if (state.beta[t] != 0.0) {
      rows_.push_back(t);
      coef_.push_back(state.beta[t]);
    }
  is_exact_.assign(static_cast<std::size_t>(state.n), 0);
  largest_error_ = 0.0;
}

void Refinement::replace(const std::vector<index_t>& variables, SolverState& state,
                         const std::vector<double>& linear) {
  std::vector<index_t> targets;
  for (const index_t t : variables)
    if (!is_exact_[t]) {
      is_exact_[t] = 1;
      targets.push_back(t);
    }
  const std::vector<double> sums = exact_.evaluate(targets, rows_, coef_);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    double& gradient = state.gradient[targets[k]];
    const double exact = linear[targets[k]] + (sums[k] + state.ridge_times_beta(targets[k]));
    largest_error_ = std::max(largest_error_, std::abs(exact - gradient));
    gradient = exact;
  }
}

void Refinement::find_true_ends(SolverState& state, const std::vector<double>& linear) {
  begin(state);
  std::vector<index_t> variables, movable;
  for (const Group& group : state.groups) {
    std::vector<std::pair<double, index_t>> up, low;
    for (index_t t = group.begin; t < group.end; ++t) {
      if (state.may_grow(t)) up.push_back({-state.gradient[t], t});
      if (state.may_fall(t)) low.push_back({state.gradient[t], t});
      if (state.may_grow(t) || state.may_fall(t)) movable.push_back(t);
    }
    append_largest(up, kEnds, variables);
    append_largest(low, kEnds, variables);
  }
  const index_t n = static_cast<index_t>(movable.size());
  for (index_t k = 0; k < std::min(kSpread, n); ++k)
    variables.push_back(movable[k * n / std::min(kSpread, n)]);
  while (!variables.empty()) {
    replace(variables, state, linear);
    variables.clear();
    for (const Group& group : state.groups) append_possible_ends(state, group, variables);
  }
}

// Those that the errors may hide an end of the group's interval behind.
void Refinement::append_possible_ends(const SolverState& state, const Group& group,
                                      std::vector<index_t>& variables) const {
  double highest = -HUGE_VAL, lowest = HUGE_VAL; // among the exact ones
  for (index_t t = group.begin; t < group.end; ++t) {
    if (!is_exact_[t]) continue;
    if (state.may_grow(t)) highest = std::max(highest, -state.gradient[t]);
    if (state.may_fall(t)) lowest = std::min(lowest, -state.gradient[t]);
  }
  const double margin = kErrorMargin * largest_error_;
  for (index_t t = group.begin; t < group.end; ++t) {
    if (is_exact_[t]) continue;
    const double descent = -state.gradient[t];
    if ((state.may_grow(t) && descent + margin > highest) ||
        (state.may_fall(t) && descent - margin < lowest))
      variables.push_back(t);
  }
}

bool Refinement::prepare_to_go_on(SolverState& state, const std::vector<double>& linear,
                                  double violation) {
  if (last_violation_ > 0.0 && violation > 0.5 * last_violation_ && ++n_idle_rounds_ > kIdleRounds)
    return false;
  last_violation_ = violation;
  const Ends ends = ends_of(state);
  const double margin = violation + kErrorMargin * largest_error_;
  std::vector<index_t> variables;
  for (std::size_t g = 0; g < state.groups.size(); ++g)
    for (index_t t = state.groups[g].begin; t < state.groups[g].end; ++t) {
      const double descent = -state.gradient[t];
      if ((state.may_grow(t) && descent > ends[g].low - margin) ||
          (state.may_fall(t) && descent < ends[g].up + margin))
        variables.push_back(t);
    }
  replace(variables, state, linear);
  return true;
}

} // namespace maxmargin::dual
