#include "svm/primal_start.hpp"

#include "base/error.hpp"
#include "solver/newton_system.hpp"
#include "solver/primal_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace maxmargin {
namespace {

constexpr index_t kSamplesPerFeature = 8; // that make the steps cheap beside the kernel values
constexpr index_t kFewestSamples = 1024;  // fewer are soon solved by the dual's own Newton steps

constexpr index_t kUsualPasses = 32; // over all rows of X, those of other classes too

// The violation goes with the distance of the weights from those of beta, of which half the square
// is a part of the gap. The factor leaves room for objectives and rows much larger than 1.
constexpr double kGapShare = 1e-8;

} // namespace

bool has_primal_start(const KernelParams& kernel, const MatrixView& X, index_t n_samples,
                      const SolverOptions& options) {
  const bool has_limit = options.max_iter >= 0 || std::isfinite(options.time_limit);
  return kernel.type == KernelType::linear && !has_limit && n_cols(X) <= kFewFeatures &&
         n_samples >= std::max(kFewestSamples, kSamplesPerFeature * n_cols(X)) &&
         n_samples * n_samples >= kUsualPasses * n_rows(X);
}

DualStart primal_start(const MatrixView& X, std::span<const double> y, std::span<const double> C,
                       const SolverOptions& options, int threads, Control& control) {
  const LinearProblem problem{
      .X = X, .y = y, .C = C, .intercept_scaling = std::numeric_limits<double>::infinity()};
  LinearOptions newton;
  newton.tol = kGapShare * options.tol * options.tol;
  newton.threads = threads;
  // The caller of a dual solver is told of violations, not of this method's gap.
  Control quiet([&](const Progress&) {
    control.poll();
    return true;
  });
  try {
    LinearSolution solution = solve_primal_newton(problem, newton, quiet);
    return {std::move(solution.beta), solution.n_iter};
  } catch (const NumericError&) { // the dual may stay within range
    return {};
  }
}

} // namespace maxmargin
