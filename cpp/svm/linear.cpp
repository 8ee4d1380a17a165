#include "svm/linear.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "solver/coordinate_descent.hpp"
#include "solver/l1_coordinate_descent.hpp"

#include <algorithm>
#include <optional>

namespace maxmargin {
namespace {

// The samples as the solver of a formulation reads them, for all machines.
class Solver {
 public:
  Solver(const MatrixView& X, const LinearFormulation& formulation) {
    if (formulation.penalty == Penalty::l1)
      columns_.emplace(X);
    else
      samples_.emplace(X);
  }

  LinearSolution solve(const LinearProblem& problem, const LinearOptions& options,
                       Control& control) const {
    return columns_ ? solve_l1_coordinate_descent(*columns_, problem, options, control)
                    : solve_coordinate_descent(*samples_, problem, options, control);
  }

 private:
  std::optional<CompactSamples> samples_;
  std::optional<Columns> columns_;
};

} // namespace

std::vector<LinearSolution> train_linear(const MatrixView& X, index_t n_tasks,
                                         const std::function<LinearTask(index_t)>& make,
                                         std::span<const double> C,
                                         const LinearFormulation& formulation,
                                         const LinearOptions& options, Control& control) {
  const auto n_penalties = static_cast<index_t>(C.size());
  std::vector<LinearSolution> solutions(static_cast<std::size_t>(n_tasks * n_penalties));
  const Solver solver(X, formulation);
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
      solution = solver.solve(problem, of_task, control);
      start = std::move(solution.beta);
      solution.beta.clear();
    }
  });
  return solutions;
}

} // namespace maxmargin
