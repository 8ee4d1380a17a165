#include "svm/one_class.hpp"

#include "svm/single_machine.hpp"
#include "svm/start.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {

SingleFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control) {
  const WholeSet set(X, {}, C, kernel, false, options, control);
  const std::vector<double> bounds = set.bounds();
  const double s = nu * std::accumulate(C.begin(), C.end(), 0.0);
  DualProblem problem;
  problem.linear.assign(bounds.size(), 0.0);
  problem.lower.assign(bounds.size(), 0.0);
  problem.upper = bounds;
  problem.start = filled_up(bounds, s, 1.0);
  SolverOptions solver = options.solver;
  solver.tol *= std::min(1.0, s);
  DualFit fit(std::move(problem), set.source(Fold::single), solver, control);
  Machine machine;
  machine.certificate = fit.certify([&] {
    machine.rho = fit.level(0);
    Objectives objectives;
    double quadratic = 0.0, losses = 0.0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (bounds[i] == 0.0) continue;
      const double beta = fit.solution().beta[i];
      const double kernel_sum = fit.kernel_sum(static_cast<index_t>(i));
      quadratic += beta * kernel_sum;
      losses += bounds[i] * std::max(0.0, machine.rho - kernel_sum);
      objectives.count(beta, bounds[i]);
    }
    objectives.dual = 0.5 * quadratic;
    objectives.primal = 0.5 * quadratic + losses - s * machine.rho;
    return objectives;
  });
  machine.beta = fit.solution().beta;
  return set.fit_of(machine);
}

} // namespace maxmargin
