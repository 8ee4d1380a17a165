#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace maxmargin {

// Samples by feature (compressed sparse columns), for methods that go through them in that way.
// Zeros are left out, values have the type of the samples, and numbers of samples take room only
// where there is a zero. Requires: fewer than 2^31 samples.
class Columns {
 public:
  // On so many threads; 0: all that may be used.
  Columns(const MatrixView& X, int threads, Control& control);

  index_t n_features() const { return static_cast<index_t>(begins_.size()) - 1; }
  index_t size(index_t j) const { return begins_[j + 1] - begins_[j]; }

  // Calls use(i, x_ij) for the samples that have feature j, in ascending order.
  template <class Use> void for_entries(index_t j, const Use& use) const {
    std::visit(
        [&](const auto& values) {
          const auto* x = values.data() + begins_[j];
          const std::int32_t* rows = rows_.data() + begins_[j];
          if (rows_.size() == 0)
            for (index_t e = 0; e < size(j); ++e) use(e, static_cast<double>(x[e]));
          else
            for (index_t e = 0; e < size(j); ++e) use(index_t{rows[e]}, static_cast<double>(x[e]));
        },
        values_);
  }

 private:
  template <Real T> void copy(const DenseView<T>& X, int threads, Control& control);
  template <Real T, class I> void copy(const CsrView<T, I>& X, int threads, Control& control);
  template <Real T> AlignedBuffer<T>& make_room(bool has_zeros);

  std::vector<index_t> begins_; // at first, the number of entries of the feature before
  AlignedBuffer<std::int32_t> rows_;
  std::variant<AlignedBuffer<float>, AlignedBuffer<double>> values_;
};

} // namespace maxmargin
