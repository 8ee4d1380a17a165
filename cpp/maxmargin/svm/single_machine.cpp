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
    : X_(X), params_(kernel), distinct_(X, targets, C, kernel, options.threads),
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

KernelFit WholeSet::fit_of(SvmType type, const Machine& machine) const {
  Certificate certificate = machine.certificate;
  certificate.kernel_values += samples_.shared_values();
  std::vector<std::pair<index_t, double>> shares;
  const std::vector<index_t>& rows = samples_.segment(0);
  for (std::size_t k = 0; k < rows.size(); ++k)
    distinct_.divide(rows[k], machine.beta[k], 1.0, false, certificate,
                     [&](index_t row, double beta) { shares.emplace_back(row, beta); });
  std::ranges::sort(shares);
  std::vector<index_t> support;
  for (const auto& [row, beta] : shares) support.push_back(row);
  KernelModelParts parts = parts_of(type, X_, params_, std::move(support));
  for (const auto& [row, beta] : shares) parts.dual_coef.push_back(beta);
  parts.rho = {machine.rho + samples_.level_shift(kSegments, machine.beta)};
  if (type == SvmType::nu_svr) parts.equivalent = {machine.counterpart};
  return finished(std::move(parts), {certificate});
}

} // namespace maxmargin
