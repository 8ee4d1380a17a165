#include "maxmargin/data/sample_matrix.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"

#include <algorithm>

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

template <Real T> void check_structure(const DenseView<T>&) {}

template <Real T, class I> void check_structure(const CsrView<T, I>& X) {
  require(X.indptr[0] == 0 && std::is_sorted(X.indptr, X.indptr + X.rows + 1),
          "indptr must ascend from 0");
  for (index_t i = 0; i < X.rows; ++i) {
    const auto indices = X.row_indices(i);
    require(indices.empty() || (indices.front() >= 0 && indices.back() < X.cols),
            "column indices must be below the number of columns");
    require(std::ranges::is_sorted(indices, std::ranges::less_equal()),
            "column indices must ascend strictly in every row");
  }
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
        check_structure(view);
        for (index_t i = 0; i < view.rows; ++i)
          require(all_finite(view.row_values(i)), "a value of row " +
                                                      std::to_string(first_row + i) +
                                                      " of the samples is not finite");
      },
      X);
}

} // namespace maxmargin
