#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/columns.hpp"
#include "maxmargin/linear/linear_problem.hpp"

namespace maxmargin::linear {

// Goes on from a solution of the squared hinge with penalty l1 whose weights are mostly 0: proximal
// Newton's method on the features that have a weight and on those with the steepest losses, until
// none of the others is too steep; else the steepest of them join. Ends where these would be more
// than a matrix of pairs of features is made for. n_iter counts Newton steps.
LinearSolution solve_l1_working_set(const Columns& columns, const LinearProblem& problem,
                                    const LinearSolution& before, const LinearOptions& options,
                                    Control& control);

} // namespace maxmargin::linear
