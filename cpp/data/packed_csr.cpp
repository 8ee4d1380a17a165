#include "data/packed_csr.hpp"

#include <algorithm>
#include <utility>

namespace maxmargin {

template <Real T>
PackedCsr<T>::PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
                        const FeatureOrder& order, const simd::RealTable<T>& table)
    : n_head_(order.n_head()) {
  std::vector<T> values;
  std::vector<std::int32_t> indices;
  indptr_.reserve(rows.size() + 1);
  head_ends_.reserve(rows.size());
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
          index_t n_head = 0;
          for_each_feature<T>(view, i, scaling, [&](index_t k, T x) {
            if (x == T(0)) return;
            row.push_back({order(k), x});
            n_head += row.back().first < order.n_head();
          });
          if (!order.keeps_order()) std::sort(row.begin(), row.end());
          for (const auto& [k, x] : row) {
            indices.push_back(k);
            values.push_back(x);
          }
          const std::int64_t begin = indptr_.back();
          indptr_.push_back(static_cast<std::int64_t>(values.size()));
          head_ends_.push_back(begin + n_head);
          has_tail_ = has_tail_ || head_ends_.back() != indptr_.back();
          half_norms_.push_back(
              table.sparse_half_norm(values.data() + begin, n_head, indptr_.back() - begin));
        }
      },
      X);
  values_ = std::move(values);
  indices_ = std::move(indices);
}

template <Real T>
void PackedCsr<T>::describe(std::span<const index_t> rows, simd::SparseBlock<T>& block) const {
  block.values = values_.data();
  block.indices = indices_.data();
  block.indptr = indptr_.data();
  block.head_ends = head_ends_.data();
  block.half_norms = half_norms_.data();
  block.rows = rows.data();
  block.n_rows = static_cast<index_t>(rows.size());
}

template <Real T>
void TailIndex<T>::build(const PackedCsr<T>& samples, std::span<const index_t> columns) {
  for (const std::int32_t k : used_) number_[k] = 0;
  used_.clear();
  begin_.assign(2, 0);
  const index_t n_columns = static_cast<index_t>(columns.size());
  // visit(column, entry of the samples)
  const auto for_each_entry = [&](const auto& visit) {
    for (index_t c = 0; c < n_columns; ++c)
      for (std::int64_t e = samples.head_end(columns[c]); e < samples.row_end(columns[c]); ++e)
        visit(c, e);
  };
  for_each_entry([&](index_t, std::int64_t e) {
    const std::int32_t k = samples.indices()[e];
    if (static_cast<std::size_t>(k) >= number_.size()) number_.resize(k + 1, 0);
    if (number_[k] == 0) {
      used_.push_back(k);
      number_[k] = static_cast<std::int32_t>(used_.size());
      begin_.push_back(0);
    }
    ++begin_[number_[k] + 1];
  });
  for (std::size_t k = 2; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  columns_.resize(static_cast<std::size_t>(begin_.back()));
  values_.resize(columns_.size());
  // List k fills up from begin_[k], which ends where list k + 1 begins.
  for_each_entry([&](index_t c, std::int64_t e) {
    const index_t at = begin_[number_[samples.indices()[e]]]++;
    columns_[at] = static_cast<std::int32_t>(c);
    values_[at] = samples.values()[e];
  });
}

template <Real T> typename TailIndex<T>::List TailIndex<T>::list(std::int32_t feature) const {
  const auto k = static_cast<std::size_t>(feature);
  if (k >= number_.size() || number_[k] == 0) return {};
  const auto begin = begin_[number_[k] - 1], end = begin_[number_[k]];
  return {std::span(columns_).subspan(begin, end - begin), values_.data() + begin};
}

template <Real T>
void QueryTable<T>::set(const PackedCsr<T>& source, std::span<const index_t> rows,
                        const TailIndex<T>& index) {
  const index_t size = source.n_head() * kQueries;
  if (lines_.size() != size)
    lines_ = AlignedBuffer<T>::zeros(size);
  else
    for (const std::int32_t k : used_) std::fill_n(lines_.data() + k * kQueries, kQueries, T(0));
  used_.clear();
  std::fill_n(half_norms_, kQueries, T(0));
  n_queries_ = static_cast<index_t>(rows.size());
  for (std::size_t q = 0; q < rows.size(); ++q) {
    for (std::int64_t e = source.row_begin(rows[q]); e < source.head_end(rows[q]); ++e) {
      const std::int32_t k = source.indices()[e];
      used_.push_back(k);
      lines_[k * kQueries + static_cast<index_t>(q)] = source.values()[e];
    }
    half_norms_[q] = source.half_norm(rows[q]);
  }
  cursors_.clear();
  has_tail_ = false;
  for (std::size_t q = 0; q < rows.size(); ++q)
    for (std::int64_t e = source.head_end(rows[q]); e < source.row_end(rows[q]); ++e) {
      const auto list = index.list(source.indices()[e]);
      if (!list.columns.empty())
        cursors_.push_back({list.columns.data(), list.values,
                            static_cast<std::int32_t>(list.columns.size()),
                            static_cast<std::int32_t>(q), source.values()[e]});
    }
}

template <Real T>
void QueryTable<T>::meet_tail(index_t begin, index_t end, const simd::RealTable<T>& table) {
  has_tail_ = true;
  tail_.resize_discard((end - begin) * kQueries);
  std::fill_n(tail_.data(), tail_.size(), T(0));
  const auto first = static_cast<std::int32_t>(begin), last = static_cast<std::int32_t>(end);
  std::size_t n_left = 0;
  for (Cursor cursor : cursors_) {
    const auto advance = [&](index_t by) {
      cursor.columns += by;
      cursor.values += by;
      cursor.n -= static_cast<std::int32_t>(by);
    };
    if (*cursor.columns < first)
      advance(std::lower_bound(cursor.columns, cursor.columns + cursor.n, first) - cursor.columns);
    advance(table.scatter(cursor.x, cursor.values, cursor.columns, cursor.n, first, last,
                          tail_.data() + cursor.query));
    if (cursor.n > 0) cursors_[n_left++] = cursor;
  }
  cursors_.resize(n_left);
}

template <Real T> void QueryTable<T>::describe(simd::SparseBlock<T>& block) const {
  block.table = lines_.data();
  block.tail = has_tail_ ? tail_.data() : nullptr;
  block.query_half_norms = half_norms_;
  block.n_queries = n_queries_;
}

template class PackedCsr<float>;
template class PackedCsr<double>;
template class TailIndex<float>;
template class TailIndex<double>;
template class QueryTable<float>;
template class QueryTable<double>;

} // namespace maxmargin
