#include "maxmargin/data/int8_rows.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin {
namespace {

constexpr double kLargestCode = 127.0;
// Of sums of weights, and of what else is in units of them: beyond these, float32 could leave its
// range.
constexpr double kLeast = 1e-30, kLargest = 1e30;
constexpr double kRoundUp = 1.0 + 1e-6;
// An element is off by half a step, and by what the rounding of float32 makes of the inverse of the
// step, of the product with it, and of the value of the function: less than 2^-24 of the largest
// value each.
constexpr double kCodeError = 0.5 + kLargestCode * 0x1p-20;
constexpr double kSlack = 1e-6; // for what float32 makes of the offset and the margin

constexpr double kLargestWeight = 32767.0; // in units
// Of the magnitudes of up to 2^16 weights in units, so that a sum of products fits in 32 bits.
constexpr double kLargestSum = 0x1p24;

constexpr index_t kTaskElements = index_t{1} << 17;

} // namespace

template <Real T>
Int8Rows::Int8Rows(const DenseView<T>& X, int threads, Control& control)
    : n_cols_(X.cols), codes_(X.rows * X.cols + simd::kCodeGrain), steps_(X.rows) {
  std::fill_n(codes_.data() + X.rows * X.cols, simd::kCodeGrain, std::int8_t{0});
  const auto& table = simd::real_table<T>();
  const index_t per_task = 1 + kTaskElements / (1 + X.cols);
  const index_t n_tasks = (X.rows + per_task - 1) / per_task;
  const auto work = static_cast<double>(X.rows) * static_cast<double>(X.cols);
  parallel_for(n_tasks, thread_count_for(threads, work), [&](index_t task, int) {
    control.poll();
    const index_t end = std::min(X.rows, (task + 1) * per_task);
    // Rows are read twice, which hides from the processor where they go.
    const auto fetch = [&](index_t i) {
      if (i < end) prefetch_row(X.row(i), static_cast<std::size_t>(n_cols_) * sizeof(T));
    };
    for (index_t i = task * per_task; i < end; ++i) {
      fetch(i + static_cast<index_t>(kRowsAhead));
      steps_[i] = table.encode(X.row(i), codes_.data() + i * n_cols_, n_cols_);
    }
  });
}

bool Int8Rows::are_bounded() const {
  return all_finite(steps_.span());
}

Int8Margins::Int8Margins(const Int8Rows& rows)
    : rows_(rows),
      w_(AlignedBuffer<std::int16_t>::zeros(round_up(rows.n_cols(), simd::kCodeGrain))) {
  function_.w = w_.data();
  function_.n = w_.size();
}

void Int8Margins::set_function(std::span<const double> w, double offset, double margin) {
  function_.error = std::numeric_limits<float>::infinity();
  const auto n = static_cast<index_t>(w.size());
  const double sum = table_.sum_of_magnitudes(w.data(), n);
  if (!(sum >= kLeast && sum <= kLargest)) return;
  const double largest = table_.f64.largest_magnitude(w.data(), n);
  const double unit = kRoundUp * std::max(largest / kLargestWeight, sum / kLargestSum);
  const double b = offset / unit, least = margin / unit;
  if (!(std::abs(b) <= kLargest && least <= kLargest)) return;
  table_.round_weights(w.data(), 1.0 / unit, w_.data(), n);
  // Weights are off by half a unit.
  const double error = kCodeError * sum / unit + 0.5 * kLargestCode * static_cast<double>(n);
  function_.offset = static_cast<float>(b);
  function_.error = static_cast<float>(kRoundUp * error);
  function_.least = static_cast<float>(least + kSlack * (std::abs(b) + least));
}

template Int8Rows::Int8Rows(const DenseView<float>&, int, Control&);
template Int8Rows::Int8Rows(const DenseView<double>&, int, Control&);

} // namespace maxmargin
