#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/linear_problem.hpp"

#include <functional>

namespace maxmargin::linear {

using Solve = std::function<LinearSolution(const LinearProblem&, const LinearOptions&)>;

// A problem with penalty l2 of fewer samples than features, by `solve` on the samples that count in
// the coordinates of sample_rotation.hpp. The bounds are those of the weights in the given ones.
LinearSolution solve_few_samples(const LinearProblem& problem, const LinearOptions& options,
                                 Control& control, const Solve& solve);

} // namespace maxmargin::linear
