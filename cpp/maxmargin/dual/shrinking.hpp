#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/dual/dual_problem.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <vector>

namespace maxmargin::dual {

// The variables that the solver works on: all of them, or the active ones while shrunk.
struct SolverState {
  SolverState() = default;
  explicit SolverState(index_t size); // all zero: no variable can move
  explicit SolverState(const DualProblem& problem);

  simd::PairView view(const Group& group) const {
    return {beta.data() + group.begin, gradient.data() + group.begin, lower.data() + group.begin,
            upper.data() + group.begin, group.end - group.begin};
  }
  void export_to(Solution& solution) const;

  index_t n = 0;
  AlignedBuffer<double> beta, gradient, lower, upper;
  std::vector<Group> groups; // each begins on a line
};

// What select_first finds, by group.
using Ends = std::vector<simd::Violation>;

Ends ends_of(const SolverState& state);
double violation_of(const Ends& ends);

// Shrinking: variables at a bound where the optimality conditions hold them, twice in a row, are
// set aside, and the solver and the kernel matrix go on with the rest in contiguous arrays.
// unshrink() brings them back, with the gradient of the first shrink brought up to date by what has
// moved since (Joachims 1999, section 11.4).
template <Real T> class Shrinker {
 public:
  Shrinker(SolverState& state, KernelMatrix<T>& kernel) : state_(state), kernel_(kernel) {}

  bool is_shrunk() const { return !numbers_.empty(); }

  // Looks for variables to set aside, and does so when they are enough to pay for the copying.
  // Returns whether it did; kept() then tells the former numbers of those that are left.
  bool shrink(const Ends& ends, double tol);
  const std::vector<index_t>& kept() const { return kept_; } // -1 for padding between groups

  void unshrink();

  // How many of the variables set aside are not zero.
  index_t n_bounded_aside() const { return n_bounded_aside_; }

 private:
  void find_kept(const Ends& ends);
  void write_back();

  SolverState& state_;
  KernelMatrix<T>& kernel_;
  SolverState full_;             // as of the first shrink, but for beta, which is newer
  std::vector<double> start_;    // beta as of the first shrink
  std::vector<index_t> numbers_; // of the active variables in full_, -1 for padding
  std::vector<index_t> kept_;
  std::vector<Group> kept_groups_;
  std::vector<unsigned char> strikes_;
  index_t rounds_ = 0;
  index_t n_bounded_aside_ = 0;
};

} // namespace maxmargin::dual
