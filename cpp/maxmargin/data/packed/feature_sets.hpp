#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace maxmargin {

// Samples whose non-zeros are all one number (bags of words without counts,
// one-hot codes), as the sets of the features that they have.
class FeatureSets {
 public:
  FeatureSets(const MatrixView& X, std::span<const index_t> rows, int threads, Control& control);

  // The number that every non-zero of X is, if it is one and X is within the bounds of a SetBlock
  // and of a SetTable; else 0.
  static double common_value(const MatrixView& X, int threads, Control& control);

  index_t n_features() const { return n_features_; }
  index_t size(index_t i) const { return begin_[i + 1] - begin_[i]; }
  std::span<const std::uint16_t> set(index_t i) const {
    return {features_.data() + begin_[i], static_cast<std::size_t>(size(i))};
  }

  // Fills in the rows' side of the block.
  template <Real T> void describe(std::span<const index_t> rows, simd::SetBlock<T>& block) const {
    block.features = features_.data();
    block.begin = begin_.data();
    block.rows = rows.data();
    block.n_rows = static_cast<index_t>(rows.size());
  }

 private:
  explicit FeatureSets(index_t n_features) : n_features_(n_features) {}
  void append(const MatrixView& X, std::span<const index_t> rows, Control& control);

  index_t n_features_;
  std::vector<std::uint16_t> features_;
  std::vector<std::int64_t> begin_{0};
};

// Up to 64 of the sets side by side, feature by feature.
class SetTable {
 public:
  void set(const FeatureSets& samples, std::span<const index_t> columns);

  // Fills in the columns' side of the block.
  template <Real T> void describe(simd::SetBlock<T>& block) const {
    block.table = lines_.data();
    block.column_sizes = sizes_;
    block.n_columns = static_cast<index_t>(columns_.size());
  }

 private:
  void mark(const FeatureSets& samples, std::uint8_t value);

  AlignedBuffer<std::uint8_t> lines_;
  std::vector<index_t> columns_;
  alignas(kAlignment) std::uint8_t sizes_[simd::kSetColumns] = {};
};

} // namespace maxmargin
