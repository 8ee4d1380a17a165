#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/perceptron/mistake_rule.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <vector>

namespace maxmargin::perceptron {

// The examples per block where every block is scored when its turn comes: large ones cost least,
// but of the kernel values of a block with itself half are wasted. Blocks without a mistake need
// none.
constexpr index_t kSmallestBlock = 16;
constexpr index_t kLargestBlock = 512;
inline index_t scored_block_size(index_t n_support, index_t blocks_without_mistake) {
  if (blocks_without_mistake > 0)
    return std::min(kSmallestBlock << std::min<index_t>(blocks_without_mistake, 5), kLargestBlock);
  return std::clamp(n_support / 2, kSmallestBlock, kLargestBlock);
}

// Scores that are brought up to date a block of examples at a time, when it is asked for: kernel
// values with the examples whose coefficients have changed since, and no others, are all that it
// takes.
template <Real T> class DeferredScores {
 public:
  // score[p * stride + i] is that of example i in output p.
  DeferredScores(KernelMatrix<T>& kernel, index_t n_examples, index_t n_outputs,
                 AlignedBuffer<double>& score, index_t stride, int threads)
      : kernel_(kernel), n_outputs_(n_outputs), score_(score), stride_(stride), threads_(threads),
        place_(static_cast<std::size_t>(n_examples), -1) {}

  struct Block {
    std::vector<index_t> examples;
    std::size_t n_known = 0; // changes that its scores account for
  };

  // A new block, whose scores account for nothing yet.
  Block& add_block(std::span<const index_t> examples);
  std::vector<Block>& blocks() { return blocks_; }

  void note(index_t example, const Change& change) { changes_.push_back({example, change}); }
  // Brings the scores of the block up to date.
  void catch_up(Block& block);
  // The block's scores have become up to date.
  void mark(Block& block) const { block.n_known = changes_.size(); }
  // Brings all scores up to date and forgets the blocks.
  void settle();

 private:
  struct Noted {
    index_t example;
    Change change;
  };

  void sum_changes(std::size_t first);
  void add_rows(std::size_t first, std::size_t count, const Block& block);

  KernelMatrix<T>& kernel_;
  index_t n_outputs_;
  AlignedBuffer<double>& score_;
  index_t stride_;
  int threads_;
  const simd::RealTable<T>& table_ = simd::real_table<T>(simd::active_table());
  std::vector<Noted> changes_;
  std::vector<Block> blocks_;
  std::vector<index_t> rows_; // examples changed since
  std::vector<double> coef_;  // by row and output
  std::vector<index_t> place_;
  AlignedBuffer<T> values_;
  AlignedBuffer<double> sums_;
};

} // namespace maxmargin::perceptron
