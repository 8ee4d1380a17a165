#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/dual/solver_state.hpp"

namespace maxmargin::dual {

// The variables of a small dual problem. Arrays are padded to a cache line with variables that
// cannot move.
class BlockVariables : public VariableArrays {
 public:
  void resize(index_t n); // one group

  // Notes which variables, or whether variable t, may grow and fall.
  void note_bounds();
  void note_bounds(index_t t);
  simd::StepView step_view(const Group& group);

  index_t n = 0;
  PerGroup<Group> groups; // each begins on a line
  bool may_be_unbounded = false;
  bool is_unbounded = false;                  // a direction of unbounded descent was found
  double total_step = 0.0;                    // sum of |step| over all steps and variables
  std::span<std::uint8_t> may_grow, may_fall; // bit t % 8 of byte t / 8

 private:
  AlignedBuffer<std::uint8_t> bits_;
};

// A dual problem on few variables whose kernel matrix stands in memory.
template <Real T> class BlockProblem : public BlockVariables {
 public:
  void resize(index_t n);

  // Takes a matrix that stands elsewhere.
  void borrow(const T* matrix, index_t n);

  index_t stride = 0;
  AlignedBuffer<T> own;      // n x stride, unless borrowed
  const T* kernel = nullptr; // own or borrowed
  AlignedBuffer<T> diagonal;

 private:
  void resize_diagonal();
};

double largest_magnitude(const BlockVariables& block); // of its beta

// Sequential minimal optimisation on the block: the pair of the most violating variable and the
// partner that promises the largest decrease moves to the minimum along its direction or to the
// first bound (Fan, Chen and Lin, JMLR 2005, algorithm 2, in signed form), until the block's
// violation is below `tol`, or no pair can move within the precision of its numbers, or `max_iter`
// pair steps are done. Of two groups, the one with the greater violation steps. Updates beta and
// gradient of the block; returns the number of pair steps.
template <Real T>
index_t solve_block(BlockProblem<T>& block, double tol, index_t max_iter, Control& control);

} // namespace maxmargin::dual
