#pragma once

#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/dual_fit.hpp"
#include "maxmargin/svm/kernel_fit.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The distinct rows of positive weight of a training set, all in one segment. X and the kernel must
// outlive it.
class WholeSet {
 public:
  // `targets`: empty if there are none. `sums_to_zero`: the coefficients of the machine will.
  WholeSet(const MatrixView& X, std::span<const double> targets, std::span<const double> C,
           const KernelParams& kernel, bool sums_to_zero, const TrainingOptions& options,
           Control& control);

  KernelSource source() const { return {samples_, kSegments, kernel_}; }

  // One number for each row to one for each column; 0 for padding.
  std::vector<double> by_column(std::span<const double> by_row) const;
  // The bound of every column.
  std::vector<double> bounds() const { return by_column(distinct_.bounds()); }

  // The model of a machine over the columns.
  KernelFit fit_of(SvmType type, const Machine& machine) const;

 private:
  static constexpr index_t kSegments[] = {0};

  const MatrixView& X_;
  const KernelParams& params_;
  DistinctRows distinct_;
  TrainingSamples samples_;
  KernelOptions kernel_;
};

} // namespace maxmargin
