#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"

#include <cstdint>

namespace maxmargin {

// Above this share of elements that are not zero, dense rows are read faster as they are.
inline constexpr double kDensest = 0.25;

// Dense samples that are mostly zero, as sparse rows of the same values. Requires: fewer than 2^31
// elements.
template <Real T> class SparseCopy {
 public:
  // On so many threads; 0: all that may be used.
  SparseCopy(const DenseView<T>& X, int threads, Control& control);

  CsrView<T, std::int32_t> view() const {
    return {values_.data(), columns_.data(), begins_.data(), rows_, cols_};
  }

 private:
  index_t rows_, cols_;
  AlignedBuffer<std::int32_t> begins_, columns_;
  AlignedBuffer<T> values_;
};

// Whether so few elements are not zero that sparse rows are read faster; judged by some of the
// rows.
template <Real T> bool is_mostly_zero(const DenseView<T>& X);

} // namespace maxmargin
