#include "data/packed_csr.hpp"

#include "base/error.hpp"
#include "data/scaling.hpp"

#include <algorithm>
#include <limits>

namespace maxmargin {

template <Real T>
PackedCsr<T>::PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
                        const simd::RealTable<T>& table)
    : cols_(n_cols(X)) {
  require(cols_ <= std::numeric_limits<std::int32_t>::max(),
          "sparse X may have at most 2147483647 features, got " + std::to_string(cols_));
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
        for (const index_t i : rows) {
          for_each_feature<T>(view, i, scaling, [&](index_t k, T x) {
            if (x == T(0)) return;
            values.push_back(x);
            indices.push_back(static_cast<std::int32_t>(k));
          });
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
  for (const std::int32_t k : used_) std::fill_n(lines_.data() + k * kQueries, kQueries, T(0));
  used_.clear();
}

template <Real T>
void QueryTable<T>::set(const PackedCsr<T>& source, std::span<const index_t> rows, index_t cols) {
  if (lines_.size() != cols * kQueries) {
    lines_ = AlignedBuffer<T>::zeros(cols * kQueries);
    used_.clear();
  }
  clear();
  std::fill_n(half_norms_, kQueries, T(0));
  for (std::size_t q = 0; q < rows.size(); ++q) {
    for (std::int64_t e = source.indptr()[rows[q]]; e < source.indptr()[rows[q] + 1]; ++e) {
      const std::int32_t k = source.indices()[e];
      if (k >= cols) break;
      lines_[k * kQueries + static_cast<index_t>(q)] = source.values()[e];
      used_.push_back(k);
    }
    half_norms_[q] = source.half_norms()[rows[q]];
  }
}

template class PackedCsr<float>;
template class PackedCsr<double>;
template class QueryTable<float>;
template class QueryTable<double>;

} // namespace maxmargin
