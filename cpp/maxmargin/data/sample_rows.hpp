#pragma once

#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

// What linear machines do with the rows of their samples, which stay where the caller has them.
// Weights are float64 whatever the type of the samples, whose values are exact in it.

namespace maxmargin {

// In an order that the processor cannot guess, the row this many examples ahead is fetched; a long
// row only as far as it takes the processor to see where it goes.
inline constexpr std::size_t kRowsAhead = 16;
inline constexpr std::size_t kFetchedBytes = 1024;

inline void prefetch_row(const void* data, std::size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  for (std::size_t k = 0; k < std::min(bytes, kFetchedBytes); k += kAlignment)
    __builtin_prefetch(begin + k);
}

template <Real T> class DenseRows {
 public:
  explicit DenseRows(const DenseView<T>& X) : X_(X) {}
  double dot(index_t i, const double* w) const { return table_.dot_wide(X_.row(i), w, X_.cols); }
  // w.x + b of every row and n functions, whose weights follow each other in w, by row.
  void values(const double* w, const double* b, index_t n, double* out) const {
    table_.linear_values(X_.data, X_.rows, X_.stride, X_.cols, w, b, n, out);
  }
  void add(index_t i, double a, double* w) const { table_.axpy_wide(a, X_.row(i), w, X_.cols); }
  double square_norm(index_t i) const { return sum_of_squares(X_.row_values(i)); }
  // Calls visit(j) for every column.
  template <class Visit> void for_columns(index_t, const Visit& visit) const {
    for (index_t j = 0; j < X_.cols; ++j) visit(j);
  }
  void fetch(index_t i) const { prefetch_row(X_.row(i), X_.row_values(i).size_bytes()); }

 private:
  const DenseView<T>& X_;
  const simd::RealTable<T>& table_ = simd::real_table<T>();
};

template <Real T, class I> class CsrRows {
 public:
  explicit CsrRows(const CsrView<T, I>& X) : X_(X) {}

  double dot(index_t i, const double* w) const {
    const auto values = X_.row_values(i);
    const auto columns = X_.row_indices(i);
    return sum_of(std::size_t{0}, values.size(),
                  [&](std::size_t e) { return static_cast<double>(values[e]) * w[columns[e]]; });
  }

  void values(const double* w, const double* b, index_t n, double* out) const {
    for (index_t i = 0; i < X_.rows; ++i)
      for (index_t f = 0; f < n; ++f) *out++ = dot(i, w + f * X_.cols) + b[f];
  }

  void add(index_t i, double a, double* w) const {
    const auto values = X_.row_values(i);
    const auto columns = X_.row_indices(i);
    for (std::size_t e = 0; e < values.size(); ++e)
      w[columns[e]] += a * static_cast<double>(values[e]);
  }

  double square_norm(index_t i) const { return sum_of_squares(X_.row_values(i)); }
  // Calls visit(j) for every column that is not 0 in row i.
  template <class Visit> void for_columns(index_t i, const Visit& visit) const {
    for_nonzeros(X_, i, [&](index_t j, T) { visit(j); });
  }
  // Likewise, visit(j, value).
  template <class Visit> void for_elements(index_t i, const Visit& visit) const {
    for_stored(X_, i, [&](index_t j, T value) { visit(j, static_cast<double>(value)); });
  }

  void fetch(index_t i) const {
    prefetch_row(X_.row_values(i).data(), X_.row_values(i).size_bytes());
    prefetch_row(X_.row_indices(i).data(), X_.row_indices(i).size_bytes());
  }

 private:
  const CsrView<T, I>& X_;
};

template <Real T> DenseRows<T> rows_of(const DenseView<T>& X) {
  return DenseRows<T>(X);
}
template <Real T, class I> CsrRows<T, I> rows_of(const CsrView<T, I>& X) {
  return CsrRows<T, I>(X);
}

} // namespace maxmargin
