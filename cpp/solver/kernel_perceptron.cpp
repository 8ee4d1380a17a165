#include "solver/kernel_perceptron.hpp"

#include "base/aligned_buffer.hpp"
#include "simd/dispatch.hpp"
#include "solver/deferred_scores.hpp"
#include "solver/joint_passes.hpp"
#include "solver/support_set_passes.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// Kernel rows cost least when many are computed together.
constexpr double kMistakesPerBlock = 64.0;

// Keeps the scores of all examples, up to date or deferred.
class ScoredPasses {
 public:
  ScoredPasses(KernelMatrix<double>& kernel, const MistakeRule& rule,
               const KernelPerceptronOptions& options, Control& control)
      : kernel_(kernel), rule_(rule), options_(options), control_(control),
        n_(static_cast<index_t>(rule.codes.size())),
        score_(AlignedBuffer<double>::zeros(rule.n_outputs() * kernel.size())),
        deferred_(kernel, n_, rule.n_outputs(), score_, kernel.size()),
        alpha_(static_cast<std::size_t>(rule.n_problems() * n_), 0),
        beta_(static_cast<std::size_t>(rule.n_outputs() * n_), 0.0),
        lag_(options.average ? beta_.size() : 0, 0.0),
        bias_(static_cast<std::size_t>(rule.n_outputs()), 0.0),
        values_(static_cast<std::size_t>(rule.n_outputs())) {}

  KernelPerceptronFit run() {
    JointPasses passes(n_, rule_.n_problems(), options_.passes);
    passes.run([&](auto order, auto is_active, auto& mistakes) {
      is_active_ = is_active;
      mistakes_ = mistakes;
      poll();
      if (defers_pass()) {
        pass_deferred(order);
      } else {
        deferred_.settle();
        pass(order);
      }
      ++n_passes_;
    });
    KernelPerceptronFit fit{std::move(alpha_), std::move(beta_), passes.take_records()};
    if (options_.average) average(fit);
    return fit;
  }

 private:
  // The scores of what comes before a mistake need not be known in its own pass, and in the last
  // pass never. Later passes use the rows again that the cache kept of earlier ones.
  bool defers_pass() const {
    const index_t max_iter = options_.passes.max_iter;
    if (n_passes_ == 0 && (max_iter == 1 || !kernel_.keeps_all_rows())) return true;
    return max_iter == 2 && !options_.passes.shuffle;
  }

  // The second of two passes takes the blocks of the first.
  void pass_deferred(std::span<const index_t> order) {
    index_t n_support = 0, blocks_without_mistake = 0, t = 0;
    const auto take = [&](DeferredScores::Block& block) {
      deferred_.catch_up(block);
      const index_t in_block = pass_block(block.examples, n_ * n_passes_ + t);
      update_deferred(block);
      n_support += in_block;
      blocks_without_mistake = in_block > 0 ? 0 : blocks_without_mistake + 1;
      t += static_cast<index_t>(block.examples.size());
      poll();
    };
    if (n_passes_ > 0)
      for (DeferredScores::Block& block : deferred_.blocks()) take(block);
    while (t < n_) {
      const index_t size = scored_block_size(n_support, blocks_without_mistake);
      take(deferred_.add_block(order.subspan(t, std::min(size, n_ - t))));
    }
  }

  void pass(std::span<const index_t> order) {
    std::size_t t = 0;
    for (;;) {
      // Examples classified rightly need no kernel values.
      while (t < order.size() && !is_mistake(order[t])) ++t;
      if (t == order.size()) return;
      const auto block =
          order.subspan(t, std::min(static_cast<std::size_t>(block_size_), order.size() - t));
      const index_t in_block = pass_block(block, n_ * n_passes_ + static_cast<index_t>(t));
      update_scores();
      t += block.size();
      block_size_ = next_block_size(static_cast<double>(in_block));
      poll();
    }
  }

  void poll() {
    control_.poll([&] { return Progress{.n_iter = n_passes_ + 1}; });
  }

  bool is_mistake(index_t i) {
    for (index_t p = 0; p < rule_.n_outputs(); ++p)
      values_[p] = score_[p * kernel_.size() + i] + bias_[p];
    rule_.find_changes(i, values_, is_active_, changes_);
    return !changes_.empty();
  }

