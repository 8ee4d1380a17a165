#include "svm/nu_svc.hpp"

#include "base/error.hpp"
#include "svm/start.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {
namespace {

// Where r is small, the problem is solved again, from where it was, until the violation is small
// beside r. It never gets so where r is 0 at the optimum: a further round may take so many times
// the steps of those before.
constexpr int kMostRounds = 4;
constexpr double kAim = 0.8;
constexpr index_t kFurtherSteps = 10;
constexpr index_t kFewSteps = 50000;

DualProblem dual_of(std::span<const double> y, std::span<const double> C, double sum,
                    index_t second_group) {
  DualProblem problem;
  problem.second_group = second_group;
  problem.linear.assign(y.size(), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    problem.lower.push_back(y[i] > 0 ? 0.0 : -C[i]);
    problem.upper.push_back(y[i] > 0 ? C[i] : 0.0);
  }
  const auto first = static_cast<std::size_t>(second_group);
  problem.start = filled_up(C.first(first), sum, 1.0);
  const std::vector<double> second = filled_up(C.subspan(first), sum, -1.0);
  problem.start.insert(problem.start.end(), second.begin(), second.end());
  return problem;
}

void require_margin(bool condition) {
  require(condition,
          "the margin is 0: at this nu the classes cannot be told apart; a larger nu may "
          "help");
}

} // namespace

Machine train_nu_svc(const KernelSource& source, std::span<const double> y,
                     std::span<const double> C, double nu, index_t second_group,
                     const SolverOptions& options, Control& control) {
  const auto middle = C.begin() + second_group;
  const double first = std::accumulate(C.begin(), middle, 0.0);
  const double second = std::accumulate(middle, C.end(), 0.0);
  const double s = std::min({nu * (first + second), 2.0 * first, 2.0 * second});
  DualProblem problem = dual_of(y, C, 0.5 * s, second_group);
  SolverOptions solver = options;
  Machine machine;
  for (int round = 1;; ++round) {
    DualFit fit(problem, source, solver, control);
    double r = 0.0;
    const Certificate certificate = fit.certify([&] {
      // On the margin, y_i f(x_i) = r makes the gradient rho + r for y_i = 1 and rho - r for the
      // others.
      const double above = fit.level(0), below = fit.level(1);
      r = 0.5 * (above - below);
      machine.rho = 0.5 * (above + below);
      require_margin(r > 0.0);
      Objectives objectives;
      double quadratic = 0.0, losses = 0.0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (C[i] == 0.0) continue;
        const double beta = fit.solution().beta[i];
        const double kernel_sum = fit.kernel_sum(static_cast<index_t>(i));
        quadratic += beta * kernel_sum;
        losses += C[i] * std::max(0.0, r - y[i] * (kernel_sum - machine.rho));
        objectives.count(beta, C[i]);
      }
      objectives.dual = 0.5 * quadratic / (r * r);
      objectives.primal = (0.5 * quadratic + losses - s * r) / (r * r);
      return objectives;
    });
    machine.certificate.add(certificate);
    machine.certificate.kkt_violation /= r;
    const bool is_stopped = certificate.stop_reason != StopReason::converged;
    const bool is_done = machine.certificate.kkt_violation < options.tol;
    if (is_stopped || is_done || round == kMostRounds) {
      // What did not stop at the caller's wish is as good as it gets.
      const bool is_callers_stop = certificate.stop_reason == StopReason::time_limit ||
                                   machine.certificate.n_iter == options.max_iter;
      require_margin(is_done || is_callers_stop || machine.certificate.kkt_violation < 1.0);
      if (is_done)
        machine.certificate.stop_reason = StopReason::converged;
      else if (!is_stopped)
        machine.certificate.stop_reason = StopReason::stalled;
      machine.beta = fit.solution().beta;
      for (double& beta : machine.beta) beta /= r;
      machine.rho /= r;
      machine.counterpart = 1.0 / r;
      return machine;
    }
    problem.start = fit.solution().beta;
    solver.tol = kAim * options.tol * r;
    solver.max_iter = std::max(kFewSteps, kFurtherSteps * machine.certificate.n_iter);
    if (options.max_iter >= 0)
      solver.max_iter = std::min(solver.max_iter, options.max_iter - machine.certificate.n_iter);
  }
}

} // namespace maxmargin
