#include "maxmargin/kernel/exact_sums.hpp"

#include "maxmargin/kernel/kernel_matrix.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {
namespace {

// Samples packed at a time.
constexpr std::size_t kTargets = 4096;
constexpr std::size_t kRows = 4096;

} // namespace

std::vector<double> ExactSums::evaluate(std::span<const index_t> targets,
                                        std::span<const index_t> rows,
                                        std::span<const double> coef) {
  std::vector<double> sums;
  for (std::size_t t = 0; t < targets.size(); t += kTargets) {
    const auto some_targets = targets.subspan(t, std::min(kTargets, targets.size() - t));
    const index_t n_targets = round_up(static_cast<index_t>(some_targets.size()), kSegmentLane);
    std::vector<double> out(static_cast<std::size_t>(n_targets), 0.0);
    for (std::size_t r = 0; r < rows.size(); r += kRows) {
      const auto some_rows = rows.subspan(r, std::min(kRows, rows.size() - r));
      const auto packed = pack_samples<double>(plan_, {samples(some_targets), samples(some_rows)},
                                               threads_, control_);
      const index_t both[] = {0, 1};
      KernelMatrix<double> kernel(packed->rows(both, threads_), 0, threads_, control_);
      std::vector<index_t> numbers(some_rows.size());
      std::iota(numbers.begin(), numbers.end(), n_targets);
      kernel.add_rows_to(n_targets, numbers, coef.subspan(r, some_rows.size()), out.data());
      values_computed_ += kernel.values_computed();
    }
    sums.insert(sums.end(), out.begin(), out.begin() + static_cast<index_t>(some_targets.size()));
  }
  return sums;
}

std::vector<index_t> ExactSums::samples(std::span<const index_t> columns) const {
  std::vector<index_t> numbers;
  for (const index_t c : columns) numbers.push_back(sample_of_[c]);
  return numbers;
}

} // namespace maxmargin
