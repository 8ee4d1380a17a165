#include "data/coded_rows.hpp"

#include "base/parallel.hpp"

#include <cmath>

namespace maxmargin {
namespace {

constexpr double kLargestCode = 127.0;
// Beyond these, float32 could leave its range, or float64 with squares.
constexpr double kLeast = 1e-30, kLargest = 1e30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundUp = 1.0 + 1e-6;
constexpr double kUnit = 0x1p-23; // twice the rounding of float32

constexpr index_t kBlockElements = 2048; // about; they stay in the first cache
constexpr index_t kBlocksAtATime = 64;

} // namespace

template <Real T>
CodedRows::CodedRows(const DenseView<T>& X, int threads, Control& control)
    : n_cols_(X.cols),
      block_bits_(std::bit_width(static_cast<std::uint64_t>(kBlockElements / (X.cols + 1)))),
      codes_(X.rows * X.cols + simd::kCodeGrain) {
  const index_t n_blocks = (X.rows + (index_t{1} << block_bits_) - 1) >> block_bits_;
  steps_.resize(static_cast<std::size_t>(n_blocks));
  std::fill_n(codes_.data() + X.rows * X.cols, simd::kCodeGrain, std::int8_t{0});
  const index_t n_tasks = (n_blocks + kBlocksAtATime - 1) / kBlocksAtATime;
  const auto work = static_cast<double>(X.rows) * static_cast<double>(X.cols);
  parallel_for(n_tasks, thread_count_for(threads, work), [&](index_t task, int) {
    control.poll();
    const index_t end = std::min(n_blocks, (task + 1) * kBlocksAtATime);
    for (index_t block = task * kBlocksAtATime; block < end; ++block) encode_block(X, block);
  });
}

template <Real T> void CodedRows::encode_block(const DenseView<T>& X, index_t block) {
  const auto& table = simd::real_table<T>(simd::active_table());
  const index_t first = block << block_bits_;
  const index_t n = (std::min(X.rows, (block + 1) << block_bits_) - first) * n_cols_;
  const double largest = static_cast<double>(table.largest_magnitude(X.row(first), n));
  const bool has_step = largest >= kLeast && largest <= kLargest;
  const auto step = static_cast<float>(largest / kLargestCode * kRoundUp);
  const T scale = has_step ? T(1) / static_cast<T>(step) : T(0);
  table.encode(X.row(first), scale, codes_.data() + first * n_cols_, n);
  steps_[block] = has_step || largest == 0.0 ? step : std::numeric_limits<float>::infinity();
}

CodedProducts::CodedProducts(const CodedRows& rows)
    : rows_(rows), width_(round_up(rows.n_cols(), simd::kCodeGrain)),
      w_(AlignedBuffer<float>::zeros(width_)) {
  // An element is off by half a step. In units: scaling an element and a weight takes one each, the
  // additions of the sum half of one each; what float64 rounds is far less than another.
  const double units = static_cast<double>(width_) / 8.0 + 8.0;
  step_error_ = (0.5 + kLargestCode * kUnit * units) * kRoundUp;
}

void CodedProducts::set_weights(std::span<const double> w) {
  double sum = 0.0;
  for (const double weight : w) sum += std::abs(weight);
  sum_ = sum >= kLeast && sum <= kLargest ? sum : kInfinity;
  const double scale = 1.0 / sum_;
  for (std::size_t j = 0; j < w.size(); ++j) w_[j] = static_cast<float>(scale * w[j]);
}

void CodedProducts::estimate(std::span<const index_t> rows) {
  const std::int8_t* codes[kMostRows];
  for (index_t k = 0; k < kMostRows; ++k) {
    const index_t i = rows[std::min(static_cast<std::size_t>(k), rows.size() - 1)];
    codes[k] = rows_.row(i);
    steps_[k] = sum_ * static_cast<double>(rows_.step(i));
  }
  table_.dot_codes(codes, w_.data(), width_, dots_);
}

template CodedRows::CodedRows(const DenseView<float>&, int, Control&);
template CodedRows::CodedRows(const DenseView<double>&, int, Control&);

} // namespace maxmargin
