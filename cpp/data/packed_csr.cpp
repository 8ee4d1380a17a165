#include "data/packed_csr.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/scaling.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace maxmargin {

FeatureOrder::FeatureOrder(const MatrixView& X) {
  if (n_cols(X) <= kMostDirectLines) {
    n_features_ = static_cast<std::int32_t>(n_cols(X));
    return;
  }
  keeps_order_ = false;
  const std::vector<index_t> count = count_features(X);
  require(features_.size() < std::numeric_limits<std::int32_t>::max(),
          "sparse X may have at most 2147483646 features that are not zero throughout");
  n_features_ = static_cast<std::int32_t>(features_.size());
  std::vector<index_t> order = identity_order(n_features_);
  std::stable_sort(order.begin(), order.end(),
                   [&](index_t a, index_t b) { return count[a] > count[b]; });
  rank_.resize(features_.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank_[order[r]] = static_cast<std::int32_t>(r);
  if (n_cols(X) > kMostCounted) return;
  by_feature_.assign(static_cast<std::size_t>(n_cols(X)), n_features_);
  for (std::size_t k = 0; k < features_.size(); ++k) by_feature_[features_[k]] = rank_[k];
}

// Finds the features that a sample has; returns how many have each.
std::vector<index_t> FeatureOrder::count_features(const MatrixView& X) {
  const auto for_each_entry = [&](const auto& visit) {
    std::visit(
        [&](const auto& view) {
          for (index_t i = 0; i < view.rows; ++i)
            for_each_feature<double>(view, i, Scaling{}, [&](index_t k, double x) {
              if (x != 0.0) visit(k);
            });
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

template <Real T>
PackedCsr<T>::PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
                        const FeatureOrder& order, const simd::RealTable<T>& table)
    : cols_(order.n_features()) {
  std::vector<T> values;
  std::vector<std::int32_t> indices;
  indptr_.reserve(rows.size() + 1);
  half_norms_.reserve(rows.size());
  std::visit(
      [&](const auto& view) {
        if constexpr (!is_dense<std::decay_t<decltype(view)>>) {
          std::size_t nnz = 0;
          for (const index_t i : rows) nnz += view.row_values(i).size();
          values.reserve(nnz);
          indices.reserve(nnz);
        }
        std::vector<std::pair<std::int32_t, T>> row;
        for (const index_t i : rows) {
          row.clear();
          for_each_feature<T>(view, i, scaling, [&](index_t k, T x) {
            if (x != T(0)) row.push_back({order(k), x});
          });
          if (!order.keeps_order()) std::sort(row.begin(), row.end());
          for (const auto& [k, x] : row) {
            indices.push_back(k);
            values.push_back(x);
          }
          const std::int64_t begin = indptr_.back();
          indptr_.push_back(static_cast<std::int64_t>(values.size()));
          half_norms_.push_back(
              table.sparse_half_norm(values.data() + begin, indptr_.back() - begin));
        }
      },
      X);
  values_ = std::move(values);
  indices_ = std::move(indices);
}

template <Real T> void QueryTable<T>::clear() {
  for (const std::int32_t k : used_) {
    const index_t line = slots_.empty() ? k : slots_[k];
    std::fill_n(lines_.data() + line * kQueries, kQueries, T(0));
    if (!slots_.empty()) slots_[k] = 0;
  }
  used_.clear();
}

template <Real T> T* QueryTable<T>::line_of(std::int32_t feature) {
  if (slots_.empty()) {
    used_.push_back(feature);
    return lines_.data() + feature * kQueries;
  }
  if (slots_[feature] == 0) {
    used_.push_back(feature);
    slots_[feature] = static_cast<std::int32_t>(used_.size()); // line 0 stays zero
  }
  return lines_.data() + slots_[feature] * kQueries;
}

template <Real T>
void QueryTable<T>::set(const PackedCsr<T>& source, std::span<const index_t> rows, index_t cols) {
  if (cols_ != cols) {
    cols_ = cols;
    used_.clear();
    slots_.clear();
    lines_ = {};
    if (cols > kMostDirectLines) slots_.assign(static_cast<std::size_t>(cols), 0);
  }
  clear();
  index_t n_lines = cols;
  if (!slots_.empty()) {
    n_lines = 1;
    for (const index_t row : rows) n_lines += source.row_size(row);
  }
  if (lines_.size() < n_lines * kQueries) lines_ = AlignedBuffer<T>::zeros(n_lines * kQueries);
  std::fill_n(half_norms_, kQueries, T(0));
  n_queries_ = static_cast<index_t>(rows.size());
  for (std::size_t q = 0; q < rows.size(); ++q) {
    for (std::int64_t e = source.indptr()[rows[q]]; e < source.indptr()[rows[q] + 1]; ++e) {
      const std::int32_t k = source.indices()[e];
      if (k >= cols) continue;
      line_of(k)[q] = source.values()[e];
    }
    half_norms_[q] = source.half_norms()[rows[q]];
  }
}

template <Real T> void QueryTable<T>::describe(simd::SparseBlock<T>& block) const {
  block.table = lines_.data();
  block.slots = slots_.empty() ? nullptr : slots_.data();
  block.query_half_norms = half_norms_;
  block.n_queries = n_queries_;
}

template class PackedCsr<float>;
template class PackedCsr<double>;
template class QueryTable<float>;
template class QueryTable<double>;

} // namespace maxmargin
