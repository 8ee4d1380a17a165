#include "svm/squared_hinge_svc.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin {
namespace {

DualProblem dual_of(std::span<const double> y, std::span<const double> C) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  DualProblem problem;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double bound = C[i] > 0.0 ? infinity : 0.0;
    problem.linear.push_back(-y[i]);
    problem.lower.push_back(y[i] > 0 ? 0.0 : -bound);
    problem.upper.push_back(y[i] > 0 ? bound : 0.0);
  }
  return problem;
}

std::vector<double> ridge_of(std::span<const double> C) {
  std::vector<double> ridge;
  for (const double c : C) ridge.push_back(c > 0.0 ? 0.5 / c : 0.0);
  return ridge;
}

} // namespace

Machine train_squared_hinge_svc(KernelSource source, std::span<const double> y,
                                std::span<const double> C, const SolverOptions& options,
                                Control& control) {
  source.ridge = ridge_of(C);
  DualProblem problem = dual_of(y, C);
  const bool is_hard_margin = std::ranges::any_of(C, [](double c) { return std::isinf(c); });
  problem.may_be_unbounded = is_hard_margin;
  DualFit fit(std::move(problem), source, options, control);
  require(fit.solution().stop_reason != StopReason::unbounded,
          is_hard_margin
              ? "C=inf, the hard margin, needs classes that can be separated by this kernel, which "
                "must be positive semidefinite, and these cannot: use a finite C or another kernel"
              : "the squared hinge loss needs a positive semidefinite kernel, and this one is "
                "not: the objective has no least value");
  Machine machine;
  machine.certificate = fit.certify([&] {
    machine.rho = fit.level(0);
    Objectives objectives;
    double quadratic = 0.0, ridge = 0.0, losses = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (C[i] == 0.0) continue;
      const double beta = fit.solution().beta[i];
      const double kernel_sum = fit.kernel_sum(static_cast<index_t>(i));
      const double slack = std::max(0.0, 1.0 - y[i] * (kernel_sum - machine.rho));
      quadratic += beta * kernel_sum;
      ridge += source.ridge[i] * beta * beta;
      // With the hard margin, what the tolerance leaves of a slack has no price.
      if (std::isfinite(C[i])) losses += C[i] * slack * slack;
      objectives.count(beta, std::abs(beta));
    }
    objectives.dual = 0.5 * (quadratic + ridge) - objectives.magnitude;
    objectives.primal = 0.5 * quadratic + losses;
    return objectives;
  });
  machine.beta = fit.solution().beta;
  return machine;
}

} // namespace maxmargin
