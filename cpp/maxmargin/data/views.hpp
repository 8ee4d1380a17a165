#pragma once

#include "maxmargin/base/types.hpp"

#include <span>
#include <variant>

namespace maxmargin {

// Row-major samples that the caller owns. Each row begins `stride` numbers behind the last.
template <Real T> struct DenseView {
  using value_type = T;
  const T* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  index_t stride = cols;

  const T* row(index_t i) const { return data + i * stride; }
  std::span<const T> row_values(index_t i) const {
    return {row(i), static_cast<std::size_t>(cols)};
  }
};

// Compressed sparse rows that the caller owns. Requires: in every row the column indices ascend
// strictly and lie in [0, cols).
template <Real T, class I> struct CsrView {
  using value_type = T;
  using index_type = I;
  const T* values = nullptr;
  const I* indices = nullptr;
  const I* indptr = nullptr;
  index_t rows = 0;
  index_t cols = 0;

  std::span<const T> row_values(index_t i) const { return {values + indptr[i], row_size(i)}; }
  std::span<const I> row_indices(index_t i) const { return {indices + indptr[i], row_size(i)}; }
  index_t nnz() const { return rows == 0 ? 0 : static_cast<index_t>(indptr[rows] - indptr[0]); }

 private:
  std::size_t row_size(index_t i) const {
    return static_cast<std::size_t>(indptr[i + 1] - indptr[i]);
  }
};

// Any of the sample matrices that are read without a copy.
using MatrixView = std::variant<DenseView<float>, DenseView<double>, CsrView<float, std::int32_t>,
                                CsrView<float, std::int64_t>, CsrView<double, std::int32_t>,
                                CsrView<double, std::int64_t>>;

inline index_t n_rows(const MatrixView& X) {
  return std::visit([](const auto& view) { return view.rows; }, X);
}
inline index_t n_cols(const MatrixView& X) {
  return std::visit([](const auto& view) { return view.cols; }, X);
}

template <Real T> DenseView<T> rows_between(const DenseView<T>& X, index_t begin, index_t end) {
  return {X.row(begin), end - begin, X.cols, X.stride};
}
template <Real T, class I>
CsrView<T, I> rows_between(const CsrView<T, I>& X, index_t begin, index_t end) {
  return {X.values, X.indices, X.indptr + begin, end - begin, X.cols};
}
inline MatrixView rows_between(const MatrixView& X, index_t begin, index_t end) {
  return std::visit([&](const auto& view) { return MatrixView(rows_between(view, begin, end)); },
                    X);
}

template <class View> inline constexpr bool is_dense = requires(const View& view) { view.data; };

inline bool is_sparse(const MatrixView& X) {
  return std::visit([](const auto& view) { return !is_dense<std::decay_t<decltype(view)>>; }, X);
}

// Calls visit(values) for the values stored of rows [begin, end), with all of them where nothing
// lies between the rows.
template <Real T, class Visit>
void for_values(const DenseView<T>& X, index_t begin, index_t end, const Visit& visit) {
  const index_t step = X.stride == X.cols ? end - begin : 1;
  for (index_t i = begin; i < end; i += step)
    visit(std::span(X.row(i), static_cast<std::size_t>(step * X.cols)));
}
template <Real T, class I, class Visit>
void for_values(const CsrView<T, I>& X, index_t begin, index_t end, const Visit& visit) {
  if (begin == end) return;
  visit(std::span(X.values + X.indptr[begin],
                  static_cast<std::size_t>(X.indptr[end] - X.indptr[begin])));
}

// Calls visit(column, value) for the values stored of row i.
template <class View, class Visit> void for_stored(const View& X, index_t i, const Visit& visit) {
  if constexpr (is_dense<View>) {
    const auto* row = X.row(i);
    for (index_t j = 0; j < X.cols; ++j) visit(j, row[j]);
  } else {
    const auto values = X.row_values(i);
    const auto columns = X.row_indices(i);
    for (std::size_t e = 0; e < values.size(); ++e)
      visit(static_cast<index_t>(columns[e]), values[e]);
  }
}
// Likewise for those that are not zero.
template <class View, class Visit> void for_nonzeros(const View& X, index_t i, const Visit& visit) {
  for_stored(X, i, [&](index_t j, auto value) {
    if (value != 0) visit(j, value);
  });
}
template <class Visit> void for_nonzeros(const MatrixView& X, index_t i, const Visit& visit) {
  std::visit(
      [&](const auto& view) {
        for_nonzeros(view, i, [&](index_t j, auto value) { visit(j, static_cast<double>(value)); });
      },
      X);
}

template <Real T> index_t n_stored(const DenseView<T>& X) {
  return X.rows * X.cols;
}
template <Real T, class I> index_t n_stored(const CsrView<T, I>& X) {
  return X.nnz();
}
inline index_t n_stored(const MatrixView& X) {
  return std::visit([](const auto& view) { return n_stored(view); }, X);
}

} // namespace maxmargin
