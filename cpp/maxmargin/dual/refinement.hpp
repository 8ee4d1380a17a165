#pragma once

#include "maxmargin/dual/solver_state.hpp"
#include "maxmargin/kernel/exact_sums.hpp"

#include <vector>

namespace maxmargin::dual {

// Iterative refinement of a solution that was found with float32 kernel values. The gradient that
// the solver keeps, linear + K beta, is off by what the values' rounding errors sum up to. Where
// the solver believes it has converged, the gradient is evaluated in float64 for the variables that
// decide about it, and put in place of the solver's; if the violation then is too large after all,
// the solver goes on from there, and its errors grow only with what still moves (Wilkinson 1963,
// chapter 3, on iterative refinement).
//
// Which variables decide: the ends of the optimality interval, and all that come so near to them
// that four times the largest error seen so far could make them the ends.
class Refinement {
 public:
  explicit Refinement(ExactSums& exact) : exact_(exact) {}

  // Puts exact gradients in place until the violation that the state shows is the true one. All
  // variables must be there.
  void find_true_ends(SolverState& state, const std::vector<double>& linear);

  // Puts exact gradients in place for every variable that may take part in further steps. Returns
  // false where several such rounds have not halved the violation: further ones would not either.
  bool prepare_to_go_on(SolverState& state, const std::vector<double>& linear, double violation);

 private:
  void begin(const SolverState& state);
  void append_possible_ends(const SolverState& state, const Group& group,
                            std::vector<index_t>& variables) const;
  void replace(const std::vector<index_t>& variables, SolverState& state,
               const std::vector<double>& linear);

  ExactSums& exact_;
  std::vector<index_t> rows_; // the variables that are not zero
  std::vector<double> coef_;
  std::vector<char> is_exact_;
  double largest_error_ = 0.0;
  double last_violation_ = 0.0; // of the last round; 0 before
  int n_idle_rounds_ = 0;
};

} // namespace maxmargin::dual
