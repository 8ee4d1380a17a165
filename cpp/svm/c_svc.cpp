#include "svm/c_svc.hpp"

#include "base/error.hpp"
#include "kernel/kernel_matrix.hpp"
#include "solver/block_smo.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// How far the rounding of float32 values is expected to show at most in the objectives of the
// certificate, one part in three of what it promises.
constexpr double kDualShare = 3e-7;
constexpr double kGapShare = 0.03;
constexpr double kToleranceShare = 3e-4;

DualProblem dual_of(std::span<const double> y, std::span<const double> C) {
  DualProblem problem;
  for (std::size_t i = 0; i < y.size(); ++i) {
    problem.linear.push_back(-y[i]);
    problem.lower.push_back(y[i] > 0 ? 0.0 : -C[i]);
    problem.upper.push_back(y[i] > 0 ? C[i] : 0.0);
  }
  return problem;
}

// A free variable lies on the margin: y_i f(x_i) = 1 makes its gradient rho. Without one, any rho
// between the two ends is optimal, and the middle is taken (LIBSVM's rule).
double rho_of(const Solution& solution, const DualProblem& problem) {
  double sum = 0.0;
  index_t n_free = 0;
  for (std::size_t i = 0; i < problem.linear.size(); ++i)
    if (solution.beta[i] > problem.lower[i] && solution.beta[i] < problem.upper[i]) {
      sum += solution.gradient[i];
      ++n_free;
    }
  return n_free > 0 ? sum / static_cast<double>(n_free) : -(solution.up + solution.low) / 2.0;
}

struct Objectives {
  double quadratic = 0.0; // beta' K beta
  double square = 0.0;    // beta' beta
  double bounds = 0.0;    // the sum of C_i^2 over the support vectors
  double sum_alpha = 0.0;
  double losses = 0.0;

  double dual() const { return 0.5 * quadratic - sum_alpha; }
  double primal() const { return 0.5 * quadratic + losses; }

  // Errors of the kernel values add up like a random walk, in K beta and again in the sums over it,
  // of beta (K beta)_i in the quadratic form and of C (K beta)_i in the losses. The violations that
  // the tolerance admits make a gap of up to tol sum_alpha; of that, little is enough.
  bool are_sharp(double value_error, double tol) const {
    const double gap = std::abs(primal() + dual());
    return value_error * square <= kDualShare * std::abs(dual()) &&
           value_error * std::sqrt(square * bounds) <=
               std::max(kGapShare * gap, kToleranceShare * tol * sum_alpha);
  }
};

// Puts exact gradients in place for the support vectors, which make up the objectives and rho.
void sharpen(Solution& solution, const DualProblem& problem, const ExactSums& exact) {
  std::vector<index_t> rows;
  std::vector<double> coef;
  for (std::size_t i = 0; i < solution.beta.size(); ++i)
    if (solution.beta[i] != 0.0) {
      rows.push_back(static_cast<index_t>(i));
      coef.push_back(solution.beta[i]);
    }
  const std::vector<double> sums = exact.evaluate(rows, rows, coef);
  for (std::size_t k = 0; k < rows.size(); ++k)
    solution.gradient[rows[k]] = problem.linear[rows[k]] + sums[k];
}

Objectives objectives_of(const Solution& solution, std::span<const double> y,
                         std::span<const double> C, double rho) {
  Objectives sums;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (C[i] == 0.0) continue;
    const double kernel_sum = solution.gradient[i] + y[i]; // (K beta)_i
    sums.quadratic += solution.beta[i] * kernel_sum;
    sums.square += solution.beta[i] * solution.beta[i];
    if (solution.beta[i] != 0.0) sums.bounds += C[i] * C[i];
    sums.sum_alpha += std::abs(solution.beta[i]);
    sums.losses += C[i] * std::max(0.0, 1.0 - y[i] * (kernel_sum - rho));
  }
  return sums;
}

template <Real T>
std::unique_ptr<KernelRows<T>> kernel_rows(const TrainingSamples& samples,
                                           std::span<const index_t> segments,
                                           const KernelOptions& kernel) {
  if (kernel.whole_matrix == nullptr) return samples.rows<T>(segments, kernel.threads);
  if constexpr (std::is_same_v<T, float>)
    return samples.stored_rows(segments, kernel.whole_matrix->narrow);
  else
    return samples.stored_rows(segments, kernel.whole_matrix->wide);
}

} // namespace

BinarySvc train_c_svc(const TrainingSamples& samples, std::span<const index_t> segments,
                      std::span<const double> y, std::span<const double> C,
                      const KernelOptions& kernel, const SolverOptions& options, Control& control) {
  const double begin = control.seconds();
  DualProblem problem = dual_of(y, C);
  BinarySvc machine;
  Certificate& certificate = machine.certificate;
  const auto solve_in = [&]<Real T>(const ExactSums* exact) {
    KernelMatrix<T> matrix(kernel_rows<T>(samples, segments, kernel), kernel.cache_bytes,
                           kernel.threads, control);
    SolverOptions left = options;
    if (left.max_iter >= 0) left.max_iter -= certificate.n_iter;
    Solution solution = solve(problem, matrix, left, control, exact);
    certificate.n_iter += solution.n_iter;
    certificate.kernel_rows += static_cast<index_t>(matrix.rows_computed());
    certificate.cache_hits += static_cast<index_t>(matrix.cache_hits());
    certificate.cache_misses += static_cast<index_t>(matrix.cache_misses());
    return solution;
  };
  Solution solution;
  bool is_narrow = kernel.in_float32;
  const ExactSums exact = samples.exact_sums(segments, kernel.threads);
  if (is_narrow) {
    try {
      solution = solve_in.template operator()<float>(&exact);
      is_narrow = solution.stop_reason != StopReason::imprecise;
      problem.start = solution.beta;
    } catch (const NumericError&) { // values beyond the range of float32
      is_narrow = false;
    }
  }
  if (!is_narrow) solution = solve_in.template operator()<double>(nullptr);

  machine.rho = rho_of(solution, problem);
  Objectives objectives = objectives_of(solution, y, C, machine.rho);
  if (is_narrow && !objectives.are_sharp(kernel.float32_error, options.tol)) {
    sharpen(solution, problem, exact);
    machine.rho = rho_of(solution, problem);
    objectives = objectives_of(solution, y, C, machine.rho);
  }
  certificate.dual_objective = objectives.dual();
  certificate.primal_objective = objectives.primal();
  certificate.kkt_violation = solution.kkt_violation();
  if (!std::isfinite(certificate.primal_objective) || !std::isfinite(machine.rho))
    throw NumericError("kernel values overflow");
  certificate.stop_reason = solution.stop_reason;
  certificate.seconds = control.seconds() - begin;
  machine.beta = std::move(solution.beta);
  return machine;
}

} // namespace maxmargin
