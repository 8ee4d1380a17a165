#include "maxmargin/svm/single_machine.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/dual_fit.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace maxmargin {
namespace {

std::vector<index_t> rows_of_weight(std::span<const double> C) {
  std::vector<index_t> rows;
  for (std::size_t i = 0; i < C.size(); ++i)
    if (C[i] > 0.0) rows.push_back(static_cast<index_t>(i));
  require(!rows.empty(), "a row needs a positive weight");
  return rows;
}

// The distinct rows of positive weight of a training set, all in one segment.
class SingleSegment {
 public:
  // `targets`: empty if there are none. `sums_to_zero`: the coefficients of the machine will.
  SingleSegment(const MatrixView& X, std::span<const double> targets, std::span<const double> C,
                const KernelParams& kernel, bool sums_to_zero, const TrainingOptions& options,
                Control& control)
      : X_(X), params_(kernel), control_(control),
        distinct_(X, targets, C, kernel, options.threads, control),
        samples_(X, {rows_of_weight(distinct_.bounds())}, kernel, sums_to_zero,
                 thread_count(options.threads), control),
        kernel_(kernel_options_for(samples_, static_cast<index_t>(samples_.segment(0).size()),
                                   distinct_.usual_bound(), options)) {
    kernel_.is_only_machine = true;
  }

  // One number for each row to one for each column; 0 for padding.
  std::vector<double> by_column(std::span<const double> by_row) const {
    std::vector<double> values;
    for (const index_t row : samples_.segment(0)) values.push_back(by_row[row]);
    values.resize(static_cast<std::size_t>(samples_.n_columns(0)), 0.0);
    return values;
  }
  // The bound of every column.
  std::vector<double> bounds() const { return by_column(distinct_.bounds()); }

  // Of one machine for every formulation.
  KernelFit fit(SvmType type, const std::vector<Formulation>& formulations,
                const dual::SolverOptions& options) const {
    Certificates certificates(std::ssize(formulations));
    std::vector<double> rho, equivalent;
    std::vector<std::vector<double>> coef_of_rows;
    for (const Formulation& formulation : formulations) {
      const Machine machine = train(formulation, {samples_, kSegments, kernel_}, options, control_);
      Certificate certificate = machine.certificate;
      if (rho.empty()) certificate.kernel_values += samples_.shared_values();
      auto& by_row = coef_of_rows.emplace_back(static_cast<std::size_t>(n_rows(X_)), 0.0);
      std::vector<index_t> support;
      std::vector<double> coef;
      const std::vector<index_t>& rows = samples_.segment(0);
      for (std::size_t k = 0; k < rows.size(); ++k)
        distinct_.distribute(rows[k], machine.beta[k], formulation.share_of(machine.beta[k]), false,
                             certificate, [&](index_t row, double beta) {
                               support.push_back(row);
                               coef.push_back(beta);
                               by_row[row] = beta;
                             });
      certificates.set(std::ssize(rho), certificate);
      rho.push_back(machine.rho + samples_.centring_correction(support, coef, coef.size()));
      equivalent.push_back(machine.equivalent);
    }
    std::vector<index_t> support;
    for (index_t row = 0; row < n_rows(X_); ++row)
      if (std::ranges::any_of(coef_of_rows, [&](const auto& coef) { return coef[row] != 0.0; }))
        support.push_back(row);
    KernelModelParts parts = parts_of(type, X_, params_, std::move(support));
    for (const auto& coef : coef_of_rows)
      for (const index_t row : parts.support) parts.dual_coef.push_back(coef[row]);
    parts.rho = std::move(rho);
    if (type == SvmType::nu_svr) parts.equivalent = std::move(equivalent);
    return finished(std::move(parts), std::move(certificates));
  }

 private:
  static constexpr index_t kSegments[] = {0};

  const MatrixView& X_;
  const KernelParams& params_;
  Control& control_;
  DistinctRows distinct_;
  TrainingSamples samples_;
  KernelOptions kernel_;
};

void check_regression(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                      const KernelParams& kernel, const TrainingOptions& options,
                      Control& control) {
  check_training(X, C, kernel, options, control);
  require(std::ssize(z) == n_rows(X), "z must have an element for every row of X");
  require(all_finite(z), "z must hold finite numbers");
}

double sum_of(std::span<const double> C) {
  return std::accumulate(C.begin(), C.end(), 0.0);
}

} // namespace

KernelFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control) {
  check_regression(X, z, C, kernel, options, control);
  require(epsilon >= 0.0, "epsilon must be a number >= 0, got " + std::to_string(epsilon));
  const SingleSegment set(X, z, C, kernel, true, options, control);
  return set.fit(SvmType::epsilon_svr, {svr(set.by_column(z), set.bounds(), epsilon)},
                 options.solver);
}

KernelFit train_quantile_svr(const MatrixView& X, std::span<const double> z,
                             std::span<const double> C, std::span<const double> quantiles,
                             const KernelParams& kernel, const TrainingOptions& options,
                             Control& control) {
  check_regression(X, z, C, kernel, options, control);
  require(!quantiles.empty() &&
              std::ranges::all_of(quantiles, [](double q) { return q > 0.0 && q < 1.0; }),
          "quantiles must be above 0 and below 1");
  const SingleSegment set(X, z, C, kernel, true, options, control);
  std::vector<Formulation> formulations;
  for (const double quantile : quantiles)
    formulations.push_back(quantile_svr(set.by_column(z), set.bounds(), quantile));
  return set.fit(SvmType::epsilon_svr, formulations, options.solver);
}

KernelFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control) {
  check_regression(X, z, C, kernel, options, control);
  check_nu(nu);
  const SingleSegment set(X, z, C, kernel, true, options, control);
  return set.fit(SvmType::nu_svr, {nu_svr(set.by_column(z), set.bounds(), nu * sum_of(C))},
                 options.solver);
}

KernelFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control) {
  check_training(X, C, kernel, options, control);
  check_nu(nu);
  const SingleSegment set(X, {}, C, kernel, false, options, control);
  const double sum = nu * sum_of(C);
  dual::SolverOptions solver = options.solver;
  solver.tol *= std::min(1.0, sum); // the solution scales with the sum
  return set.fit(SvmType::one_class, {one_class(set.bounds(), sum)}, solver);
}

} // namespace maxmargin
