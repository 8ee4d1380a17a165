#pragma once

#include "svm/dual_fit.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The rows of positive weight of a training set, all in one segment.
class WholeSet {
 public:
  // `sums_to_zero`: the coefficients of the machine will.
  WholeSet(const MatrixView& X, std::span<const double> C, const KernelParams& kernel,
           bool sums_to_zero, const TrainingOptions& options, Control& control);

  KernelSource source(Fold fold) const { return {samples_, kSegments, kernel_, fold}; }

  // One number for each row to one for each column; 0 for padding.
  std::vector<double> by_column(std::span<const double> by_row) const;

  // The model of a machine over the columns.
  SingleFit fit_of(const Machine& machine) const;

 private:
  static constexpr index_t kSegments[] = {0};

  TrainingSamples samples_;
  KernelOptions kernel_;
};

} // namespace maxmargin
