#pragma once

#include "base/control.hpp"
#include "data/views.hpp"
#include "kernel/kernel_params.hpp"
#include "solver/dual_problem.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// A feasible point of a dual problem, and the steps that led to it.
struct DualStart {
  std::vector<double> beta; // empty: none
  index_t n_iter = 0;
};

// Whether primal_start pays for n_samples rows of X: with the linear kernel, many more samples than
// features, and no limit of steps or time, neither of which a start would heed: its gradient takes
// as many kernel values as there are pairs of samples. The squared hinge leaves nearly every sample
// free that is not far on its own side, and a Newton step of the dual has a matrix as large as
// there are free variables. The rank of K is no more than the number of features, though, and so is
// the size of Newton's matrix in the primal.
bool has_primal_start(const KernelParams& kernel, const MatrixView& X, index_t n_samples,
                      const SolverOptions& options);

// The solution of train_squared_hinge_svc with the linear kernel by Newton's method in the primal
// (solver/primal_newton.hpp), with a bias that has no penalty: alpha_i = 2 C_i max(0, 1 - y_i
// f(x_i)), made feasible. Rounding may leave a violation beyond the tolerance.
//
// Requires: y_i is -1 or +1, C_i >= 0 is finite; samples with C_i = 0 have no part in it.
DualStart primal_start(const MatrixView& X, std::span<const double> y, std::span<const double> C,
                       const SolverOptions& options, int threads, Control& control);

} // namespace maxmargin
