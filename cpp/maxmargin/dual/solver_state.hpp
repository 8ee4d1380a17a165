#pragma once

#include "maxmargin/dual/solution.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin::dual {

// The variables that the solver works on: all of them, or the active ones while shrunk.
struct SolverState : VariableArrays {
  SolverState() = default;
  explicit SolverState(index_t size); // all zero: no variable can move
  explicit SolverState(const DualProblem& problem);

  bool may_grow(index_t t) const { return beta[t] < upper[t]; }
  bool may_fall(index_t t) const { return beta[t] > lower[t]; }
  bool is_free(index_t t) const { return may_grow(t) && may_fall(t); }

  simd::PairView view(const Group& group) const {
    return {beta.data() + group.begin, gradient.data() + group.begin, lower.data() + group.begin,
            upper.data() + group.begin, group.end - group.begin};
  }

  double ridge_times_beta(index_t t) const { return ridge.empty() ? 0.0 : ridge[t] * beta[t]; }
  // Adds the ridge's part of the gradient's change where these variables move.
  void add_ridge(std::span<const index_t> moved, std::span<const double> delta);

  index_t n = 0;
  std::vector<double> ridge; // empty: none
  PerGroup<Group> groups;    // each begins on a line
};

// The ends of each group's optimality interval, and the variable at the upper one.
using Ends = PerGroup<simd::Violation>;

Ends ends_of(const SolverState& state);
double violation_of(const Ends& ends);

} // namespace maxmargin::dual
