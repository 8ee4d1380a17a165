#pragma once

#include "maxmargin/data/views.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace maxmargin {

// Samples by feature (compressed sparse columns), for methods that go through them in that way.
// Zeros are left out. Requires: fewer than 2^31 samples.
class Columns {
 public:
  explicit Columns(const MatrixView& X);

  index_t n_features() const { return static_cast<index_t>(begins_.size()) - 1; }
  std::span<const std::int32_t> rows(index_t j) const {
    return std::span(rows_).subspan(static_cast<std::size_t>(begins_[j]), size(j));
  }
  std::span<const double> values(index_t j) const {
    return std::span(values_).subspan(static_cast<std::size_t>(begins_[j]), size(j));
  }

 private:
  std::size_t size(index_t j) const {
    return static_cast<std::size_t>(begins_[j + 1] - begins_[j]);
  }

  std::vector<index_t> begins_;
  std::vector<std::int32_t> rows_;
  std::vector<double> values_;
};

} // namespace maxmargin
