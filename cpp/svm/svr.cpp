#include "svm/svr.hpp"

#include "svm/single_machine.hpp"
#include "svm/start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin {
namespace {

// Samples of a regression: the targets and bounds of the columns, padding included.
struct Regression {
  Regression(const WholeSet& set, std::span<const double> targets)
      : z(set.by_column(targets)), C(set.bounds()) {}

  index_t n() const { return static_cast<index_t>(z.size()); }

  // All alpha, then all -alpha*.
  DualProblem dual(double epsilon) const {
    DualProblem problem;
    for (const double sign : {1.0, -1.0})
      for (index_t i = 0; i < n(); ++i) {
        problem.linear.push_back(-z[i] + sign * epsilon);
        problem.lower.push_back(sign > 0 ? 0.0 : -C[i]);
        problem.upper.push_back(sign > 0 ? C[i] : 0.0);
      }
    return problem;
  }

  // The primal objective without the price of epsilon, and the dual one, at the given rho and
  // epsilon.
  Objectives objectives(const DualFit& fit, double rho, double epsilon) const {
    Objectives result;
    double quadratic = 0.0, product = 0.0, losses = 0.0, sum = 0.0;
    for (index_t i = 0; i < n(); ++i) {
      if (C[i] == 0.0) continue;
      const double up = fit.solution().beta[i], down = fit.solution().beta[n() + i];
      const double beta = up + down;
      // Of the two, the gradient of one that is not zero is the more precise.
      const double kernel_sum = fit.kernel_sum(down != 0.0 ? n() + i : i);
      quadratic += beta * kernel_sum;
      product += z[i] * beta;
      sum += up - down;
      losses += C[i] * std::max(0.0, std::abs(z[i] - (kernel_sum - rho)) - epsilon);
      result.count(beta, C[i]);
    }
    result.dual = 0.5 * quadratic - product;
    result.primal = 0.5 * quadratic + losses;
    result.magnitude = sum;
    return result;
  }

  // Gives the machine beta of every column, and counts those: alpha and alpha* of one sample may
  // both be non-zero, without a tube and where training was stopped.
  void fold(const std::vector<double>& both, Machine& machine) const {
    Certificate& certificate = machine.certificate;
    certificate.n_free = certificate.n_bounded = 0;
    for (index_t i = 0; i < n(); ++i) {
      const double beta = both[i] + both[n() + i];
      machine.beta.push_back(beta);
      if (beta == 0.0) continue;
      const bool is_free = std::abs(beta) < (1.0 - kDust) * C[i];
      ++(is_free ? certificate.n_free : certificate.n_bounded);
    }
  }

  std::vector<double> z, C;
};

} // namespace

SingleFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control) {
  const WholeSet set(X, z, C, kernel, true, options, control);
  const Regression regression(set, z);
  DualFit fit(regression.dual(epsilon), set.source(Fold::twofold), options.solver, control);
  Machine machine;
  machine.certificate = fit.certify([&] {
    // On the tube's edge, z_i - f(x_i) = +-epsilon makes the gradient rho.
    machine.rho = fit.level(0);
    Objectives objectives = regression.objectives(fit, machine.rho, epsilon);
    objectives.dual += epsilon * objectives.magnitude;
    return objectives;
  });
  regression.fold(fit.solution().beta, machine);
  return set.fit_of(machine);
}

SingleFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control) {
  const WholeSet set(X, z, C, kernel, true, options, control);
  const Regression regression(set, z);
  const double price = nu * std::accumulate(C.begin(), C.end(), 0.0);
  DualProblem problem = regression.dual(0.0);
  problem.second_group = regression.n();
  problem.start = filled_up(regression.C, 0.5 * price, 1.0);
  for (index_t i = 0; i < regression.n(); ++i) problem.start.push_back(-problem.start[i]);
  DualFit fit(std::move(problem), set.source(Fold::twofold), options.solver, control);
  Machine machine;
  machine.certificate = fit.certify([&] {
    // On the tube's edge the gradient is rho - epsilon for alpha and rho + epsilon for alpha*.
    const double above = fit.level(0), below = fit.level(1);
    machine.rho = 0.5 * (above + below);
    machine.counterpart = std::max(0.0, 0.5 * (below - above)); // negative by rounding, if ever
    Objectives objectives = regression.objectives(fit, machine.rho, machine.counterpart);
    objectives.primal += price * machine.counterpart;
    return objectives;
  });
  regression.fold(fit.solution().beta, machine);
  return set.fit_of(machine);
}

} // namespace maxmargin
