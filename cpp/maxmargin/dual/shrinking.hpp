#pragma once

#include "maxmargin/dual/solver_state.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"

#include <vector>

namespace maxmargin::dual {

// Shrinking: variables at a bound where the optimality conditions hold them, twice in a row, are
// set aside, and the solver and the kernel matrix go on with the rest in contiguous arrays.
// unshrink() brings them back, with the gradient of the first shrink brought up to date by what has
// moved since (Joachims 1999, section 11.4).
template <Real T> class Shrinker {
 public:
  Shrinker(SolverState& state, KernelMatrix<T>& kernel) : state_(state), kernel_(kernel) {}

  bool is_shrunk() const { return !numbers_.empty(); }

  // Sets variables aside where these are enough to pay for the copying. Returns whether it did;
  // kept() then lists the former numbers of the others.
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
  PerGroup<Group> kept_groups_;
  std::vector<unsigned char> shrink_counts_;
  index_t rounds_ = 0;
  index_t n_bounded_aside_ = 0;
};

} // namespace maxmargin::dual
