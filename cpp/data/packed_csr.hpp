#pragma once

#include "base/aligned_buffer.hpp"
#include "data/scaling.hpp"
#include "data/views.hpp"
#include "simd/kernel_table.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace maxmargin {

// With more features than this, an array of one line for each would fall out of the caches.
inline constexpr index_t kMostDirectLines = 4096;

// Features renumbered by falling number of samples that have them. A few features of a text make up
// most of its entries; side by side they stay in the processor's caches. Features that no sample
// has take no room, however many there are. With few features, their own order.
class FeatureOrder {
 public:
  FeatureOrder() = default;
  explicit FeatureOrder(const MatrixView& X);

  // A feature that no sample has gets the number n_features().
  std::int32_t operator()(index_t feature) const {
    if (keeps_order_) return static_cast<std::int32_t>(feature);
    if (!by_feature_.empty()) return by_feature_[static_cast<std::size_t>(feature)];
    const auto found = std::lower_bound(features_.begin(), features_.end(), feature);
    if (found == features_.end() || *found != feature) return n_features_;
    return rank_[static_cast<std::size_t>(found - features_.begin())];
  }
  bool keeps_order() const { return keeps_order_; }
  std::int32_t n_features() const { return n_features_; }

 private:
  static constexpr index_t kMostCounted = index_t{1} << 22;

  std::vector<index_t> count_features(const MatrixView& X);

  bool keeps_order_ = true;
  std::int32_t n_features_ = 0;
  std::vector<index_t> features_; // those that a sample has, ascending
  std::vector<std::int32_t> rank_;
  std::vector<std::int32_t> by_feature_; // the same for every feature, unless they are very many
};

// Samples in the form that sparse_block reads: the non-zero values in the solver's type, 32-bit
// columns and half squared norms by row.
template <Real T> class PackedCsr {
 public:
  PackedCsr() = default;
  PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
            const FeatureOrder& order, const simd::RealTable<T>& table);

  index_t rows() const { return static_cast<index_t>(indptr_.size()) - 1; }
  index_t cols() const { return cols_; }
  const T* values() const { return values_.data(); }
  const std::int32_t* indices() const { return indices_.data(); }
  const std::int64_t* indptr() const { return indptr_.data(); }
  const T* half_norms() const { return half_norms_.data(); }
  index_t row_size(index_t i) const { return indptr_[i + 1] - indptr_[i]; }

 private:
  index_t cols_ = 0;
  std::vector<T> values_;
  std::vector<std::int32_t> indices_;
  std::vector<std::int64_t> indptr_{0};
  std::vector<T> half_norms_;
};

// A few queries spread out as dense columns: a line holds their values at one feature. With many
// features only those that a query has get a line, and slots() tells which, so that the lines stay
// in the processor's near caches. Clearing it costs only the features that are set.
template <Real T> class QueryTable {
 public:
  static constexpr index_t kQueries = simd::kSparseQueries<T>;

  // Requires rows.size() <= kQueries; columns of `source` beyond `cols` are left out (the other
  // side has nothing there).
  void set(const PackedCsr<T>& source, std::span<const index_t> rows, index_t cols);

  // Fills in the query side of the block.
  void describe(simd::SparseBlock<T>& block) const;

 private:
  void clear();
  T* line_of(std::int32_t feature);

  AlignedBuffer<T> lines_;
  std::vector<std::int32_t> slots_; // empty: line k is feature k
  std::vector<std::int32_t> used_;  // features
  index_t cols_ = -1;
  index_t n_queries_ = 0;
  alignas(kAlignment) T half_norms_[kQueries] = {};
};

} // namespace maxmargin
