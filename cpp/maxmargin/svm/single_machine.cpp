#include "maxmargin/svm/single_machine.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"

#include <algorithm>
#include <utility>

namespace maxmargin {
namespace {

std::vector<index_t> rows_of_weight(std::span<const double> C) {
  std::vector<index_t> rows;
  for (std::size_t i = 0; i < C.size(); ++i)
    if (C[i] > 0.0) rows.push_back(static_cast<index_t>(i));
  require(!rows.empty(), "a row needs a positive weight");
  return rows;
}

} // namespace

WholeSet::WholeSet(const MatrixView& X, std::span<const double> targets, std::span<const double> C,
                   const KernelParams& kernel, bool sums_to_zero, const TrainingOptions& options,
                   Control& control)
    : distinct_(X, targets, C, kernel, options.threads),
      samples_(X, {rows_of_weight(distinct_.bounds())}, kernel, sums_to_zero,
               thread_count(options.threads), control),
      kernel_(kernel_options_for(samples_, static_cast<index_t>(samples_.segment(0).size()),
                                 distinct_.usual_bound(), options)) {
  kernel_.is_only_machine = true;
}

std::vector<double> WholeSet::by_column(std::span<const double> by_row) const {
  std::vector<double> values;
  for (const index_t row : samples_.segment(0)) values.push_back(by_row[row]);
  values.resize(static_cast<std::size_t>(samples_.n_columns(0)), 0.0);
  return values;
}

SingleFit WholeSet::fit_of(const Machine& machine) const {
  SingleFit fit;
  fit.certificate = machine.certificate;
  fit.certificate.kernel_values += samples_.shared_values();
  std::vector<std::pair<index_t, double>> parts;
  const std::vector<index_t>& rows = samples_.segment(0);
  for (std::size_t k = 0; k < rows.size(); ++k)
    distinct_.divide(rows[k], machine.beta[k], 1.0, false, fit.certificate,
                     [&](index_t row, double beta) { parts.emplace_back(row, beta); });
  std::ranges::sort(parts);
  for (const auto& [row, beta] : parts) {
    fit.support.push_back(row);
    fit.dual_coef.push_back(beta);
  }
  fit.rho = machine.rho + samples_.level_shift(kSegments, machine.beta);
  fit.counterpart = machine.counterpart;
  return fit;
}

} // namespace maxmargin
