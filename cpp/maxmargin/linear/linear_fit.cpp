#include "maxmargin/linear/linear_fit.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/linear/descent/crammer_singer.hpp"
#include "maxmargin/linear/linear_solver.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

namespace maxmargin::linear {
namespace {

// Below it, 1 / C_i of the squared losses' dual overflows: such a sample counts as one of weight 0.
constexpr double kLeastBound = 0x1p-1019;

constexpr index_t kFewestPasses = 10; // over the samples, that a task makes

// What one machine is trained on: y by sample, and the factors of C.
struct Task {
  std::vector<double> y, weight;
};

// The time limit of all solves in equal shares of what is left, for those that run side by side.
class TimeShares {
 public:
  TimeShares(double limit, index_t n_solves, int threads, const Control& control)
      : limit_(limit), n_left_(n_solves), threads_(threads), control_(control) {}

  // Of the next solve.
  double next() {
    const auto rounds = static_cast<double>((n_left_-- + threads_ - 1) / threads_);
    return std::max(0.0, limit_ - control_.seconds()) / std::max(1.0, rounds);
  }

 private:
  double limit_;
  std::atomic<index_t> n_left_;
  index_t threads_;
  const Control& control_;
};

// Solves every task for every C, each from the solution before it; tasks run side by side. make(t)
// returns task t, and solve(task, C by sample, options) its solution.
template <class Make, class Solve>
auto solve_tasks(const MatrixView& X, index_t n_tasks, const Make& make, std::span<const double> C,
                 const LinearOptions& options, const Control& control, const Solve& solve) {
  using Solution = std::invoke_result_t<Solve, Task, std::span<const double>, LinearOptions>;
  std::vector<Solution> solutions(static_cast<std::size_t>(n_tasks) * C.size());
  const double work = static_cast<double>(n_tasks * kFewestPasses * n_stored(X));
  const int threads = thread_count_for(options.threads, work);
  TimeShares shares(options.time_limit, n_tasks * std::ssize(C),
                    static_cast<int>(std::min<index_t>(threads, n_tasks)), control);
  parallel_for(n_tasks, threads, [&](index_t t, int) {
    const Task task = make(t);
    std::vector<double> upper(task.weight.size()), start;
    for (std::size_t c = 0; c < C.size(); ++c) {
      std::transform(task.weight.begin(), task.weight.end(), upper.begin(), [&](double factor) {
        const double bound = C[c] * factor;
        return bound < kLeastBound ? 0.0 : bound;
      });
      LinearOptions of_task = options;
      of_task.start = start;
      of_task.is_capped = options.max_iter >= 0;
      of_task.threads = n_tasks > 1 ? 1 : options.threads;
      of_task.time_limit = shares.next();
      Solution& solution = solutions[static_cast<std::size_t>(t) * C.size() + c];
      solution = solve(task, upper, of_task);
      start = std::move(solution.beta);
      solution.beta.clear();
    }
  });
  return solutions;
}

std::span<LinearSeparator> separators_of(LinearSolution& solution) {
  return {&solution.separator, 1};
}
std::span<LinearSeparator> separators_of(MulticlassSolution& solution) {
  return solution.separators;
}

// By fold and C, of solutions by fold, machine and C.
template <class Solution>
std::vector<LinearFit> fits_of(std::vector<Solution> solutions, index_t n_machines,
                               std::size_t n_penalties) {
  std::vector<LinearFit> fits;
  if (solutions.empty()) return fits;
  const index_t n_functions = n_machines * std::ssize(separators_of(solutions.front()));
  const std::size_t of_fold = static_cast<std::size_t>(n_machines) * n_penalties;
  for (std::size_t first = 0; first < solutions.size(); first += of_fold)
    for (std::size_t c = 0; c < n_penalties; ++c) {
      LinearFit& fit = fits.emplace_back();
      for (std::size_t k = first + c; k < first + of_fold; k += n_penalties) {
        fit.outcomes.push_back(solutions[k]);
        for (LinearSeparator& separator : separators_of(solutions[k])) {
          fit.intercept.push_back(separator.b);
          if (n_functions == 1) {
            fit.coef = std::move(separator.w);
            continue;
          }
          fit.coef.reserve(static_cast<std::size_t>(n_functions) * separator.w.size());
          fit.coef.insert(fit.coef.end(), separator.w.begin(), separator.w.end());
        }
      }
    }
  return fits;
}

template <class Make>
std::vector<LinearSolution> solve_separate(const MatrixView& X, index_t n_tasks, const Make& make,
                                           std::span<const double> C,
                                           const LinearFormulation& formulation,
                                           const LinearOptions& options, Control& control) {
  const bool is_for_one = n_tasks * std::ssize(C) == 1;
  const LinearSolver solver(X, formulation, is_for_one, options.threads, control);
  return solve_tasks(
      X, n_tasks, make, C, options, control,
      [&](const Task& task, std::span<const double> upper, const LinearOptions& of_task) {
        const LinearProblem problem{formulation, solver.samples(), task.y, upper};
        return solver.solve(problem, of_task, control);
      });
}

bool is_held_out(const ClassSamples& samples, index_t i, index_t fold) {
  return !samples.fold_of.empty() && samples.fold_of[i] == fold;
}

// Class `positive` against the rest, without the samples of a fold.
Task one_against_rest(const ClassSamples& samples, index_t fold, index_t positive, double scale) {
  const index_t n = std::ssize(samples.y);
  const double of_rest = samples.n_classes() == 2 ? samples.class_weight[0] : 1.0;
  Task task;
  task.y.reserve(samples.y.size());
  task.weight.reserve(samples.y.size());
  for (index_t i = 0; i < n; ++i) {
    const bool is_positive = samples.y[i] == positive;
    const double factor = scale * (is_positive ? samples.class_weight[positive] : of_rest);
    task.y.push_back(is_positive ? 1.0 : -1.0);
    task.weight.push_back(is_held_out(samples, i, fold) ? 0.0 : samples.weight[i] * factor);
  }
  return task;
}

std::vector<LinearFit> fit_multiclass(const ClassSamples& samples, index_t n_folds,
                                      std::span<const double> C, double intercept_scaling,
                                      const LinearOptions& options, Control& control) {
  const CompactSamples compact(samples.X, options.threads, control);
  const auto make = [&](index_t fold) {
    Task task;
    for (index_t i = 0; i < std::ssize(samples.y); ++i)
      task.weight.push_back(is_held_out(samples, i, fold)
                                ? 0.0
                                : samples.weight[i] * samples.class_weight[samples.y[i]]);
    return task;
  };
  const auto solve = [&](const Task&, std::span<const double> upper, const LinearOptions& of_task) {
    const MulticlassProblem problem{samples.X, samples.y, samples.n_classes(), upper,
                                    intercept_scaling};
    return solve_crammer_singer(compact, problem, of_task, control);
  };
  return fits_of(solve_tasks(samples.X, n_folds, make, C, options, control, solve), 1, C.size());
}

void check_costs(std::span<const double> C, std::span<const double> weight,
                 const LinearOptions& options) {
  require(std::ranges::all_of(C, [](double c) { return c > 0.0 && std::isfinite(c); }),
          "C must hold finite numbers > 0");
  require(std::ranges::all_of(weight, [](double w) { return w >= 0.0 && std::isfinite(w); }),
          "weights must be finite numbers >= 0");
  require(options.tol > 0.0, "tol must be > 0, got " + std::to_string(options.tol));
}

} // namespace

std::vector<LinearFit> fit_linear_classifier(const ClassSamples& samples, std::span<const double> C,
                                             const LinearFormulation& formulation,
                                             const LinearOptions& options, Control& control) {
  const index_t n = n_rows(samples.X), n_classes = samples.n_classes();
  require(n_classes >= 2, "there must be two classes");
  require(std::ssize(samples.y) == n && std::ssize(samples.weight) == n &&
              (samples.fold_of.empty() || std::ssize(samples.fold_of) == n),
          "y, weight and fold_of must have an element for every row of X");
  for (const index_t code : samples.y)
    require(code >= 0 && code < n_classes, "y must hold classes in [0, n_classes)");
  check_costs(C, samples.weight, options);
  check_costs(C, samples.class_weight, options);
  const index_t n_folds = samples.fold_of.empty() ? 1 : samples.n_folds;
  if (formulation.is_multiclass && n_classes > 2)
    return fit_multiclass(samples, n_folds, C, formulation.intercept_scaling, options, control);
  LinearFormulation separate = formulation;
  // Of two classes, w_1 = -w_0 at the least value: w = w_1 - w_0 solves the problem of the hinge
  // loss with 2 C, whose objective is twice that of both.
  const double scale = formulation.is_multiclass ? 2.0 : 1.0;
  if (formulation.is_multiclass) {
    separate.loss = LinearLoss::hinge;
    separate.penalty = Penalty::l2;
  }
  const index_t n_machines = n_classes == 2 ? 1 : n_classes;
  const auto make = [&](index_t t) {
    return one_against_rest(samples, t / n_machines, n_classes == 2 ? 1 : t % n_machines, scale);
  };
  std::vector<LinearFit> fits =
      fits_of(solve_separate(samples.X, n_folds * n_machines, make, C, separate, options, control),
              n_machines, C.size());
  for (LinearFit& fit : fits)
    for (LinearOutcome& outcome : fit.outcomes) {
      outcome.primal_objective /= scale;
      outcome.dual_objective /= scale;
    }
  return fits;
}

std::vector<LinearFit> fit_linear_regression(const MatrixView& X, std::span<const double> y,
                                             std::span<const double> weight,
                                             std::span<const double> C,
                                             const LinearFormulation& formulation,
                                             const LinearOptions& options, Control& control) {
  require(std::ssize(y) == n_rows(X) && std::ssize(weight) == n_rows(X),
          "targets and weight must have one element for every row of X");
  require(all_finite(y), "y must hold finite numbers");
  check_costs(C, weight, options);
  const auto make = [&](index_t) {
    return Task{{y.begin(), y.end()}, {weight.begin(), weight.end()}};
  };
  return fits_of(solve_separate(X, 1, make, C, formulation, options, control), 1, C.size());
}

} // namespace maxmargin::linear
