#pragma once

#include "maxmargin/data/packed/feature_sets.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"

#include <vector>

namespace maxmargin {

// The powers of exp(-rate) that make all kernel values of sets.
template <Real T> struct PowersOfDifference {
  explicit PowersOfDifference(double rate);

  alignas(kAlignment) T low[16];  // exp(-rate k)
  alignas(kAlignment) T high[16]; // exp(-rate 16 k)
};

// By how much a feature that one of two samples lacks, and that is `value` in the other, makes the
// kernel's exponent fall: the kernel is exp(-rate difference). 0 where it is not of this kind.
double rate_of_difference(const KernelParams& kernel, double value);

// Kernel rows over samples that are sets: differences are counted in bytes and values looked up,
// exact but for three roundings (simd/sets.inc.hpp). Columns are spread out 64 at a time, and rows
// pass by them.
template <Real T> class SetKernelRows final : public KernelRows<T> {
 public:
  // `columns` are rows of `samples`, which must outlive this, like `powers`.
  SetKernelRows(const FeatureSets& samples, std::vector<index_t> columns, int threads,
                const PowersOfDifference<T>& powers);

  // Whether the active instruction set can do this.
  static bool are_there();

  void gather(std::span<const index_t> rows) override;
  void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                int thread) override;
  bool adds_directly() const override { return true; }
  void add(index_t first, index_t n, index_t begin, index_t end, const double* coef, double* out,
           int thread) override;
  void square(T* out, index_t stride, int threads, Control& control) override;
  std::unique_ptr<KernelRows<T>> restricted(std::span<const index_t> columns) const override;

 private:
  std::span<const index_t> columns_at(index_t c, index_t end) const;
  // These columns, spread out already or by the thread.
  const SetTable& spread_at(index_t c, index_t end, int thread);
  // The queries first .. first + n - 1 against columns that are spread out; they count as computed.
  simd::SetBlock<T> block(const SetTable& columns, index_t first, index_t n);

  const FeatureSets& samples_;
  std::vector<index_t> columns_;
  const PowersOfDifference<T>& powers_;
  const simd::RealTable<T>& table_;
  std::vector<index_t> queries_;
  std::vector<SetTable> spread_;     // by thread
  std::vector<SetTable> all_spread_; // all columns, 64 at a time, or none
};

} // namespace maxmargin
