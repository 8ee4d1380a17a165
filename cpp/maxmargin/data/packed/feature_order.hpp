#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace maxmargin {

// The numbers 0 .. count.size() - 1 by falling count; of equal ones the lower is first.
std::vector<index_t> by_falling_count(std::span<const index_t> count);

// Features renumbered by falling number of samples that have them, and how many of the first make
// up the head. A few features of a text are in most of its entries; those of the head are met by
// every sample, those of the tail only through lists of the samples that have them. Features that
// no sample has take no room, however many there are. With few features, their own order, and no
// tail. Wide features belong to neither: their differences are formed pair by pair.
class FeatureOrder {
 public:
  FeatureOrder() = default;
  // The wide features ascend.
  FeatureOrder(const MatrixView& X, Control& control, std::vector<index_t> wide = {});

  // A feature that no sample has gets the number n_features().
  std::int32_t operator()(index_t feature) const {
    if (keeps_order_) return static_cast<std::int32_t>(feature);
    if (!by_feature_.empty()) return by_feature_[static_cast<std::size_t>(feature)];
    const auto found = std::lower_bound(features_.begin(), features_.end(), feature);
    if (found == features_.end() || *found != feature) return n_features_;
    return rank_[static_cast<std::size_t>(found - features_.begin())];
  }
  // The number of a wide feature among them, or -1.
  std::int32_t wide(index_t feature) const {
    if (wide_.empty()) return -1;
    const auto found = std::lower_bound(wide_.begin(), wide_.end(), feature);
    if (found == wide_.end() || *found != feature) return -1;
    return static_cast<std::int32_t>(found - wide_.begin());
  }
  std::int32_t n_features() const { return n_features_; }
  std::int32_t n_head() const { return n_head_; }

 private:
  static constexpr index_t kMostCounted = index_t{1} << 22;

  std::vector<index_t> count_features(const MatrixView& X, Control& control);

  bool keeps_order_ = true;
  std::int32_t n_features_ = 0;
  std::int32_t n_head_ = 0;
  std::vector<index_t> wide_;
  std::vector<index_t> features_; // those that a sample has, ascending
  std::vector<std::int32_t> rank_;
  std::vector<std::int32_t> by_feature_; // the same for every feature, unless they are very many
};

} // namespace maxmargin
