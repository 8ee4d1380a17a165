#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_error.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"
#include "maxmargin/kernel/packing.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace maxmargin {

// Segments are filled up to a multiple of this many rows: whole lines of numbers of either type.
inline constexpr index_t kSegmentLane = kLane<float>;

// How samples are packed for a kernel, found out once for any number of packings of them. The
// samples must outlive it.
struct PackingPlan {
  // Where the coefficients of all sums of kernel values will sum up to zero, samples may be centred
  // for the linear kernel too: all such sums then change by the same number (centring_correction).
  MAXMARGIN_INSIDE PackingPlan(const MatrixView& X, const KernelParams& kernel, bool sums_to_zero,
                               int threads, Control& control);

  // Multiplications that one kernel value takes on average, before the kernel's own function.
  double products_per_value() const;

  // By how much sums of the samples' own kernel values exceed those of the packed ones, where the
  // coefficients of the given samples sum up to zero.
  double centring_correction(std::span<const index_t> samples, std::span<const double> coef) const;

  // A bound on kernel values of a sample with ones like it.
  ValueBound value_bound(index_t sample) const;

  // Whether float32 could not hold the numbers whose differences are formed.
  bool needs_float64() const { return packing.needs_float64 && rate_of_difference == 0.0; }

  // X holds the values of all samples with all.
  bool is_precomputed() const { return kernel.type == KernelType::precomputed; }

  MatrixView X;
  KernelParams kernel;
  double density = 1.0;
  Packing packing;
  // m.m of the centre m by which the values of a linear kernel differ from the samples' own; else 0.
  double square_of_centre = 0.0;
  // Bounds on all kernel values: infinite where only the samples show them.
  ValueBound largest_value_bound{HUGE_VAL, HUGE_VAL};
  // Of samples that are sets of features, to a kernel of their difference; else 0.
  double rate_of_difference = 0.0;
};

// The columns of some segments, one after the other, each with its padding: KernelRows of samples
// that are packed once for any number of them, and must outlive them. The number is that of threads.
template <Real T>
using SegmentRows =
    std::function<std::unique_ptr<KernelRows<T>>(std::span<const index_t> segments, int threads)>;

// Rows are packed in segments (the classes of a classifier); every segment begins on a line and
// fills kSegmentLane.
template <Real T>
SegmentRows<T> pack_samples(const PackingPlan& plan,
                            const std::vector<std::vector<index_t>>& segments, int threads,
                            Control& control);

} // namespace maxmargin
