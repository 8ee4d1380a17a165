#include "maxmargin/data/sample_matrix.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

template <Real T> DenseSamples<T> copy(const DenseView<T>& X) {
  DenseSamples<T> samples{{}, X.rows, X.cols};
  samples.values.reserve(static_cast<std::size_t>(X.rows * X.cols));
  for_values(X, 0, X.rows, [&](std::span<const T> values) {
    samples.values.insert(samples.values.end(), values.begin(), values.end());
  });
  return samples;
}

template <Real T, class I> CsrSamples<T, I> copy(const CsrView<T, I>& X) {
  const index_t n = X.nnz();
  require(n >= 0, "indptr must not descend");
  return {{X.values, X.values + n},
          {X.indices, X.indices + n},
          {X.indptr, X.indptr + X.rows + 1},
          X.cols};
}

template <Real T> DenseSamples<T> selected(const DenseView<T>& X, std::span<const index_t> rows) {
  DenseSamples<T> samples{{}, std::ssize(rows), X.cols};
  samples.values.reserve(rows.size() * static_cast<std::size_t>(X.cols));
  for (const index_t i : rows)
    samples.values.insert(samples.values.end(), X.row(i), X.row(i) + X.cols);
  return samples;
}

template <Real T, class I>
CsrSamples<T, I> selected(const CsrView<T, I>& X, std::span<const index_t> rows) {
  CsrSamples<T, I> samples;
  samples.cols = X.cols;
  for (const index_t i : rows) {
    const auto values = X.row_values(i);
    const auto indices = X.row_indices(i);
    samples.values.insert(samples.values.end(), values.begin(), values.end());
    samples.indices.insert(samples.indices.end(), indices.begin(), indices.end());
    samples.indptr.push_back(static_cast<I>(samples.values.size()));
  }
  return samples;
}

std::string row_text(index_t row) {
  return " in row " + std::to_string(row);
}

template <Real T> void check_structure(const DenseView<T>&, index_t) {}

template <Real T, class I> void check_structure(const CsrView<T, I>& X, index_t first_row) {
  require(X.indptr[0] == 0, "indptr must ascend from 0, got " + std::to_string(X.indptr[0]));
  const I* const fall = std::is_sorted_until(X.indptr, X.indptr + X.rows + 1);
  if (fall != X.indptr + X.rows + 1)
    throw InvalidArgument("indptr must ascend from 0, got " + std::to_string(*fall) + " after " +
                          std::to_string(fall[-1]) + row_text(first_row + (fall - X.indptr) - 1));
  for (index_t i = 0; i < X.rows; ++i) {
    const auto indices = X.row_indices(i);
    if (indices.empty()) continue;
    const auto bad = std::ranges::adjacent_find(indices, std::ranges::greater_equal());
    if (bad != indices.end())
      throw InvalidArgument("column indices must ascend strictly in every row, got " +
                            std::to_string(bad[1]) + " after " + std::to_string(bad[0]) +
                            row_text(first_row + i));
    if (indices.front() < 0 || indices.back() >= X.cols)
      throw InvalidArgument("column indices must be at least 0 and below the " +
                            std::to_string(X.cols) + " columns, got " +
                            std::to_string(indices.front() < 0 ? indices.front() : indices.back()) +
                            row_text(first_row + i));
  }
}

template <Real T> index_t column_of(const DenseView<T>&, index_t, index_t place) {
  return place;
}
template <Real T, class I> index_t column_of(const CsrView<T, I>& X, index_t row, index_t place) {
  return X.row_indices(row)[static_cast<std::size_t>(place)];
}

std::string text_of_not_finite(double value) {
  return std::isnan(value) ? "nan" : value > 0.0 ? "infinity" : "-infinity";
}

} // namespace

SampleMatrix copy_of(const MatrixView& X) {
  return std::visit([](const auto& view) { return SampleMatrix(copy(view)); }, X);
}

SampleMatrix rows_of(const MatrixView& X, std::span<const index_t> rows) {
  return std::visit([&](const auto& view) { return SampleMatrix(selected(view, rows)); }, X);
}

void check_samples(const MatrixView& X, index_t first_row) {
  std::visit(
      [&](const auto& view) {
        check_structure(view, first_row);
        for (index_t i = 0; i < view.rows; ++i) {
          const auto values = view.row_values(i);
          if (all_finite(values)) continue;
          const auto bad =
              std::ranges::find_if_not(values, [](auto v) { return std::isfinite(v); });
          throw InvalidArgument(
              "a value of row " + std::to_string(first_row + i) +
              " of the samples is not finite: " + text_of_not_finite(static_cast<double>(*bad)) +
              " in column " + std::to_string(column_of(view, i, bad - values.begin())));
        }
      },
      X);
}

} // namespace maxmargin
