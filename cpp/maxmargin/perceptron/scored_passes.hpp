#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/kernel/exact_rbf.hpp"
#include "maxmargin/perceptron/deferred_scores.hpp"
#include "maxmargin/perceptron/kernel_perceptron.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

namespace maxmargin::perceptron {

// What the passes so far have learned.
struct Learned {
  Learned(const MistakeRule& rule, bool average)
      : n(static_cast<index_t>(rule.codes.size())),
        alpha(static_cast<std::size_t>(rule.n_problems() * n), 0),
        beta(static_cast<std::size_t>(rule.n_outputs() * n), 0.0),
        lag(average ? beta.size() : 0, 0.0),
        n_changes(static_cast<std::size_t>(rule.n_outputs()), 0.0),
        bias(static_cast<std::size_t>(rule.n_outputs()), 0.0) {}

  index_t n;
  std::vector<std::int64_t> alpha; // by problem and example
  std::vector<double> beta;        // by output and example
  std::vector<double> lag;         // sum over the changes of the examples that went before
  std::vector<double> n_changes;   // of coefficients, by output
  std::vector<double> bias;        // by output
  index_t n_passes = 0;
  std::optional<double> mistake_rate; // of the last pass, for the caller to know
};

// float32 values serve where they are not off by more than this.
inline constexpr double kMostError = 1e-3;

// float32 values below this may be anything down to 0.
inline constexpr double kVanishing = 1e-37;

// A float64 value that is evaluated for one score costs as much as so many float32 ones save, and
// so many may be in vain.
inline constexpr double kExactCost = 256.0;
inline constexpr double kDearExactCost = 64.0; // where float32 values save much
inline constexpr double kExactSlack = 1e7;

// Kernel rows cost least when many are computed together.
inline constexpr double kMistakesPerBlock = 64.0;

// Thrown where float32 values do not pay.
struct Imprecise {};

// Passes that keep the scores of all examples, up to date or deferred, on kernel values of type T.
// Of float32 ones, which must be those of the RBF kernel, it makes the mistakes that float64 ones
// would make, or throws Imprecise.
template <Real T> class ScoredPasses {
 public:
  // Goes on from what has been learned.
  ScoredPasses(const PackingPlan& plan, const MistakeRule& rule,
               const KernelPerceptronOptions& options, Learned& learned, Control& control)
      : samples_(pack_samples<T>(plan, {identity_order(learned.n)}, options.threads, control)),
        kernel_(samples_->rows(kSegments, options.threads), options.cache_bytes, options.threads,
                control),
        exact_(plan.X, plan.kernel.gamma, options.threads), rule_(rule), options_(options),
        learned_(learned), control_(control), n_(learned.n),
        n_sums_(kIsNarrow ? 2 * rule.n_outputs() : rule.n_outputs()),
        score_(AlignedBuffer<double>::zeros(n_sums_ * kernel_.size())),
        deferred_(kernel_, n_, n_sums_, score_, kernel_.size(), options.threads),
        values_(static_cast<std::size_t>(rule.n_outputs())) {
    if constexpr (kIsNarrow) {
      errors_ = kernel_.relative_errors();
      if (errors_.empty() || !(std::ranges::max(errors_) < kMostError)) throw Imprecise();
    }
    if (learned.n_passes > 0) defer_learned();
  }

  // Adds the mistakes of every active problem.
  void pass(std::span<const index_t> order, std::span<const char> is_active,
            std::span<index_t> mistakes) {
    is_active_ = is_active;
    mistakes_ = mistakes;
    poll();
    if (defers_pass()) {
      pass_deferred(order);
    } else {
      deferred_.settle();
      pass_scored(order);
    }
    ++learned_.n_passes;
  }

  std::size_t kernel_rows() const {
    return kernel_.rows_computed() + n_exact_ / static_cast<std::size_t>(n_);
  }

 private:
  static constexpr bool kIsNarrow = std::is_same_v<T, float>;
  static constexpr index_t kSegments[] = {0}; // one, so that column i is example i

  // All scores are those of what has been learned, when their turn comes.
  void defer_learned() {
    for (index_t p = 0; p < rule_.n_outputs(); ++p)
      for (index_t i = 0; i < n_; ++i)
        if (const double beta = learned_.beta[p * n_ + i]; beta != 0.0)
          deferred_.note(i, {p, beta});
    const std::vector<index_t> order = identity_order(n_);
    for (index_t first = 0; first < n_; first += kLargestBlock)
      deferred_.add_block(std::span(order).subspan(first, std::min(kLargestBlock, n_ - first)));
  }

  // The scores of what comes before a mistake need not be known in its own pass, and in the last
  // pass never. Later passes use the rows again that the cache kept of earlier ones.
  bool defers_pass() const {
    const index_t max_iter = options_.passes.max_iter;
    if (learned_.n_passes == 0 && (max_iter == 1 || !kernel_.keeps_all_rows())) return true;
    return max_iter == 2 && !options_.passes.shuffle;
  }

  // The second of two passes takes the blocks of the first.
  void pass_deferred(std::span<const index_t> order) {
    index_t n_support = 0, blocks_without_mistake = 0, t = 0;
    const auto take = [&](typename DeferredScores<T>::Block& block) {
      deferred_.catch_up(block);
      const index_t in_block = pass_block(block.examples, n_ * learned_.n_passes + t);
      update_deferred(block);
      n_support += in_block;
      blocks_without_mistake = in_block > 0 ? 0 : blocks_without_mistake + 1;
      t += static_cast<index_t>(block.examples.size());
      poll();
    };
    if (learned_.n_passes > 0)
      for (typename DeferredScores<T>::Block& block : deferred_.blocks()) take(block);
    while (t < n_) {
      const index_t size = scored_block_size(n_support, blocks_without_mistake);
      take(deferred_.add_block(order.subspan(t, std::min(size, n_ - t))));
    }
  }

  void pass_scored(std::span<const index_t> order) {
    std::size_t t = 0;
    for (;;) {
      // Examples classified rightly need no kernel values.
      while (t < order.size() && !is_mistake(order[t], &score_[order[t]], kernel_.size())) ++t;
      if (t == order.size()) return;
      const auto block =
          order.subspan(t, std::min(static_cast<std::size_t>(block_size_), order.size() - t));
      const index_t in_block = pass_block(block, n_ * learned_.n_passes + static_cast<index_t>(t));
      update_scores();
      keep_scores(block);
      t += block.size();
      block_size_ = next_block_size(static_cast<double>(in_block));
      poll();
    }
  }

  void poll() {
    control_.poll([&] {
      return Progress{.n_iter = learned_.n_passes + 1, .measure = learned_.mistake_rate};
    });
  }

  // Finds the changes that example i brings about, the sums of which are score[s * stride].
  bool is_mistake(index_t i, double* score, index_t stride) {
    for (index_t p = 0; p < rule_.n_outputs(); ++p)
      values_[p] = score[p * stride] + learned_.bias[p];
    if constexpr (kIsNarrow) settle_doubts(i, score, stride);
    rule_.find_changes(i, values_, is_active_, changes_);
    return !changes_.empty();
  }

  // Puts the exact score in the place of every one whose error could change what the rule finds.
  void settle_doubts(index_t i, double* score, index_t stride) {
    double* magnitude = score + rule_.n_outputs() * stride;
    const auto error = [&](index_t p) {
      return errors_[i] * magnitude[p * stride] + kVanishing * learned_.n_changes[p];
    };
    rule_.find_doubts(i, values_, is_active_, error, doubtful_);
    for (const index_t p : doubtful_) {
      score[p * stride] = exact_score(p, i);
      magnitude[p * stride] = 0.0;
      values_[p] = score[p * stride] + learned_.bias[p];
    }
  }

  double exact_score(index_t output, index_t i) {
    rows_.clear();
    coef_.clear();
    for (index_t j = 0; j < n_; ++j)
      if (const double beta = learned_.beta[output * n_ + j]; beta != 0.0) {
        rows_.push_back(j);
        coef_.push_back(beta);
      }
    n_exact_ += rows_.size();
    const double computed = static_cast<double>(kernel_.rows_computed()) * static_cast<double>(n_);
    const double cost = kernel_.has_expensive_values() ? kDearExactCost : kExactCost;
    if (cost * static_cast<double>(n_exact_) > computed + kExactSlack) throw Imprecise();
    return exact_.sum(i, rows_, coef_);
  }

  // `step` examples went before this block. Returns how many of it were mistaken.
  index_t pass_block(std::span<const index_t> block, index_t step) {
    const index_t n = static_cast<index_t>(block.size());
    const index_t stride = row_stride<T>(n);
    block_kernel_.resize_discard(n * stride);
    block_score_.resize_discard(n_sums_ * stride);
    for (index_t s = 0; s < n_sums_; ++s)
      for (index_t k = 0; k < n; ++k)
        block_score_[s * stride + k] = score_[s * kernel_.size() + block[k]];

    mistaken_.clear();
    made_.clear();
    for (index_t k = 0; k < n; ++k) {
      if (!is_mistake(block[k], &block_score_[k], stride)) continue;
      if (mistaken_.empty()) kernel_.square(block, block_kernel_.data(), stride);
      const T* row = block_kernel_.data() + k * stride;
      const auto add = [&](const Change& to_sum) {
        made_.push_back({mistaken_.size(), to_sum});
        double* sum = block_score_.data() + to_sum.output * stride;
        table_.add_rows(&row, &to_sum.sign, 1, sum, 0, n);
      };
      for (const Change& one : changes_) {
        change(block[k], one, static_cast<double>(step + k));
        add(one);
        if constexpr (kIsNarrow) add({rule_.n_outputs() + one.output, 1.0});
      }
      mistaken_.push_back(block[k]);
    }
    return static_cast<index_t>(mistaken_.size());
  }

  // What the mistakes of the last block change in all scores.
  void update_scores() {
    coef_.assign(mistaken_.size() * static_cast<std::size_t>(n_sums_), 0.0);
    for (const auto& [m, change] : made_)
      coef_[static_cast<std::size_t>(change.output) * mistaken_.size() + m] = change.sign;
    kernel_.add_rows_to_each(mistaken_, coef_, score_.data(), kernel_.size());
  }

  // The sums of the block, which account for all mistakes in it, take the place of those that all
  // have: of what was exact in them, no more than those mistakes is in doubt.
  void keep_scores(std::span<const index_t> block) {
    const index_t n = static_cast<index_t>(block.size()), stride = row_stride<T>(n);
    for (index_t s = 0; s < n_sums_; ++s)
      for (index_t k = 0; k < n; ++k)
        score_[s * kernel_.size() + block[k]] = block_score_[s * stride + k];
  }

  // What they change in the block itself; that in others is deferred.
  void update_deferred(typename DeferredScores<T>::Block& block) {
    keep_scores(block.examples);
    for (const auto& [m, change] : made_) deferred_.note(mistaken_[m], change);
    deferred_.mark(block);
  }

  void change(index_t i, const Change& one, double step) {
    const auto [p, sign] = one;
    learned_.beta[p * n_ + i] += sign;
    learned_.n_changes[p] += 1.0;
    if (options_.average) learned_.lag[p * n_ + i] += sign * step;
    learned_.bias[p] += sign * options_.offset;
    if (rule_.is_joint && sign < 0.0) return; // the other half of one mistake
    ++learned_.alpha[rule_.problem_of(p) * n_ + i];
    ++mistakes_[rule_.problem_of(p)];
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

  std::unique_ptr<PackedSamples<T>> samples_;
  KernelMatrix<T> kernel_;
  std::vector<double> errors_; // of float32 values, relative, by example
  ExactRbf exact_;
  const MistakeRule& rule_;
  const KernelPerceptronOptions& options_;
  Learned& learned_;
  Control& control_;
  const simd::RealTable<T>& table_ = simd::real_table<T>(simd::active_table());
  index_t n_;
  index_t n_sums_;
  // By output and column, without the bias. Of float32 values, as many sums again: the magnitudes
  // of what was added to each score since it was exact.
  AlignedBuffer<double> score_;
  DeferredScores<T> deferred_;
  std::span<const char> is_active_;
  std::span<index_t> mistakes_;
  index_t block_size_ = static_cast<index_t>(kMistakesPerBlock);
  AlignedBuffer<T> block_kernel_;
  AlignedBuffer<double> block_score_;
  std::vector<double> values_;
  std::vector<Change> changes_;
  std::vector<index_t> mistaken_; // of the last block
  struct Made {
    std::size_t mistaken;
    Change change;
  };
  std::vector<Made> made_;
  std::vector<index_t> rows_;
  std::vector<double> coef_;
  std::vector<index_t> doubtful_; // outputs
  std::size_t n_exact_ = 0;       // float64 values evaluated
};

} // namespace maxmargin::perceptron
