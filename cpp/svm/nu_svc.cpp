#include "svm/nu_svc.hpp"

#include "base/error.hpp"
#include "model/text.hpp"
#include "svm/start.hpp"

#include <algorithm>
#include <cmath>
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
constexpr double kMuchLess = 1e-3; // of a tolerance that left the sign of r open

// A nu so near to the largest feasible one is that, but for rounding.
constexpr double kSameNu = 1e-12;

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

[[noreturn]] void throw_no_margin(double largest_nu) {
  std::string message = "the margin is 0: at this nu the classes cannot be told apart; a larger nu "
                        "may help, the largest feasible one being ";
  append_real(message, largest_nu);
  throw InvalidArgument(message);
}

// The r and the rho of the problem before it is divided by r.
struct Margin {
  double r = 0.0, rho = 0.0;
};

// On the margin, y_i f(x_i) = r makes the gradient rho + r for y_i = 1 and rho - r for the others.
Margin margin_of(const DualFit& fit) {
  const double above = fit.level(0), below = fit.level(1);
  return {0.5 * (above - below), 0.5 * (above + below)};
}

// beta' K beta = ||w||^2
double square_norm(const DualFit& fit) {
  double sum = 0.0;
  for (index_t i = 0; i < fit.problem().size(); ++i)
    sum += fit.solution().beta[i] * fit.kernel_sum(i);
  return sum;
}

} // namespace

Machine train_nu_svc(const KernelSource& source, std::span<const double> y,
                     std::span<const double> bounds, double nu, index_t second_group,
                     const SolverOptions& options, Control& control) {
  // beta and r grow with the bounds, and the model does not. A power of two rounds nothing.
  const double unit = std::exp2(std::ilogb(*std::ranges::max_element(bounds)));
  std::vector<double> C;
  for (const double bound : bounds) C.push_back(bound / unit);
  const auto middle = C.begin() + second_group;
  const double first = std::accumulate(C.begin(), middle, 0.0);
  const double second = std::accumulate(middle, C.end(), 0.0);
  const double largest_s = 2.0 * std::min(first, second);
  const bool is_largest = nu * (first + second) >= (1.0 - kSameNu) * largest_s;
  const double s = is_largest ? largest_s : nu * (first + second);
  const auto require_margin = [&](bool condition) {
    if (!condition) throw_no_margin(largest_s / (first + second));
  };
  DualProblem problem = dual_of(y, C, 0.5 * s, second_group);
  SolverOptions solver = options;
  Machine machine;
  for (int round = 1;; ++round) {
    DualFit fit(problem, source, solver, control);
    const double rounding = kDust * fit.value_scale() * s; // of the gradient, with room
    const double violation = fit.solution().kkt_violation();
    const bool is_last =
        round == kMostRounds || fit.solution().stop_reason != StopReason::converged;
    double r = 0.0;
    const Certificate certificate = fit.certify([&] {
      const Margin margin = margin_of(fit);
      const double square = square_norm(fit);
      r = margin.r;
      machine.rho = margin.rho;
      // Neither w = 0 nor an r that the violation hides is told from no margin.
      if (is_largest && (square <= rounding * s || (is_last && r <= std::max(violation, 0.0)))) {
        r = 1.0 / unit;
        machine.rho = first < second ? r : first > second ? -r : 0.0;
      }
      require_margin(is_largest || r > rounding);
      Objectives objectives;
      double losses = 0.0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (C[i] == 0.0) continue;
        const double kernel_sum = fit.kernel_sum(static_cast<index_t>(i));
        losses += C[i] * std::max(0.0, r - y[i] * (kernel_sum - machine.rho));
        objectives.count(fit.solution().beta[i], C[i]);
      }
      const double scale = r != 0.0 ? 1.0 / (r * r) : 1.0; // 0 is never the last word
      objectives.dual = scale * 0.5 * square;
      objectives.primal = scale * (0.5 * square + losses - s * r);
      return objectives;
    });
    machine.certificate.add(certificate);
    machine.certificate.kkt_violation /= r;
    const bool is_stopped = certificate.stop_reason != StopReason::converged;
    const bool is_done = r > 0.0 && machine.certificate.kkt_violation < options.tol;
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
      machine.counterpart = 1.0 / (r * unit);
      return machine;
    }
    problem.start = fit.solution().beta;
    solver.tol = r > 0.0 ? kAim * options.tol * r : kMuchLess * solver.tol;
    solver.max_iter = std::max(kFewSteps, kFurtherSteps * machine.certificate.n_iter);
    if (options.max_iter >= 0)
      solver.max_iter = std::min(solver.max_iter, options.max_iter - machine.certificate.n_iter);
  }
}

} // namespace maxmargin
