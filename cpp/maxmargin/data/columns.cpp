#include "maxmargin/data/columns.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

// Of dense samples, so many features of so many samples are copied at a time: they stay in the
// first cache.
constexpr index_t kTileFeatures = 64, kTileRows = 64;
constexpr index_t kRowsPerPoll = 1024;
constexpr double kWorkOfEntry = 4.0; // multiplications that copying one takes as long as

// Calls visit(i, j, value) for what is not zero of the features from `first` on, tile by tile, that
// of a feature in the order of the samples.
template <Real T, class Visit>
void for_tiles(const DenseView<T>& X, index_t first, Control& control, const Visit& visit) {
  const index_t last = std::min(first + kTileFeatures, X.cols);
  for (index_t begin = 0; begin < X.rows; begin += kTileRows) {
    control.poll();
    const index_t end = std::min(begin + kTileRows, X.rows);
    for (index_t j = first; j < last; ++j)
      for (index_t i = begin; i < end; ++i)
        if (const T x = X.row(i)[j]; x != T(0)) visit(i, j, x);
  }
}

} // namespace

Columns::Columns(const MatrixView& X, int threads, Control& control)
    : begins_(static_cast<std::size_t>(n_cols(X)) + 1, 0) {
  require(n_rows(X) <= std::numeric_limits<std::int32_t>::max(),
          "X may have at most 2147483647 samples here");
  threads = thread_count_for(threads, kWorkOfEntry * static_cast<double>(n_stored(X)));
  std::visit([&](const auto& view) { copy(view, threads, control); }, X);
}

// Once the entries of every feature are counted.
template <Real T> AlignedBuffer<T>& Columns::make_room(bool has_zeros) {
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  if (has_zeros) rows_ = AlignedBuffer<std::int32_t>(begins_.back());
  return values_.emplace<AlignedBuffer<T>>(begins_.back());
}

template <Real T> void Columns::copy(const DenseView<T>& X, int threads, Control& control) {
  const index_t n_tiles = (X.cols + kTileFeatures - 1) / kTileFeatures;
  parallel_for(n_tiles, threads, [&](index_t tile, int) {
    for_tiles(X, tile * kTileFeatures, control, [&](index_t, index_t j, T) { ++begins_[j + 1]; });
  });
  const bool has_zeros = std::reduce(begins_.begin(), begins_.end()) < n_stored(X);
  AlignedBuffer<T>& values = make_room<T>(has_zeros);
  parallel_for(n_tiles, threads, [&](index_t tile, int) {
    const index_t first = tile * kTileFeatures, end = std::min(first + kTileFeatures, X.cols);
    std::vector<index_t> next(begins_.begin() + first, begins_.begin() + end);
    for_tiles(X, first, control, [&](index_t i, index_t j, T x) {
      const index_t place = next[j - first]++;
      if (has_zeros) rows_[place] = static_cast<std::int32_t>(i);
      values[place] = x;
    });
  });
}

template <Real T, class I>
void Columns::copy(const CsrView<T, I>& X, int threads, Control& control) {
  // Every thread counts for itself, which is to take no more room than the entries.
  const index_t n_parts =
      std::clamp<index_t>(X.nnz() / std::max<index_t>(X.cols, 1), 1, index_t{threads});
  std::vector<std::vector<index_t>> next(static_cast<std::size_t>(n_parts));
  const auto for_parts = [&](const auto& visit) {
    parallel_for(n_parts, threads, [&](index_t p, int) {
      next[p].resize(static_cast<std::size_t>(X.cols), 0);
      for (index_t i = p * X.rows / n_parts; i < (p + 1) * X.rows / n_parts; ++i) {
        if (i % kRowsPerPoll == 0) control.poll();
        for_nonzeros(X, i, [&](index_t j, T x) { visit(i, next[p][j]++, x); });
      }
    });
  };
  for_parts([](index_t, index_t, T) {});
  for (const auto& counts : next)
    for (index_t j = 0; j < X.cols; ++j) begins_[j + 1] += counts[j];
  AlignedBuffer<T>& values = make_room<T>(true);
  for (index_t j = 0; j < X.cols; ++j) {
    index_t place = begins_[j];
    for (auto& counts : next) place += std::exchange(counts[j], place);
  }
  for_parts([&](index_t i, index_t place, T x) {
    rows_[place] = static_cast<std::int32_t>(i);
    values[place] = x;
  });
}

} // namespace maxmargin
