#include "maxmargin/data/packed/feature_order.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/data/scaling.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace maxmargin {
namespace {

// With more features than this, an array of one line for each would fall out of the caches.
constexpr index_t kMostDirectLines = 4096;

// An entry of the head costs every query a multiplication; one of the tail costs only the queries
// that have the feature, but many times as much. So features of more than this share of the samples
// belong to the head, and a few hundred more, for which there is room near the processor.
constexpr double kHeadShare = 0.05;
constexpr std::int32_t kLeastHead = 1024;
constexpr std::int32_t kMostHead = 1 << 14;

constexpr index_t kRowsPerPoll = 64;

} // namespace

// A counting sort: counts are at most the number of samples, and small for most features.
std::vector<index_t> by_falling_count(std::span<const index_t> count) {
  const index_t largest = count.empty() ? 0 : *std::ranges::max_element(count);
  std::vector<index_t> place(static_cast<std::size_t>(largest) + 2, 0); // of the next such count
  for (const index_t c : count) ++place[largest - c + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<index_t> order(count.size());
  for (std::size_t k = 0; k < count.size(); ++k)
    order[place[largest - count[k]]++] = static_cast<index_t>(k);
  return order;
}

FeatureOrder::FeatureOrder(const MatrixView& X, Control& control, std::vector<index_t> wide)
    : wide_(std::move(wide)) {
  if (n_cols(X) <= kMostDirectLines) {
    n_features_ = n_head_ = static_cast<std::int32_t>(n_cols(X));
    return;
  }
  keeps_order_ = false;
  const std::vector<index_t> count = count_features(X, control);
  require(features_.size() < std::numeric_limits<std::int32_t>::max(),
          "sparse X may have at most 2147483646 features that are not zero throughout");
  n_features_ = static_cast<std::int32_t>(features_.size());
  const std::vector<index_t> order = by_falling_count(count);
  rank_.resize(features_.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank_[order[r]] = static_cast<std::int32_t>(r);
  const auto is_frequent = [&](index_t k) {
    return static_cast<double>(count[k]) > kHeadShare * static_cast<double>(n_rows(X));
  };
  const auto n_frequent = std::ranges::partition_point(order, is_frequent) - order.begin();
  n_head_ = std::min(n_features_,
                     std::clamp(static_cast<std::int32_t>(n_frequent), kLeastHead, kMostHead));
  if (n_cols(X) > kMostCounted) return;
  by_feature_.assign(static_cast<std::size_t>(n_cols(X)), n_features_);
  for (std::size_t k = 0; k < features_.size(); ++k) by_feature_[features_[k]] = rank_[k];
}

// Finds the features that a sample has; returns how many have each.
std::vector<index_t> FeatureOrder::count_features(const MatrixView& X, Control& control) {
  const auto for_each_entry = [&](const auto& visit) {
    std::visit(
        [&](const auto& view) {
          for (index_t i = 0; i < view.rows; ++i) {
            if (i % kRowsPerPoll == kRowsPerPoll - 1) control.poll();
            for_each_feature<double>(view, i, Scaling{}, [&](index_t k, double x) {
              if (x != 0.0) visit(k);
            });
          }
        },
        X);
  };
  std::vector<index_t> count;
  if (n_cols(X) <= kMostCounted) {
    std::vector<index_t> by_feature(static_cast<std::size_t>(n_cols(X)), 0);
    for_each_entry([&](index_t k) { ++by_feature[k]; });
    for (index_t k = 0; k < n_cols(X); ++k)
      if (by_feature[k] > 0) {
        features_.push_back(k);
        count.push_back(by_feature[k]);
      }
  } else {
    std::vector<index_t> entries;
    for_each_entry([&](index_t k) { entries.push_back(k); });
    std::sort(entries.begin(), entries.end());
    for (auto first = entries.begin(); first != entries.end();) {
      const auto last = std::upper_bound(first, entries.end(), *first);
      features_.push_back(*first);
      count.push_back(last - first);
      first = last;
    }
  }
  return count;
}

} // namespace maxmargin
