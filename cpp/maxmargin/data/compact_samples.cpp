#include "maxmargin/data/compact_samples.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/packed/feature_order.hpp"
#include "maxmargin/data/packed/sparse_copy.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

constexpr index_t kGrain = 256;        // rows that a thread copies at the least
constexpr index_t kWorkOfFeature = 4;  // elements that take as long as to add up its count
constexpr double kWorkOfElement = 4.0; // multiplications that copying one takes as long as

// What decides how the values are kept.
struct Census {
  std::vector<index_t> count; // by feature
  index_t n_elements = 0;
  double first = 1.0; // value
  bool is_same = true;
  bool fits_float = true;

  void add(const Census& other) {
    if (other.n_elements == 0) return;
    if (n_elements == 0) first = other.first;
    n_elements += other.n_elements;
    is_same = is_same && other.is_same && first == other.first;
    fits_float = fits_float && other.fits_float;
    for (std::size_t j = 0; j < count.size(); ++j) count[j] += other.count[j];
  }
};

// Adds the rows [begin, end). begins[i + 1] becomes the number of elements of row i.
template <class View>
void add_rows(const View& X, index_t begin, index_t end, std::vector<index_t>& begins,
              Census& census) {
  census.count.resize(static_cast<std::size_t>(X.cols));
  for (index_t i = begin; i < end; ++i) {
    const index_t before = census.n_elements;
    for_nonzeros(X, i, [&](index_t j, auto value) {
      if (census.n_elements++ == 0) census.first = static_cast<double>(value);
      ++census.count[j];
      census.is_same &= static_cast<double>(value) == census.first;
      census.fits_float &= static_cast<decltype(value)>(static_cast<float>(value)) == value;
    });
    begins[i + 1] = census.n_elements - before;
  }
}

// Of all rows; begins[i] becomes where row i begins among the elements.
template <class View>
Census census_of(const View& X, int threads, std::vector<index_t>& begins, Control& control) {
  begins.assign(static_cast<std::size_t>(X.rows) + 1, 0);
  // Every part counts all features.
  if (X.cols > n_stored(X) / kWorkOfFeature) threads = 1;
  std::vector<Census> parts(static_cast<std::size_t>(threads));
  parallel_ranges(X.rows, kGrain, threads, control, [&](index_t begin, index_t end, int thread) {
    add_rows(X, begin, end, begins, parts[thread]);
  });
  Census all = std::move(parts.front());
  all.count.resize(static_cast<std::size_t>(X.cols));
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) all.add(*part);
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  return all;
}

} // namespace

CompactSamples::CompactSamples(const MatrixView& X, int threads, Control& control)
    : rows_(X), n_features_(n_cols(X)),
      threads_(thread_count_for(threads, kWorkOfElement * static_cast<double>(n_stored(X)))) {
  std::visit(
      [&](const auto& view) {
        row_elements_ = n_stored(view) / std::max<index_t>(1, view.rows);
        if (view.cols <= std::numeric_limits<std::int32_t>::max()) compact(view, control);
      },
      X);
}

template <class View> void CompactSamples::compact(const View& X, Control& control) {
  std::vector<index_t> begins;
  const Census census = census_of(X, threads_, begins, control);
  const index_t n_elements = census.n_elements;
  const double places = static_cast<double>(X.rows) * static_cast<double>(X.cols);
  if (is_dense<View> && static_cast<double>(n_elements) > kDensest * places) return;
  number_.assign(census.count.size(), -1);
  n_features_ = 0;
  for (const index_t feature : by_falling_count(census.count))
    if (census.count[feature] > 0) number_[feature] = static_cast<std::int32_t>(n_features_++);
  row_elements_ = n_elements / std::max<index_t>(1, X.rows);
  if (census.is_same && n_features_ <= std::numeric_limits<std::uint16_t>::max())
    copy<SameValue, std::uint16_t>(X, std::move(begins), census.first, control);
  else if (census.is_same)
    copy<SameValue, std::int32_t>(X, std::move(begins), census.first, control);
  else if (census.fits_float)
    copy<float, std::int32_t>(X, std::move(begins), 1.0, control);
  else
    copy<double, std::int32_t>(X, std::move(begins), 1.0, control);
}

template <class V, class I, class View>
void CompactSamples::copy(const View& X, std::vector<index_t> begins, double value,
                          Control& control) {
  CompactRows<V, I> rows;
  rows.value_ = value;
  rows.begins_ = std::move(begins);
  rows.columns_ = AlignedBuffer<I>(rows.begins_.back());
  if constexpr (rows.has_values) rows.values_ = AlignedBuffer<V>(rows.begins_.back());
  parallel_ranges(X.rows, kGrain, threads_, control, [&](index_t begin, index_t end, int) {
    index_t e = rows.begins_[begin];
    for (index_t i = begin; i < end; ++i)
      for_nonzeros(X, i, [&](index_t j, auto x) {
        rows.columns_[e] = static_cast<I>(number_[j]);
        if constexpr (CompactRows<V, I>::has_values) rows.values_[e] = static_cast<V>(x);
        ++e;
      });
  });
  rows_ = std::move(rows);
}

AlignedVector<double> CompactSamples::original(const AlignedVector<double>& w) const {
  if (number_.empty()) return w;
  AlignedVector<double> all(number_.size(), 0.0);
  for (std::size_t j = 0; j < all.size(); ++j)
    if (number_[j] >= 0) all[j] = w[number_[j]];
  return all;
}

} // namespace maxmargin
