#pragma once

#include "maxmargin/kernel/exact_sums.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "maxmargin/svm/stored_pair.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

namespace maxmargin {

// The samples of a training set in segments (its classes), packed in a type at the first use of it.
// The samples must outlive it. Safe to use from several threads. `sums_to_zero` as in PackingPlan.
class TrainingSamples {
 public:
  TrainingSamples(const MatrixView& X, std::vector<std::vector<index_t>> segments,
                  const KernelParams& kernel, bool sums_to_zero, int threads, Control& control);

  const std::vector<index_t>& segment(index_t s) const { return segments_[s]; }
  index_t n_segments() const { return static_cast<index_t>(segments_.size()); }
  // Columns of a segment, padding included.
  index_t n_columns(index_t s) const {
    return round_up(static_cast<index_t>(segments_[s].size()), lane_);
  }

  // Where all machines are of small pairs whose values are stored, in float64: those of a segment
  // with all after it are computed together, and there is less padding.
  void share_strips() { lane_ = kLane<double>; }

  template <Real T>
  std::unique_ptr<KernelRows<T>> rows(std::span<const index_t> segments, int threads) const;

  // Likewise of two segments, with all their values in `pair`. The kernel matrix of a segment with
  // itself is computed once for all calls.
  template <Real T>
  std::unique_ptr<KernelRows<T>> stored_rows(std::span<const index_t> segments, int threads,
                                             StoredPair<T>& pair) const;

  // Computes the values of all columns with all into `values`, which must outlive this. stored_rows
  // then takes those of its segments from there, unless `pair` holds those of the same already.
  template <Real T> void store_all(AlignedBuffer<T>& values, int threads);
  // They, row by row; nullptr where they were not computed.
  template <Real T> const T* all_values() const { return packed<T>().all; }
  // Whether stored_rows may be asked for: not where all values stand in the other type.
  template <Real T> bool may_store() const {
    return all_values<T>() != nullptr ||
           (all_values<float>() == nullptr && all_values<double>() == nullptr);
  }
  index_t n_columns() const { return begin_.back(); }  // of all segments
  index_t begin(index_t s) const { return begin_[s]; } // of a segment among them

  // Multiplications of one kernel value.
  double products_per_value() const { return plan_.products_per_value(); }

  // For the columns of rows(segments).
  ExactSums exact_sums(std::span<const index_t> segments, int threads) const;

  // Whether values are those of samples less a centre, so that a model of the samples themselves has
  // another offset: by centring_correction, to be added to rho. Its first n_first coefficients are of
  // one segment, the others of another.
  bool has_centring_correction() const { return plan_.square_of_centre > 0.0; }
  double centring_correction(std::span<const index_t> support, std::span<const double> coef,
                             std::size_t n_first) const;

  bool needs_float64() const { return plan_.needs_float64(); }

  // About how far float32 kernel values are off: measured on a few samples, and at least the
  // rounding of the largest of their values.
  double float32_error() const;

  // Kernel values computed so far for all machines alike, which none of their KernelRows counts.
  index_t shared_values() const { return shared_values_; }

 private:
  template <Real T> struct Diagonal {
    std::once_flag once;
    AlignedBuffer<T> values;
  };
  template <Real T> struct Packed {
    explicit Packed(std::size_t n_segments) : diagonals(n_segments) {}
    std::once_flag once;
    SegmentRows<T> samples;
    std::vector<Diagonal<T>> diagonals; // by segment
    const T* all = nullptr;             // values
  };
  template <Real T> Packed<T>& packed() const {
    if constexpr (std::is_same_v<T, float>)
      return float_;
    else
      return double_;
  }
  template <Real T> const T* diagonal_block(index_t s) const;
  template <Real T>
  std::unique_ptr<KernelRows<T>> rows_of_all(std::span<const index_t> segments,
                                             StoredPair<T>& pair) const;
  template <Real T> void compute_strip(index_t s, StoredPair<T>& pair) const;
  template <Real T>
  void evaluate(KernelRows<T>& kernel, index_t n, index_t begin, T* out, index_t stride) const;
  template <Real T> std::vector<T> kernel_of(const std::vector<index_t>& samples) const;

  PackingPlan plan_;
  std::vector<std::vector<index_t>> segments_;
  std::vector<index_t> begin_; // of each, where all are packed; the number of columns
  index_t lane_ = kSegmentLane;
  int threads_;
  Control& control_;
  mutable Packed<float> float_;
  mutable Packed<double> double_;
  mutable std::atomic<index_t> shared_values_ = 0;
};

} // namespace maxmargin
