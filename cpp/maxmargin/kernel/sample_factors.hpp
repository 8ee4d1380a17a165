#pragma once

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The factors by which a composed kernel multiplies its values (kernel/kernel_params.hpp), of some
// samples: as blocks of kernel values read them, filled up with zeros. Empty of other kernels.
template <Real T> class SampleFactors {
 public:
  SampleFactors() = default;
  // Of rows of the samples that have these factors: n_factors times those of all samples.
  SampleFactors(std::span<const double> factors, index_t n_factors, index_t n_samples,
                std::span<const index_t> rows)
      : n_(n_factors) {
    require(static_cast<index_t>(factors.size()) == n_factors * n_samples,
            "a kernel that has factors needs those of every sample");
    take(factors.data(), n_samples, rows);
  }

  // Those of the samples in these places.
  SampleFactors selected(std::span<const index_t> places) const {
    SampleFactors factors;
    factors.n_ = n_;
    factors.take(values_.data(), stride_, places);
    return factors;
  }

  simd::Factors<T> from(index_t place) const {
    return n_ == 0 ? simd::Factors<T>{} : simd::Factors<T>{values_.data() + place, stride_};
  }

 private:
  template <Real From> void take(const From* from, index_t stride, std::span<const index_t> rows) {
    if (n_ == 0) return;
    // The longest of lines that a block reads is that of sparse queries.
    stride_ = round_up(static_cast<index_t>(rows.size()), simd::kSparseQueries<T>);
    values_.assign(static_cast<std::size_t>(n_ * stride_), T(0));
    for (index_t f = 0; f < n_; ++f)
      for (std::size_t i = 0; i < rows.size(); ++i)
        values_[static_cast<std::size_t>(f * stride_) + i] =
            static_cast<T>(from[f * stride + rows[i]]);
  }

  index_t n_ = 0;
  index_t stride_ = 0;
  std::vector<T> values_;
};

} // namespace maxmargin
