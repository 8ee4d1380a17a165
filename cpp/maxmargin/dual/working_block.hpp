#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/dual/block_newton.hpp"
#include "maxmargin/dual/inner_smo.hpp"
#include "maxmargin/dual/solver_state.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"

#include <span>
#include <vector>

namespace maxmargin::dual {

// The block of the solver: some or all of its variables, with the square block of their kernel
// values, on which pair steps and Newton steps are taken.
template <Real T> class WorkingBlock {
 public:
  static constexpr index_t kPadding = -1;

  WorkingBlock(const DualProblem& problem, KernelMatrix<T>& kernel, double time_limit,
               Control& control)
      : problem_(problem), kernel_(kernel), time_limit_(time_limit), control_(control) {}

  // The kernel matrix of all variables where it stands in memory.
  const T* stored() const { return problem_.ridge.empty() ? kernel_.stored() : nullptr; }

  // Fills the block with these variables, ascending, each group from a line on.
  void take(const std::vector<index_t>& set, const SolverState& state);
  // With all variables. Their kernel values, once there, stay.
  void take_all(const SolverState& state);

  // Pair steps until the violation is below `tol`, and a Newton step whenever they have cost as
  // much as one without getting there; no more than `max_iter` steps. Returns their number.
  index_t solve(double tol, index_t max_iter);

  // The numbers of the variables, and padding. Not of a block of all.
  const std::vector<index_t>& slots() const { return slots_; }
  const BlockVariables& variables() const { return block_; }

  // Whether the last steps have shown that the objective has no lower bound.
  bool is_unbounded() const { return is_unbounded_; }
  // The largest on the diagonals of all blocks so far.
  double largest_value() const { return largest_value_; }

 private:
  void lay_out(const std::vector<index_t>& set, const SolverState& state);
  void fill_kernel(std::span<const index_t> rows, const SolverState& state);
  void set_diagonal();
  bool is_unbounded_below() const;
  index_t patience_of_pairs() const;

  const DualProblem& problem_;
  KernelMatrix<T>& kernel_;
  double time_limit_;
  Control& control_;
  BlockProblem<T> block_;
  BlockNewton newton_;
  std::vector<index_t> slots_;
  PerGroup<Group> slot_groups_;
  bool is_unbounded_ = false;
  double largest_value_ = 0.0;
};

} // namespace maxmargin::dual
