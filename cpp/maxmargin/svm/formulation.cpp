#include "maxmargin/svm/formulation.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/sample_matrix.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/kernel/kernel_function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace maxmargin {
namespace {

std::vector<double> copy_of(std::span<const double> numbers) {
  return {numbers.begin(), numbers.end()};
}

} // namespace

double Formulation::excess_of(index_t column, double f, double offset_width) const {
  const double error = target_of(column) - f;
  const double wrong = sign.empty() ? share_of(error) * std::abs(error) : sign[column] * error;
  return wrong - offset_width;
}

double Formulation::loss_of(index_t column, double excess) const {
  const double positive = std::max(0.0, excess);
  switch (loss) {
  case Loss::hinge:
    return C[column] * positive;
  case Loss::squared_hinge:
    return C[column] * positive * positive;
  case Loss::hard_margin: // what the tolerance leaves has no price
    break;
  }
  return 0.0;
}

// Where u = 0, the gradient of a variable is rho + s width.
Offset Formulation::offset_of(std::span<const double> multipliers) const {
  if (!has_free_width()) return {multipliers[0], width};
  const double above = multipliers[0], below = multipliers[1];
  const double half = 0.5 * (below - above);
  return {0.5 * (above + below), is_duplicated() ? std::max(0.0, half) : half}; // but for rounding
}

Formulation c_svc(std::vector<double> y, std::vector<double> C, Loss loss) {
  return {.loss = loss, .C = std::move(C), .sign = std::move(y), .width = -1.0};
}

Formulation nu_svc(std::vector<double> y, std::vector<double> C, double sum, index_t second_group) {
  return {.C = std::move(C), .sign = std::move(y), .sum = sum, .second_group = second_group};
}

Formulation svr(std::span<const double> z, std::span<const double> C, double epsilon) {
  return {.C = copy_of(C), .target = copy_of(z), .width = epsilon};
}

Formulation nu_svr(std::span<const double> z, std::span<const double> C, double sum) {
  return {.C = copy_of(C),
          .target = copy_of(z),
          .sum = sum,
          .second_group = static_cast<index_t>(C.size())};
}

Formulation one_class(std::span<const double> C, double sum) {
  return {.C = copy_of(C), .sign = std::vector<double>(C.size(), 1.0), .sum = sum};
}

Formulation quantile_svr(std::span<const double> z, std::span<const double> C, double quantile) {
  return {.C = copy_of(C), .target = copy_of(z), .quantile = quantile};
}

void check_kernel(const KernelParams& kernel) {
  require(kernel.gamma >= 0.0 && std::isfinite(kernel.gamma),
          "gamma must be a finite number >= 0, got " + std::to_string(kernel.gamma));
  require(std::isfinite(kernel.coef0), "coef0 must be finite");
  require(kernel.degree >= 0, "degree must be >= 0, got " + std::to_string(kernel.degree));
  for (const KernelParams::Step& step : kernel.steps) check_kernel(step.kernel);
}

void check_training(const MatrixView& X, std::span<const double> C, const KernelParams& kernel,
                    const TrainingOptions& options, Control& control) {
  require(n_rows(X) > 0, "X must have a row");
  require(std::ssize(C) == n_rows(X), "C must have an element for every row of X");
  require(std::ranges::all_of(C, [](double c) { return c >= 0.0; }), "C must hold numbers >= 0");
  require(options.solver.tol > 0.0,
          "tol must be a number > 0, got " + std::to_string(options.solver.tol));
  check_kernel(kernel);
  if (kernel.type == KernelType::precomputed) return; // its values are checked where they are read
  if (is_sparse(X) || !are_finite(X, thread_count(options.threads), control)) check_samples(X);
  check_signs(X, kernel);
}

void check_classes(const MatrixView& X, std::span<const index_t> y, index_t n_classes) {
  require(std::ssize(y) == n_rows(X), "y must have an element for every row of X");
  require(n_classes >= 2, "n_classes must be at least 2");
  require(std::ranges::all_of(y, [&](index_t c) { return c >= 0 && c < n_classes; }),
          "y must hold numbers from 0 to n_classes - 1");
}

void check_nu(double nu) {
  require(nu > 0.0 && nu <= 1.0, "nu must be above 0 and at most 1, got " + std::to_string(nu));
}

dual::DualProblem dual_of(const Formulation& f) {
  dual::DualProblem problem;
  problem.second_group = f.second_group;
  problem.may_be_unbounded = f.loss == Loss::hard_margin;
  const index_t n_variables = f.n_columns() * (f.is_duplicated() ? 2 : 1);
  for (auto* by_variable : {&problem.linear, &problem.lower, &problem.upper})
    by_variable->resize(static_cast<std::size_t>(n_variables));
  for (index_t v = 0; v < n_variables; ++v) {
    const index_t column = v < f.n_columns() ? v : v - f.n_columns();
    const double sign = f.quantile ? 0.0 : f.sign_of(v), target = f.target_of(column);
    const double C = f.C[column];
    const bool has_bound = f.loss == Loss::hinge || C == 0.0;
    const double bound = has_bound ? C : std::numeric_limits<double>::infinity();
    problem.linear[v] = (f.has_free_width() ? 0.0 : sign * f.width) - target;
    problem.lower[v] = sign > 0 ? 0.0 : -f.share_of(-1.0) * bound;
    problem.upper[v] = sign < 0 ? 0.0 : f.share_of(1.0) * bound;
    if (f.loss == Loss::squared_hinge) problem.ridge.push_back(C > 0.0 ? 0.5 / C : 0.0);
  }
  if (f.sum == 0.0) return problem;
  problem.start.reserve(static_cast<std::size_t>(n_variables));
  for (std::size_t g = 0; g < problem.n_groups(); ++g) {
    const dual::Group group = problem.group(g);
    const auto bounds =
        std::span(f.C).subspan(group.begin % f.n_columns(), group.end - group.begin);
    append_greedy_start(bounds, f.sum / static_cast<double>(problem.n_groups()),
                        f.sign_of(group.begin), problem.start);
  }
  return problem;
}

void append_greedy_start(std::span<const double> C, double sum, double sign,
                         std::vector<double>& start) {
  const double dust = dual::kBoundTolerance * sum;
  for (const double bound : C) {
    const double beta = sum > 0.0 && sum >= bound - dust ? bound : sum;
    start.push_back(sign * beta);
    sum = sum - beta > dust ? sum - beta : 0.0;
  }
}

} // namespace maxmargin
