#include "solver/kernel_perceptron.hpp"

#include "base/aligned_buffer.hpp"
#include "base/error.hpp"
#include "simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// Kernel rows cost least when many are computed together.
constexpr double kMistakesPerBlock = 64.0;
constexpr index_t kLargestBlock = 512;

class KernelPerceptron {
 public:
  KernelPerceptron(KernelMatrix<double>& kernel, std::span<const std::int8_t> y, double offset,
                   Control& control)
      : kernel_(kernel), y_(y), offset_(offset), control_(control),
        score_(AlignedBuffer<double>::zeros(kernel.size())), alpha_(y.size(), 0) {}

  KernelPerceptronFit run(const PassOptions& options) {
    const index_t n = static_cast<index_t>(y_.size());
    KernelPerceptronFit fit;
    fit.record = run_passes(n, identity_order(n), options,
                            [&](std::span<const index_t> order) { return pass(order); });
    fit.alpha = std::move(alpha_);
    return fit;
  }

 private:
  index_t pass(std::span<const index_t> order) {
    ++n_iter_;
    poll();
    index_t mistakes = 0;
    std::size_t t = 0;
    for (;;) {
      // Examples classified rightly need no kernel values.
      while (t < order.size() && !is_mistake(order[t], score_[order[t]])) ++t;
      if (t == order.size()) return mistakes;
      const auto block =
          order.subspan(t, std::min(static_cast<std::size_t>(block_size_), order.size() - t));
      const index_t in_block = pass_block(block);
      mistakes += in_block;
      t += block.size();
      block_size_ = next_block_size(static_cast<double>(in_block));
      poll();
    }
  }

  void poll() {
    control_.poll([&] { return Progress{n_iter_, 0.0, 0, 0, 0.0}; });
  }

  index_t pass_block(std::span<const index_t> block) {
    const index_t n = static_cast<index_t>(block.size());
    const index_t stride = round_up(n, kLane<double>);
    block_kernel_.resize_discard(n * stride);
    block_score_.resize_discard(stride);
    if (n > 1) kernel_.square(block, block_kernel_.data(), stride);
    for (index_t k = 0; k < n; ++k) block_score_[k] = score_[block[k]];

    mistaken_.clear();
    signs_.clear();
    for (index_t k = 0; k < n; ++k) {
      const index_t i = block[k];
      if (!is_mistake(i, block_score_[k])) continue;
      const double y = y_[i];
      const double* row = block_kernel_.data() + k * stride;
      ++alpha_[i];
      bias_ += y * offset_;
      table_.add_rows(&row, &y, 1, block_score_.data(), k + 1, n);
      mistaken_.push_back(i);
      signs_.push_back(y);
    }
    kernel_.add_rows(mistaken_, signs_, score_.data());
    return static_cast<index_t>(mistaken_.size());
  }

  bool is_mistake(index_t i, double score) const {
    const double f = score + bias_;
    if (!std::isfinite(f)) throw NumericError("kernel values overflow");
    return !(y_[i] * f > 0.0);
  }

  // Enough examples for kMistakesPerBlock at the rate of the last block, but so few that the
  // block's own kernel matrix costs a fraction of the rows of its mistakes. The first example of a
  // block is a mistake.
  index_t next_block_size(double mistakes) const {
    const double size = static_cast<double>(block_size_);
    const double wanted = std::min(2.0 * size, size * kMistakesPerBlock / mistakes);
    const double affordable = 0.5 * std::sqrt(mistakes * static_cast<double>(y_.size()));
    return std::clamp<index_t>(static_cast<index_t>(std::min(wanted, affordable)), 1,
                               kLargestBlock);
  }

  KernelMatrix<double>& kernel_;
  std::span<const std::int8_t> y_;
  double offset_;
  Control& control_;
  const simd::RealTable<double>& table_ = simd::active_table().f64;
  AlignedBuffer<double> score_; // of every column, without the bias
  std::vector<std::int64_t> alpha_;
  double bias_ = 0.0;
  index_t n_iter_ = 0;
  index_t block_size_ = static_cast<index_t>(kMistakesPerBlock);
  AlignedBuffer<double> block_kernel_;
  AlignedBuffer<double> block_score_;
  std::vector<index_t> mistaken_;
  std::vector<double> signs_;
};

} // namespace

KernelPerceptronFit train_kernel_perceptron(KernelMatrix<double>& kernel,
                                            std::span<const std::int8_t> y, double offset,
                                            const PassOptions& options, Control& control) {
  require(static_cast<index_t>(y.size()) <= kernel.size(),
          "y must not have more elements than the kernel has columns");
  return KernelPerceptron(kernel, y, offset, control).run(options);
}

} // namespace maxmargin