  // `step` examples went before this block. Returns how many of it were mistaken.
  index_t pass_block(std::span<const index_t> block, index_t step) {
    const index_t n = static_cast<index_t>(block.size()), n_outputs = rule_.n_outputs();
    const index_t stride = round_up(n, kLane<double>);
    block_kernel_.resize_discard(n * stride);
    block_score_.resize_discard(n_outputs * stride);
    for (index_t p = 0; p < n_outputs; ++p)
      for (index_t k = 0; k < n; ++k)
        block_score_[p * stride + k] = score_[p * kernel_.size() + block[k]];

    mistaken_.clear();
    made_.clear();
    for (index_t k = 0; k < n; ++k) {
      for (index_t p = 0; p < n_outputs; ++p) values_[p] = block_score_[p * stride + k] + bias_[p];
      rule_.find_changes(block[k], values_, is_active_, changes_);
      if (changes_.empty()) continue;
      if (mistaken_.empty()) kernel_.square(block, block_kernel_.data(), stride);
      const double* row = block_kernel_.data() + k * stride;
      for (const Change& one : changes_) {
        change(block[k], one, static_cast<double>(step + k));
        made_.push_back({mistaken_.size(), one});
        table_.add_rows(&row, &one.sign, 1, block_score_.data() + one.output * stride, 0, n);
      }
      mistaken_.push_back(block[k]);
    }
    return static_cast<index_t>(mistaken_.size());
  }

  // What the mistakes of the last block change in all scores.
  void update_scores() {
    coef_.assign(mistaken_.size() * static_cast<std::size_t>(rule_.n_outputs()), 0.0);
    for (const auto& [m, change] : made_)
      coef_[static_cast<std::size_t>(change.output) * mistaken_.size() + m] = change.sign;
    kernel_.add_rows_to_each(mistaken_, coef_, score_.data(), kernel_.size());
  }

  // What they change in the block itself; that in others is deferred.
  void update_deferred(DeferredScores::Block& block) {
    const index_t n = static_cast<index_t>(block.examples.size());
    const index_t stride = round_up(n, kLane<double>);
    for (index_t p = 0; p < rule_.n_outputs(); ++p)
      for (index_t k = 0; k < n; ++k)
        score_[p * kernel_.size() + block.examples[k]] = block_score_[p * stride + k];
    for (const auto& [m, change] : made_) deferred_.note(mistaken_[m], change);
    deferred_.mark(block);
  }

  void change(index_t i, const Change& one, double step) {
    const auto [p, sign] = one;
    beta_[p * n_ + i] += sign;
    if (options_.average) lag_[p * n_ + i] += sign * step;
    bias_[p] += sign * options_.offset;
    if (rule_.is_joint && sign < 0.0) return; // the other half of one mistake
    ++alpha_[rule_.problem_of(p) * n_ + i];
    ++mistakes_[rule_.problem_of(p)];
  }

  // A change made after `step` of T examples stood after T - step of them.
  void average(KernelPerceptronFit& fit) const {
    for (index_t p = 0; p < rule_.n_outputs(); ++p) {
      const MistakeRecord& record = fit.records[rule_.problem_of(p)];
      const double steps = static_cast<double>(n_) * record.mistakes_per_pass.size();
      for (index_t i = 0; i < n_; ++i)
        fit.beta[p * n_ + i] = (fit.beta[p * n_ + i] * steps - lag_[p * n_ + i]) / steps;
    }
  }

  // Enough examples for kMistakesPerBlock at the rate of the last block, but so few that the
  // block's own kernel matrix costs a fraction of the rows of its mistakes. The first example of a
  // block is a mistake.
  index_t next_block_size(double mistakes) const {
    const double size = static_cast<double>(block_size_);
    const double wanted = std::min(2.0 * size, size * kMistakesPerBlock / mistakes);
    const double affordable = 0.5 * std::sqrt(mistakes * static_cast<double>(n_));
    return std::clamp<index_t>(static_cast<index_t>(std::min(wanted, affordable)), 1,
                               kLargestBlock);
  }

  KernelMatrix<double>& kernel_;
  const MistakeRule& rule_;
  const KernelPerceptronOptions& options_;
  Control& control_;
  const simd::RealTable<double>& table_ = simd::active_table().f64;
  index_t n_;
  AlignedBuffer<double> score_; // by output and column, without the bias
  DeferredScores deferred_;
  std::vector<std::int64_t> alpha_;
  std::vector<double> beta_;
  std::vector<double> lag_; // sum over the changes of the examples that went before
  std::vector<double> bias_;
  index_t n_passes_ = 0;
  std::span<const char> is_active_;
  std::span<index_t> mistakes_;
  index_t block_size_ = static_cast<index_t>(kMistakesPerBlock);
  AlignedBuffer<double> block_kernel_;
  AlignedBuffer<double> block_score_;
  std::vector<double> values_;
  std::vector<Change> changes_;
  std::vector<index_t> mistaken_; // of the last block
  struct Made {
    std::size_t mistaken;
    Change change;
  };
  std::vector<Made> made_;
  std::vector<double> coef_;
};

} // namespace

KernelPerceptronFit train_kernel_perceptron(KernelMatrix<double>& kernel, const MistakeRule& rule,
                                            const KernelPerceptronOptions& options,
                                            Control& control) {
  require(static_cast<index_t>(rule.codes.size()) <= kernel.size(),
          "y must not have more elements than the kernel has columns");
  if (options.budget.policy != Budget::Policy::none)
    return train_by_support_sets(kernel, rule, options, control);
  return ScoredPasses(kernel, rule, options, control).run();
}

} // namespace maxmargin
