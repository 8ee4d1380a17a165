#pragma once

#include "maxmargin/linear/linear_problem.hpp"

#include <utility>

namespace maxmargin::linear {

// Whether a solver has ended before its goal, and not because the caller wanted it to.
bool has_failed(const LinearOutcome& outcome, const LinearOptions& options);

// What is left to do where `before` has ended: it may go on from there, in the time and the
// iterations that are left.
LinearOptions rest_of(LinearOptions options, const LinearSolution& before);

// The better separator and the better bound of two attempts at one problem; the second where it has
// converged.
LinearSolution better_of(LinearSolution first, LinearSolution second, double tol);

// Of two solvers, where the first has failed after so many iterations, the second goes on.
template <class First, class Second>
LinearSolution in_turn(const LinearOptions& options, index_t n_tried, const First& first,
                       const Second& second) {
  LinearOptions few = options;
  if (options.max_iter < 0 || options.max_iter > n_tried) few.max_iter = n_tried;
  LinearSolution solution = first(few);
  if (!has_failed(solution, options)) return solution;
  LinearSolution last = second(rest_of(options, solution), solution);
  return better_of(std::move(solution), std::move(last), options.tol);
}

// After all attempts: weights of 0 where a solution that has not converged is worse.
void conclude(LinearSolution& solution, const LinearProblem& problem, double tol);

// The iterations after which the objectives are evaluated for the best model so far, since more of
// them are not to make a worse one than fewer: where the caller has set max_iter, all of those that
// take few elements, else the start and 1, 2 and 5 times a power of ten; without, these from the
// hundredth on. A look takes half a pass of a dual descent.
class Looks {
 public:
  Looks(bool is_capped, double elements)
      : is_capped_(is_capped), are_all_(is_capped && elements <= kFewElements) {}

  // 0 is the start.
  bool is_due(index_t iteration) const {
    if (iteration < (is_capped_ ? 1 : kFirstWithoutCap)) return is_capped_;
    while (iteration % 10 == 0) iteration /= 10;
    return are_all_ || iteration == 1 || iteration == 2 || iteration == 5;
  }

 private:
  static constexpr double kFewElements = 1e5; // a pass over them takes a tenth of a millisecond
  static constexpr index_t kFirstWithoutCap = 100;
  bool is_capped_, are_all_;
};

} // namespace maxmargin::linear
