#include "maxmargin/data/packed/sparse_copy.hpp"

#include "maxmargin/base/parallel.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr index_t kRowsJudged = 256;
constexpr index_t kGrain = 64; // rows that a thread reads at the least

template <Real T> index_t count_of_row(const DenseView<T>& X, index_t i) {
  return X.cols - std::count(X.row(i), X.row(i) + X.cols, T(0));
}

} // namespace

template <Real T> bool is_mostly_zero(const DenseView<T>& X) {
  const index_t n_judged = std::min(X.rows, kRowsJudged);
  index_t count = 0;
  for (index_t k = 0; k < n_judged; ++k) count += count_of_row(X, k * X.rows / n_judged);
  return static_cast<double>(count) <= kDensest * static_cast<double>(n_judged * X.cols);
}

template <Real T>
SparseCopy<T>::SparseCopy(const DenseView<T>& X, int threads, Control& control)
    : rows_(X.rows), cols_(X.cols), begins_(X.rows + 1) {
  const int team = thread_count_for(threads, static_cast<double>(n_stored(X)));
  begins_[0] = 0;
  parallel_ranges(X.rows, kGrain, team, control, [&](index_t begin, index_t end, int) {
    for (index_t i = begin; i < end; ++i)
      begins_[i + 1] = static_cast<std::int32_t>(count_of_row(X, i));
  });
  for (index_t i = 0; i < X.rows; ++i) begins_[i + 1] += begins_[i];
  columns_ = AlignedBuffer<std::int32_t>(begins_[X.rows]);
  values_ = AlignedBuffer<T>(begins_[X.rows]);
  parallel_ranges(X.rows, kGrain, team, control, [&](index_t begin, index_t end, int) {
    for (index_t i = begin; i < end; ++i) {
      index_t e = begins_[i];
      for (index_t j = 0; j < X.cols; ++j) {
        if (X.row(i)[j] == T(0)) continue;
        columns_[e] = static_cast<std::int32_t>(j);
        values_[e++] = X.row(i)[j];
      }
    }
  });
}

template class SparseCopy<float>;
template class SparseCopy<double>;
template bool is_mostly_zero(const DenseView<float>&);
template bool is_mostly_zero(const DenseView<double>&);

} // namespace maxmargin
