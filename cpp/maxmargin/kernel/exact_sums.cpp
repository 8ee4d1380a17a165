#include "maxmargin/kernel/exact_sums.hpp"

#include "maxmargin/base/random.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

// Samples packed at a time.
constexpr std::size_t kTargets = 4096;
constexpr std::size_t kRows = 4096;

constexpr std::size_t kProbes = 8; // samples at which rounding is estimated
constexpr double kRounding = std::numeric_limits<double>::epsilon();

// Some of n places, spread over all.
std::vector<std::size_t> probes(std::size_t n) {
  std::vector<std::size_t> places(std::min(kProbes, n));
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = k * n / places.size();
  return places;
}

} // namespace

ExactSums::Terms ExactSums::terms_of(std::span<const index_t> rows,
                                     std::span<const double> coef) const {
  Terms terms;
  std::vector<index_t> place(sample_of_.size(), -1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const index_t column = rows[r] % std::ssize(sample_of_);
    if (place[column] >= 0) {
      terms.coef[place[column]] += coef[r];
      continue;
    }
    place[column] = std::ssize(terms.rows);
    terms.rows.push_back(column);
    terms.coef.push_back(coef[r]);
  }
  return terms;
}

std::vector<double> ExactSums::evaluate(std::span<const index_t> targets,
                                        std::span<const index_t> variables,
                                        std::span<const double> coef_of_variables) {
  const auto [rows, coef] = terms_of(variables, coef_of_variables);
  std::vector<double> sums;
  for (std::size_t t = 0; t < targets.size(); t += kTargets) {
    const auto some_targets = targets.subspan(t, std::min(kTargets, targets.size() - t));
    const index_t n_targets = round_up(static_cast<index_t>(some_targets.size()), kSegmentLane);
    std::vector<double> out(static_cast<std::size_t>(n_targets), 0.0);
    for (std::size_t r = 0; r < rows.size(); r += kRows) {
      const auto some_rows = std::span(rows).subspan(r, std::min(kRows, rows.size() - r));
      const auto packed = pack_samples<double>(plan_, {samples(some_targets), samples(some_rows)},
                                               threads_, control_);
      const index_t both[] = {0, 1};
      KernelMatrix<double> kernel(packed(both, threads_), 0, threads_, control_);
      std::vector<index_t> numbers(some_rows.size());
      std::iota(numbers.begin(), numbers.end(), n_targets);
      kernel.add_rows_to(n_targets, numbers, std::span(coef).subspan(r, some_rows.size()),
                         out.data());
      values_computed_ += kernel.values_computed();
    }
    sums.insert(sums.end(), out.begin(), out.begin() + static_cast<index_t>(some_targets.size()));
  }
  return sums;
}

ExactSums::Rounding ExactSums::rounding_error(std::span<const double> coef, double total,
                                              double tol) {
  std::vector<index_t> rows;
  std::vector<double> sizes;
  double magnitude = 0.0;
  for (const double c : coef) magnitude += std::abs(c);
  const double n_terms = static_cast<double>(std::ssize(coef) - std::ranges::count(coef, 0.0));
  const double growth = kRounding * roundings_of_sum(n_terms);
  const ValueBound& any = plan_.largest_value_bound;
  double error = 2.0 * magnitude * (any.error + growth * any.value);
  if (!(error <= tol) && magnitude > 0.0) {
    for (std::size_t i = 0; i < coef.size(); ++i) {
      if (coef[i] == 0.0) continue;
      rows.push_back(static_cast<index_t>(i));
      sizes.push_back(std::abs(coef[i]));
    }
    error = 2.0 * rounding_of_values(rows, sizes, growth);
  }
  const double lost = std::abs(compensated_sum(coef) - total);
  // Times m.(x - m) of the centre m.
  const double square = plan_.square_of_centre;
  if (square > 0.0) error += lost * std::sqrt(square * any.value);
  return {error, lost > kRounding * magnitude ? lost * value_scale(coef) : 0.0};
}

// Errors of the values add up like a random walk of steps t_j, to no more than the root of max t times
// sum t; those of adding up are in proportion to the partial sums, and grow like a random walk too.
double ExactSums::rounding_of_values(std::span<const index_t> rows, std::span<const double> sizes,
                                     double growth) {
  std::vector<ValueBound> own;
  std::vector<double> steps;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    own.push_back(plan_.value_bound(sample_of_[rows[r]]));
    steps.push_back(sizes[r] * own[r].error);
  }
  if (is_translation_invariant(plan_.kernel)) {
    // Values of samples that are far from each other are 0, and so are their errors; that of a
    // sample with itself has none.
    const double longest = *std::ranges::max_element(steps);
    double error = 0.0;
    for (const std::size_t place : probes(rows.size())) {
      const index_t row[] = {rows[place]};
      const double all = evaluate(row, rows, steps).front();
      const double others = std::max(0.0, all - steps[place] * own[place].value);
      error = std::max(error,
                       std::sqrt(longest * others) + growth * evaluate(row, rows, sizes).front());
    }
    return error;
  }
  // Other values are no greater than the geometric mean of those of each sample with itself.
  ValueBound most;
  for (const index_t sample : sample_of_) {
    const ValueBound bound = plan_.value_bound(sample);
    most = {std::max(most.value, bound.value), std::max(most.error, bound.error)};
  }
  double longest = 0.0, sum_of_steps = 0.0, sum = 0.0;
  for (std::size_t r = 0; r < own.size(); ++r) {
    const double step = sizes[r] * std::sqrt(own[r].error) * std::sqrt(most.error);
    longest = std::max(longest, step);
    sum_of_steps += step;
    sum += sizes[r] * std::sqrt(own[r].value) * std::sqrt(most.value);
  }
  return std::sqrt(longest) * std::sqrt(sum_of_steps) + growth * sum;
}

double ExactSums::value_scale(std::span<const double> coef) {
  const auto has_coef = [](double c) { return c != 0.0; };
  if (std::ranges::none_of(coef, has_coef)) return 0.0;
  const KernelType type = plan_.kernel.type;
  if (type == KernelType::rbf || type == KernelType::laplacian) return 1.0;
  std::vector<index_t> rows, some;
  for (std::size_t i = 0; i < coef.size(); ++i)
    if (has_coef(coef[i])) rows.push_back(static_cast<index_t>(i));
  for (const std::size_t place : probes(rows.size())) some.push_back(rows[place]);
  const auto packed = pack_samples<double>(plan_, {samples(some)}, 1, control_);
  const index_t all[] = {0};
  const auto kernel = packed(all, 1);
  const index_t n = std::ssize(some), stride = kernel->size();
  std::vector<double> values(static_cast<std::size_t>(n * stride));
  kernel->gather(identity_order(n));
  kernel->square(values.data(), stride, 1, control_);
  values_computed_ += kernel->values_computed();
  double largest = 0.0;
  for (index_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(values[k * (stride + 1)]));
  return largest;
}

std::vector<index_t> ExactSums::samples(std::span<const index_t> columns) const {
  std::vector<index_t> numbers;
  for (const index_t c : columns) numbers.push_back(sample_of_[c % std::ssize(sample_of_)]);
  return numbers;
}

} // namespace maxmargin
