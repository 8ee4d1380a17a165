#include "maxmargin/perceptron/kernel_perceptron.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "maxmargin/perceptron/lockstep_passes.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::perceptron {
namespace {

// Kernel rows cost least when many are computed together.
constexpr double kMistakesPerBlock = 64.0;
constexpr index_t kLargestBlock = 512;

// One segment, so that column i is example i.
constexpr index_t kSegments[] = {0};

// Passes of all problems together that keep the scores of all examples up to date.
class KernelPasses {
 public:
  KernelPasses(const PackingPlan& plan, const MistakeRule& rule,
               const KernelPerceptronOptions& options, Control& control)
      : n_(static_cast<index_t>(rule.codes.size())), rule_(rule), options_(options),
        control_(control),
        samples_(pack_samples<double>(plan, {identity_order(n_)}, options.threads, control)),
        kernel_(samples_(kSegments, options.threads), options.cache_bytes, options.threads,
                control),
        alpha_(static_cast<std::size_t>(rule.n_problems() * n_), 0),
        beta_(static_cast<std::size_t>(rule.n_outputs() * n_), 0.0),
        lag_(options.average ? beta_.size() : 0, 0.0),
        bias_(static_cast<std::size_t>(rule.n_outputs()), 0.0), values_(bias_.size()),
        score_(AlignedBuffer<double>::zeros(rule.n_outputs() * kernel_.size())) {}

  KernelPerceptronFit run() {
    LockstepPasses passes(n_, rule_.n_problems(), options_.passes);
    passes.run([&](auto order, auto is_active, std::span<index_t> mistakes) {
      is_active_ = is_active;
      mistakes_ = mistakes;
      mistake_rate_ = passes.mistake_rate();
      pass(order);
      ++n_passes_;
    });
    KernelPerceptronFit fit{std::move(alpha_), std::move(beta_), passes.take_records(),
                            kernel_.rows_computed()};
    if (options_.average) average(fit);
    return fit;
  }

 private:
  void pass(std::span<const index_t> order) {
    poll();
    std::size_t t = 0;
    for (;;) {
      // Examples that are no mistake need no kernel values.
      while (t < order.size() && !is_mistake(order[t], &score_[order[t]], kernel_.size())) ++t;
      if (t == order.size()) return;
      const auto block =
          order.subspan(t, std::min(static_cast<std::size_t>(block_size_), order.size() - t));
      pass_block(block, n_ * n_passes_ + static_cast<index_t>(t));
      update_scores();
      t += block.size();
      block_size_ = next_block_size(static_cast<double>(mistaken_.size()));
      poll();
    }
  }

  void poll() {
    control_.poll([&] { return Progress{.n_iter = n_passes_ + 1, .measure = mistake_rate_}; });
  }

  // Finds the changes that example i brings about; its scores are score[p * stride].
  bool is_mistake(index_t i, const double* score, index_t stride) {
    for (index_t p = 0; p < rule_.n_outputs(); ++p) values_[p] = score[p * stride] + bias_[p];
    rule_.find_changes(i, values_, is_active_, changes_);
    return !changes_.empty();
  }

  // `step` examples went before this block.
  void pass_block(std::span<const index_t> block, index_t step) {
    const index_t n = static_cast<index_t>(block.size());
    const index_t stride = row_stride<double>(n);
    block_kernel_.resize_discard(n * stride);
    block_score_.resize_discard(rule_.n_outputs() * stride);
    for (index_t p = 0; p < rule_.n_outputs(); ++p)
      for (index_t k = 0; k < n; ++k)
        block_score_[p * stride + k] = score_[p * kernel_.size() + block[k]];

    mistaken_.clear();
    updates_.clear();
    for (index_t k = 0; k < n; ++k) {
      if (!is_mistake(block[k], &block_score_[k], stride)) continue;
      if (mistaken_.empty()) kernel_.square(block, block_kernel_.data(), stride);
      const double* row = block_kernel_.data() + k * stride;
      for (const Change& change : changes_) {
        apply(block[k], change, static_cast<double>(step + k));
        updates_.push_back({mistaken_.size(), change});
        table_.add_rows(&row, &change.sign, 1, block_score_.data() + change.output * stride, 0, n);
      }
      mistaken_.push_back(block[k]);
    }
  }

  void apply(index_t i, const Change& change, double step) {
    const auto [p, sign] = change;
    beta_[p * n_ + i] += sign;
    if (options_.average) lag_[p * n_ + i] += sign * step;
    bias_[p] += sign * options_.offset;
    if (rule_.is_joint && sign < 0.0) return; // the other half of one mistake
    ++alpha_[rule_.problem_of(p) * n_ + i];
    ++mistakes_[rule_.problem_of(p)];
  }

  // What the mistakes of the last block change in all scores.
  void update_scores() {
    coef_.assign(mistaken_.size() * bias_.size(), 0.0);
    for (const auto& [m, change] : updates_)
      coef_[static_cast<std::size_t>(change.output) * mistaken_.size() + m] = change.sign;
    kernel_.add_rows_to_each(mistaken_, coef_, score_.data(), kernel_.size());
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

  // A change made after `step` of T examples stood after T - step of them.
  void average(KernelPerceptronFit& fit) const {
    for (index_t p = 0; p < rule_.n_outputs(); ++p) {
      const optim::MistakeRecord& record = fit.records[rule_.problem_of(p)];
      const double steps = static_cast<double>(n_) * record.mistakes_per_pass.size();
      for (index_t i = p * n_; i < (p + 1) * n_; ++i)
        fit.beta[i] = (fit.beta[i] * steps - lag_[i]) / steps;
    }
  }

  struct PendingUpdate {
    std::size_t mistaken; // place in mistaken_
    Change change;
  };

  index_t n_; // examples
  const MistakeRule& rule_;
  const KernelPerceptronOptions& options_;
  Control& control_;
  SegmentRows<double> samples_;
  KernelMatrix<double> kernel_;
  const simd::RealTable<double>& table_ = simd::active_table().f64;
  std::vector<std::int64_t> alpha_; // by problem and example
  std::vector<double> beta_;        // by output and example
  std::vector<double> lag_;         // sum over the changes of the examples that went before
  std::vector<double> bias_;        // by output
  std::vector<double> values_;      // of one example, by output
  AlignedBuffer<double> score_;     // by output and column, without the bias
  index_t n_passes_ = 0;
  std::optional<double> mistake_rate_; // of the last pass
  std::span<const char> is_active_;
  std::span<index_t> mistakes_;
  index_t block_size_ = static_cast<index_t>(kMistakesPerBlock);
  AlignedBuffer<double> block_kernel_, block_score_;
  std::vector<Change> changes_;
  std::vector<index_t> mistaken_; // of the last block
  std::vector<PendingUpdate> updates_;
  std::vector<double> coef_;
};

} // namespace

KernelPerceptronFit train_kernel_perceptron(const MatrixView& X, const KernelParams& kernel,
                                            const MistakeRule& rule,
                                            const KernelPerceptronOptions& options,
                                            Control& control) {
  require(!rule.codes.empty() && static_cast<index_t>(rule.codes.size()) == n_rows(X),
          "y must have one element for every sample");
  require(!rule.is_joint || std::ranges::all_of(rule.codes,
                                                [&](std::int64_t code) {
                                                  return code >= 0 && code < rule.n_outputs();
                                                }),
          "y must hold numbers of outputs");
  return KernelPasses(PackingPlan(X, kernel, false, 1, control), rule, options, control).run();
}

} // namespace maxmargin::perceptron
