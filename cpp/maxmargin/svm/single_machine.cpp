#include "maxmargin/svm/single_machine.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/dual_fit.hpp"

#include <algorithm>
#include <numeric>
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

  KernelFit fit(SvmType type, const Formulation& formulation,
                const dual::SolverOptions& options) const {
    const Machine machine = train(formulation, {samples_, kSegments, kernel_}, options, control_);
    Certificate certificate = machine.certificate;
    certificate.kernel_values += samples_.shared_values();
    std::vector<std::pair<index_t, double>> shares;
    const std::vector<index_t>& rows = samples_.segment(0);
    for (std::size_t k = 0; k < rows.size(); ++k)
      distinct_.distribute(rows[k], machine.beta[k], 1.0, false, certificate,
                           [&](index_t row, double beta) { shares.emplace_back(row, beta); });
    std::vector<index_t> support;
    std::vector<double> coef;
    for (const auto& [row, beta] : shares) {
      support.push_back(row);
      coef.push_back(beta);
    }
    const double correction = samples_.centring_correction(support, coef, coef.size());
    std::ranges::sort(shares);
    std::ranges::sort(support);
    KernelModelParts parts = parts_of(type, X_, params_, std::move(support));
    for (const auto& [row, beta] : shares) parts.dual_coef.push_back(beta);
    parts.rho = {machine.rho + correction};
    if (type == SvmType::nu_svr) parts.equivalent = {machine.equivalent};
    return finished(std::move(parts), Certificates(certificate));
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

double sum_of(std::span<const double> C) {
  return std::accumulate(C.begin(), C.end(), 0.0);
}

} // namespace

KernelFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control) {
  const SingleSegment set(X, z, C, kernel, true, options, control);
  return set.fit(SvmType::epsilon_svr, svr(set.by_column(z), set.bounds(), epsilon),
                 options.solver);
}

KernelFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control) {
  const SingleSegment set(X, z, C, kernel, true, options, control);
  return set.fit(SvmType::nu_svr, nu_svr(set.by_column(z), set.bounds(), nu * sum_of(C)),
                 options.solver);
}

KernelFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control) {
  const SingleSegment set(X, {}, C, kernel, false, options, control);
  const double sum = nu * sum_of(C);
  dual::SolverOptions solver = options.solver;
  solver.tol *= std::min(1.0, sum); // the solution scales with the sum
  return set.fit(SvmType::one_class, one_class(set.bounds(), sum), solver);
}

} // namespace maxmargin
