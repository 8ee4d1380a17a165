#include "maxmargin/data/weighted_gram.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr index_t kDepth = 128;       // rows gathered: both operands of a tile fit the first cache
constexpr index_t kTilesPerBlock = 2; // of which only the panels up to the diagonal are computed
constexpr index_t kPanel = kLane<double>;
constexpr index_t kPanelSize = (kDepth + 1) * kPanel;
// A row of so few entries, of all pairs of features, is cheaper to add by itself.
constexpr index_t kPairsPerEntry = 16;

} // namespace

WeightedGram::WeightedGram(index_t n_cols, double constant_feature, std::span<const double> centre)
    : n_cols_(n_cols), size_(n_cols + (constant_feature != 0.0 ? 1 : 0)),
      stride_(round_up(size_, kPanel)), constant_feature_(constant_feature),
      centre_(centre.begin(), centre.end()), sums_(AlignedBuffer<double>::zeros(size_ * stride_)) {
  const index_t tile_rows = simd::active_table().f64.tile_rows;
  const index_t padded = std::max(stride_, round_up(size_, tile_rows));
  row_.assign(static_cast<std::size_t>(padded), 0.0);
  half_norms_ = row_;
  panels_ = AlignedBuffer<double>::zeros(stride_ / kPanel * kPanelSize);
  tiles_ = AlignedBuffer<double>::zeros(round_up(size_, tile_rows) * kDepth);
  products_ = AlignedBuffer<double>(kTilesPerBlock * tile_rows * stride_);
}

template <Real T> void WeightedGram::add(const DenseView<T>& X, index_t i, double weight) {
  const T* x = X.row(i);
  double* row = centred_row();
  for (index_t k = 0; k < n_cols_; ++k) row[k] += static_cast<double>(x[k]);
  gather(weight);
}

template <Real T, class I>
void WeightedGram::add(const CsrView<T, I>& X, index_t i, double weight) {
  const auto values = X.row_values(i);
  const auto columns = X.row_indices(i);
  const auto n = static_cast<index_t>(values.size());
  if (!centre_.empty() || n * n * kPairsPerEntry > n_cols_ * n_cols_) {
    double* row = centred_row();
    for (index_t e = 0; e < n; ++e) row[columns[e]] += static_cast<double>(values[e]);
    gather(weight);
    return;
  }
  for (index_t e = 0; e < n; ++e) {
    const double scaled = weight * static_cast<double>(values[e]);
    double* sums = sums_.data() + static_cast<index_t>(columns[e]) * stride_;
    for (index_t c = 0; c <= e; ++c) sums[columns[c]] += scaled * static_cast<double>(values[c]);
  }
  if (constant_feature_ == 0.0) return;
  double* sums = sums_.data() + n_cols_ * stride_;
  const double scaled = weight * constant_feature_;
  for (index_t c = 0; c < n; ++c) sums[columns[c]] += scaled * static_cast<double>(values[c]);
  sums[n_cols_] += scaled * constant_feature_;
}

// Where a row is to be added: minus the centre, and the constant feature.
double* WeightedGram::centred_row() {
  if (centre_.empty())
    std::fill_n(row_.begin(), n_cols_, 0.0);
  else
    for (index_t k = 0; k < n_cols_; ++k) row_[k] = -centre_[k];
  if (constant_feature_ != 0.0) row_[n_cols_] = constant_feature_;
  return row_.data();
}

void WeightedGram::gather(double weight) {
  const index_t tile_rows = simd::active_table().f64.tile_rows;
  const double* row = row_.data();
  double* panel = panels_.data() + n_gathered_ * kPanel;
  for (index_t k = 0; k < size_; k += kPanel, panel += kPanelSize)
    for (index_t c = 0; c < kPanel; ++c) panel[c] = row[k + c];
  for (index_t k = 0; k < size_; k += tile_rows) {
    const index_t height = simd::tile_height(std::min(tile_rows, size_ - k), tile_rows);
    double* tile = tiles_.data() + k * kDepth + n_gathered_ * height;
    for (index_t r = 0; r < height; ++r) tile[r] = weight * row[k + r];
  }
  if (++n_gathered_ == kDepth) multiply();
}

void WeightedGram::flush() {
  if (n_gathered_ == 0) return;
  std::fill(row_.begin(), row_.end(), 0.0);
  while (n_gathered_ != 0) gather(0.0);
}

void WeightedGram::multiply() {
  n_gathered_ = 0;
  const index_t block_rows = kTilesPerBlock * simd::active_table().f64.tile_rows;
  std::vector<const double*> panels;
  for (index_t p = 0; p < stride_ / kPanel; ++p) panels.push_back(panels_.data() + p * kPanelSize);
  std::vector<double*> out;
  for (index_t r = 0; r < block_rows; ++r) out.push_back(products_.data() + r * stride_);
  simd::DenseBlock<double> block;
  block.query_half_norms = half_norms_.data();
  block.depth = kDepth;
  block.panels = panels.data();
  block.out = out.data();
  for (index_t first = 0; first < size_; first += block_rows) {
    block.queries = tiles_.data() + first * kDepth;
    block.n_queries = std::min(block_rows, size_ - first);
    block.n_panels = round_up(first + block.n_queries, kPanel) / kPanel; // up to the diagonal
    simd::active_table().f64.dense_block(block);
    for (index_t r = 0; r < block.n_queries; ++r)
      simd::active_table().f64.axpy(1.0, out[r], sums_.data() + (first + r) * stride_,
                                    first + r + 1);
  }
}

void WeightedGram::clear() {
  n_gathered_ = 0;
  std::fill_n(sums_.data(), sums_.size(), 0.0);
}

void WeightedGram::add(const WeightedGram& other) {
  simd::active_table().f64.axpy(1.0, other.sums_.data(), sums_.data(), sums_.size());
}

void WeightedGram::scale(double factor) {
  for (index_t k = 0; k < sums_.size(); ++k) sums_[k] *= factor;
}

template void WeightedGram::add(const DenseView<float>&, index_t, double);
template void WeightedGram::add(const DenseView<double>&, index_t, double);
template void WeightedGram::add(const CsrView<float, std::int32_t>&, index_t, double);
template void WeightedGram::add(const CsrView<float, std::int64_t>&, index_t, double);
template void WeightedGram::add(const CsrView<double, std::int32_t>&, index_t, double);
template void WeightedGram::add(const CsrView<double, std::int64_t>&, index_t, double);

} // namespace maxmargin
