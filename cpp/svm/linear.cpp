#include "svm/linear.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "solver/coordinate_descent.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

LinearSolution solve(const CompactSamples& samples, const LinearProblem& problem,
                     const LinearOptions& options, Control& control) {
  return solve_coordinate_descent(samples, problem, options, control);
}

} // namespace

std::vector<LinearSolution> train_linear(const MatrixView& X, index_t n_tasks,
                                         const std::function<LinearTask(index_t)>& make,
                                         std::span<const double> C,
                                         const LinearFormulation& formulation,
                                         const LinearOptions& options, Control& control) {
  const auto n_penalties = static_cast<index_t>(C.size());
  std::vector<LinearSolution> solutions(static_cast<std::size_t>(n_tasks * n_penalties));
  const CompactSamples samples(X);
  parallel_for(n_tasks, thread_count(options.threads), [&](index_t t, int) {
    const LinearTask task = make(t);
    std::vector<double> upper(task.weight.size()), start;
    for (index_t c = 0; c < n_penalties; ++c) {
      std::transform(task.weight.begin(), task.weight.end(), upper.begin(),
                     [&](double weight) { return C[c] * weight; });
      const LinearProblem problem{X,
                                  task.y,
                                  upper,
                                  formulation.loss,
                                  formulation.penalty,
                                  formulation.epsilon,
                                  formulation.intercept_scaling};
      LinearOptions of_task = options;
      of_task.start = start;
      of_task.threads = n_tasks > 1 ? 1 : options.threads;
      LinearSolution& solution = solutions[t * n_penalties + c];
      solution = solve(samples, problem, of_task, control);
      start = std::move(solution.beta);
      solution.beta.clear();
    }
  });
  return solutions;
}

} // namespace maxmargin
