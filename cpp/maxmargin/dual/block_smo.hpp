#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/dual/dual_problem.hpp"
#include "maxmargin/dual/refinement.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"

namespace maxmargin::dual {

// Solves the problem by decomposition in two levels: an outer working set of many variables, solved
// by inner SMO on its square kernel block, then one batched update of the gradient with the rows of
// the variables that changed (Joachims 1999; the inner pairs as in Fan, Chen and Lin, JMLR 2005).
// Stops when  max_{I_up} -gradient - min_{I_low} -gradient < tol  over each group of variables,
// I_up being those below their upper bound and I_low those above their lower.
//
// `exact` gives the float64 sums by which the result is refined until the violation is the true
// one, where the kernel values are float32 or the gradient may have drifted; with float32 values,
// stops as imprecise where that does not lead to the tolerance.
//
// Requires kernel.size() == problem.size(). Throws NumericError when kernel values overflow, and
// Cancelled (or what the hook threw) when the caller stops it.
template <Real T>
Solution solve(const DualProblem& problem, KernelMatrix<T>& kernel, const SolverOptions& options,
               Control& control, ExactSums* exact = nullptr);

} // namespace maxmargin::dual
