#include "maxmargin/dual/solver_state.hpp"

#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::dual {

SolverState::SolverState(index_t size) : n(size), groups({0, size}) {
  resize_zeros(size);
}

SolverState::SolverState(const DualProblem& problem)
    : SolverState(round_up(problem.size(), kLane<double>)) {
  std::copy(problem.start.begin(), problem.start.end(), beta.data());
  std::copy(problem.linear.begin(), problem.linear.end(), gradient.data());
  std::copy(problem.lower.begin(), problem.lower.end(), lower.data());
  std::copy(problem.upper.begin(), problem.upper.end(), upper.data());
  ridge = problem.ridge;
  if (!ridge.empty()) ridge.resize(static_cast<std::size_t>(n), 0.0);
  groups.clear();
  for (std::size_t g = 0; g < problem.n_groups(); ++g) groups.push_back(problem.group(g));
  groups.back().end = n;
}

void SolverState::add_ridge(std::span<const index_t> moved, std::span<const double> delta) {
  if (ridge.empty()) return;
  for (std::size_t k = 0; k < moved.size(); ++k) gradient[moved[k]] += delta[k] * ridge[moved[k]];
}

Ends ends_of(const SolverState& state) {
  Ends ends;
  for (const Group& group : state.groups)
    ends.push_back(simd::active_table().select_first(state.view(group)));
  return ends;
}

double violation_of(const Ends& ends) {
  double largest = -HUGE_VAL;
  for (const simd::Violation& v : ends) largest = std::max(largest, v.up - v.low);
  return largest;
}

} // namespace maxmargin::dual
