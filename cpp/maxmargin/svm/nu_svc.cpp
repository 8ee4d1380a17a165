#include "maxmargin/svm/nu_svc.hpp"

#include "maxmargin/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace maxmargin {
namespace {

// Where r is small, the problem is solved again from the last solution, until the violation is
// small compared with r. That never happens where r is 0 at the optimum, so a further round may
// take only so many times the steps of those before.
constexpr int kMostRounds = 4;
constexpr double kAim = 0.8;
constexpr index_t kFurtherSteps = 10;
constexpr index_t kFewSteps = 50000;
constexpr double kMuchLess = 1e-3; // of a tolerance that left the sign of r open

// A nu so near to the largest feasible one is that, but for rounding.
constexpr double kSameNu = 1e-12;

[[noreturn]] void throw_no_margin(double largest_nu) {
  char digits[32];
  char* const end = std::to_chars(digits, digits + sizeof digits, largest_nu).ptr;
  throw InvalidArgument("the margin is 0: at this nu the classes cannot be separated; a larger nu "
                        "may help, the largest feasible one being " +
                        std::string(digits, end));
}

} // namespace

Machine train_nu_svc(const KernelSource& source, std::vector<double> y, std::vector<double> C,
                     double nu, index_t second_group, const dual::SolverOptions& options,
                     Control& control) {
  // beta and r grow with the bounds, and the model does not. A power of two rounds nothing.
  const double unit = std::exp2(std::ilogb(*std::ranges::max_element(C)));
  for (double& bound : C) bound /= unit;
  const auto middle = C.begin() + second_group;
  const double first = std::accumulate(C.begin(), middle, 0.0);
  const double second = std::accumulate(middle, C.end(), 0.0);
  const double largest_s = 2.0 * std::min(first, second);
  const bool is_largest = nu * (first + second) >= (1.0 - kSameNu) * largest_s;
  const double s = is_largest ? largest_s : nu * (first + second);
  const auto require_margin = [&](bool condition) {
    if (!condition) throw_no_margin(largest_s / (first + second));
  };
  const Formulation formulation = nu_svc(std::move(y), std::move(C), s, second_group);
  dual::DualProblem problem = dual_of(formulation);
  dual::SolverOptions solver = options;
  Machine machine;
  for (int round = 1;; ++round) {
    DualFit fit(formulation, problem, source, solver, control);
    const double rounding =
        dual::kBoundTolerance * fit.value_scale() * s; // of the gradient, with room
    const double violation = fit.solution().kkt_violation();
    const bool is_last =
        round == kMostRounds || fit.solution().stop_reason != optim::StopReason::converged;
    double r = 0.0;
    const auto evaluate = [&] {
      const Offset offset = fit.offset();
      r = -offset.width;
      Objectives objectives = fit.objectives_at(offset, options.tol * std::max(0.0, r));
      machine.rho = offset.rho;
      // Neither w = 0 nor an r below the violation can be distinguished from no margin.
      if (is_largest &&
          (objectives.quadratic <= rounding * s || (is_last && r <= std::max(violation, 0.0)))) {
        r = 1.0 / unit;
        machine.rho = first < second ? r : first > second ? -r : 0.0;
        objectives = fit.objectives_at({machine.rho, -r}, options.tol * r);
      }
      require_margin(is_largest || r > rounding);
      return objectives;
    };
    const Certificate certificate = fit.certify(std::ref(evaluate));
    machine.certificate.add(certificate);
    machine.certificate.kkt_violation /= r;
    const double scale = r != 0.0 ? 1.0 / (r * r) : 1.0; // r = 0 has a further round
    machine.certificate.dual_objective *= scale;
    machine.certificate.primal_objective *= scale;
    const bool is_stopped = certificate.stop_reason != optim::StopReason::converged;
    const bool is_done = r > 0.0 && machine.certificate.kkt_violation < options.tol;
    if (is_stopped || is_done || round == kMostRounds) {
      // A fit that ended neither by a limit of the caller nor at the tolerance has stalled.
      const bool is_callers_stop = certificate.stop_reason == optim::StopReason::time_limit ||
                                   machine.certificate.n_iter == options.max_iter;
      require_margin(is_done || is_callers_stop || machine.certificate.kkt_violation < 1.0);
      if (is_done)
        machine.certificate.stop_reason = optim::StopReason::converged;
      else if (!is_stopped)
        machine.certificate.stop_reason = optim::StopReason::stalled;
      machine.beta = fit.take_beta();
      for (double& beta : machine.beta) beta /= r;
      machine.rho /= r;
      machine.equivalent = 1.0 / (r * unit);
      return machine;
    }
    const std::span<const double> beta = fit.solution().beta;
    problem.start.assign(beta.begin(), beta.end());
    solver.tol = r > 0.0 ? kAim * options.tol * r : kMuchLess * solver.tol;
    solver.max_iter = std::max(kFewSteps, kFurtherSteps * machine.certificate.n_iter);
    if (options.max_iter >= 0)
      solver.max_iter = std::min(solver.max_iter, options.max_iter - machine.certificate.n_iter);
  }
}

} // namespace maxmargin
