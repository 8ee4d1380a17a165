#include "maxmargin/perceptron/deferred_scores.hpp"

#include "maxmargin/base/parallel.hpp"

#include <algorithm>

namespace maxmargin::perceptron {
namespace {

// Rows that meet a block at a time: with a large block 8 MB of kernel values.
constexpr std::size_t kRows = 2048;

// Fewer values are summed up before another thread is awake.
constexpr index_t kFewValues = index_t{1} << 15;

} // namespace

template <Real T>
typename DeferredScores<T>::Block& DeferredScores<T>::add_block(std::span<const index_t> examples) {
  return blocks_.emplace_back(Block{{examples.begin(), examples.end()}, 0});
}

template <Real T> void DeferredScores<T>::catch_up(Block& block) {
  sum_changes(block.n_known);
  for (std::size_t r = 0; r < rows_.size(); r += kRows)
    add_rows(r, std::min(kRows, rows_.size() - r), block);
  mark(block);
}

template <Real T> void DeferredScores<T>::settle() {
  for (Block& block : blocks_) catch_up(block);
  blocks_.clear();
  changes_.clear();
}

// What the changes from the given one on come to, by example.
template <Real T> void DeferredScores<T>::sum_changes(std::size_t first) {
  rows_.clear();
  coef_.clear();
  for (std::size_t k = first; k < changes_.size(); ++k) {
    const auto& [example, change] = changes_[k];
    if (place_[example] < 0) {
      place_[example] = static_cast<index_t>(rows_.size());
      rows_.push_back(example);
      coef_.resize(coef_.size() + static_cast<std::size_t>(n_outputs_), 0.0);
    }
    coef_[place_[example] * n_outputs_ + change.output] += change.sign;
  }
  for (const index_t example : rows_) place_[example] = -1;
}

template <Real T>
void DeferredScores<T>::add_rows(std::size_t first, std::size_t count, const Block& block) {
  const index_t n = static_cast<index_t>(block.examples.size());
  const index_t width = row_stride<T>(n);
  values_.resize_discard(static_cast<index_t>(count) * width);
  kernel_.rectangle(std::span(rows_).subspan(first, count), block.examples, values_.data(), width);
  sums_.resize_discard(n_outputs_ * width);
  const auto add_output = [&](index_t p, int) {
    std::vector<const T*> some_rows;
    std::vector<double> some_coef;
    for (std::size_t r = 0; r < count; ++r) {
      const double c = coef_[static_cast<index_t>(first + r) * n_outputs_ + p];
      if (c == 0.0) continue;
      some_rows.push_back(values_.data() + static_cast<index_t>(r) * width);
      some_coef.push_back(c);
    }
    double* score = score_.data() + p * stride_;
    double* sums = sums_.data() + p * width;
    for (index_t k = 0; k < n; ++k) sums[k] = score[block.examples[k]];
    table_.add_rows(some_rows.data(), some_coef.data(), static_cast<index_t>(some_rows.size()),
                    sums, 0, n);
    for (index_t k = 0; k < n; ++k) score[block.examples[k]] = sums[k];
  };
  const bool is_small = static_cast<index_t>(count) * n < kFewValues;
  parallel_for(n_outputs_, is_small ? 1 : threads_, add_output);
}

template class DeferredScores<float>;
template class DeferredScores<double>;

} // namespace maxmargin::perceptron
