#include "svm/c_svc.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

DualProblem dual_of(std::span<const double> y, std::span<const double> C) {
  DualProblem problem;
  for (std::size_t i = 0; i < y.size(); ++i) {
    problem.linear.push_back(-y[i]);
    problem.lower.push_back(y[i] > 0 ? 0.0 : -C[i]);
    problem.upper.push_back(y[i] > 0 ? C[i] : 0.0);
  }
  return problem;
}

} // namespace

Machine train_c_svc(const KernelSource& source, std::span<const double> y,
                    std::span<const double> C, const SolverOptions& options, Control& control) {
  DualFit fit(dual_of(y, C), source, options, control);
  Machine machine;
  machine.certificate = fit.certify([&] {
    machine.rho = fit.level(0); // on the margin, y_i f(x_i) = 1 makes the gradient rho
    Objectives objectives;
    double quadratic = 0.0, losses = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (C[i] == 0.0) continue;
      const double beta = fit.solution().beta[i];
      const double kernel_sum = fit.kernel_sum(static_cast<index_t>(i));
      quadratic += beta * kernel_sum;
      losses += C[i] * std::max(0.0, 1.0 - y[i] * (kernel_sum - machine.rho));
      objectives.count(beta, C[i]);
    }
    objectives.dual = 0.5 * quadratic - objectives.magnitude;
    objectives.primal = 0.5 * quadratic + losses;
    return objectives;
  });
  machine.beta = fit.solution().beta;
  return machine;
}

} // namespace maxmargin
