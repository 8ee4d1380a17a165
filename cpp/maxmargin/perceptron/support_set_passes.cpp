#include "maxmargin/perceptron/support_set_passes.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/perceptron/deferred_scores.hpp"
#include "maxmargin/perceptron/joint_passes.hpp"
#include "maxmargin/perceptron/support_set.hpp"

#include <algorithm>
#include <optional>

namespace maxmargin::perceptron {
namespace {

constexpr index_t kMostValues = index_t{1} << 22; // of a block with the support vectors

class SupportSetPasses {
 public:
  SupportSetPasses(KernelMatrix<double>& kernel, const MistakeRule& rule,
                   const KernelPerceptronOptions& options, Control& control)
      : kernel_(kernel), rule_(rule), options_(options), control_(control),
        n_(static_cast<index_t>(rule.codes.size())),
        alpha_(static_cast<std::size_t>(rule.n_problems() * n_), 0),
        values_(static_cast<std::size_t>(rule.n_outputs())),
        row_of_(static_cast<std::size_t>(n_), nullptr) {
    const double largest =
        options.budget.policy == Budget::Policy::forgetron ? largest_square() : 0;
    for (index_t p = 0; p < rule.n_problems(); ++p) {
      // Seeds of their own, and none that is the seed of the orders.
      const std::uint64_t seed = options.passes.seed + 1 + static_cast<std::uint64_t>(p);
      learners_.push_back({SupportSet(rule.is_joint ? rule.n_outputs() : 1),
                           new_policy(options.budget, largest, seed)});
    }
  }

  KernelPerceptronFit run() {
    JointPasses passes(n_, rule_.n_problems(), options_.passes);
    passes.run([&](auto order, auto is_active, auto& mistakes) {
      is_active_ = is_active;
      mistakes_ = mistakes;
      mistake_rate_ = passes.mistake_rate();
      pass(order);
    });
    KernelPerceptronFit fit{std::move(alpha_), {}, passes.take_records(), kernel_.rows_computed()};
    fit.beta.assign(static_cast<std::size_t>(rule_.n_outputs() * n_), 0.0);
    for (std::size_t p = 0; p < learners_.size(); ++p) {
      const std::size_t n_passes = fit.records[p].mistakes_per_pass.size();
      const double steps = options_.average ? static_cast<double>(n_) * n_passes : 0.0;
      learners_[p].set.write(fit.beta.data() + p * n_, n_, steps);
    }
    return fit;
  }

 private:
  struct Learner {
    SupportSet set;
    std::unique_ptr<BudgetPolicy> policy;
    index_t n_watched = 8; // of the oldest support vectors, in one block
    index_t n_removable = 0;
  };

  double largest_square() {
    double largest = 0.0;
    const std::vector<index_t> order = identity_order(n_);
    AlignedBuffer<double> square(kSmallestBlock * kSmallestBlock);
    for (index_t first = 0; first < n_; first += kSmallestBlock) {
      const index_t count = std::min(kSmallestBlock, n_ - first);
      kernel_.square(std::span(order).subspan(first, count), square.data(), kSmallestBlock);
      for (index_t k = 0; k < count; ++k)
        largest = std::max(largest, square[k * (kSmallestBlock + 1)] + options_.offset);
      poll();
    }
    return largest;
  }

  void pass(std::span<const index_t> order) {
    for (index_t t = 0; t < n_;) {
      poll();
      const auto block = order.subspan(t, std::min(block_size(), n_ - t));
      t += pass_block(block, n_ * n_passes_ + t);
    }
    ++n_passes_;
  }

  void poll() {
    control_.poll([&] { return Progress{.n_iter = n_passes_ + 1, .measure = mistake_rate_}; });
  }

  index_t block_size() const {
    const index_t n_support = static_cast<index_t>(support_.size());
    const index_t fitting = kMostValues / std::max<index_t>(n_support, 1);
    return std::clamp<index_t>(fitting, 1, scored_block_size(n_support, without_mistake_));
  }

  // `step` examples went before this block. Returns how many of it were dealt with.
  index_t pass_block(std::span<const index_t> block, index_t step) {
    begin_block(block);
    bool has_own = false;
    const index_t n = static_cast<index_t>(block.size());
    index_t k = 0;
    for (; k < n; ++k) {
      for (index_t p = 0; p < rule_.n_outputs(); ++p) values_[p] = score(p, k);
      rule_.find_changes(block[k], values_, is_active_, changes_);
      if (changes_.empty()) continue;
      if (must_end_before(changes_)) break;
      if (!has_own) evaluate_own(block);
      has_own = true;
      learn({block[k], k, own_.data() + k * stride_, {}}, static_cast<double>(step + k));
      control_.poll();
    }
    without_mistake_ = has_own ? 0 : without_mistake_ + 1;
    return k;
  }

  // 0 of a problem that has ended, whose support vectors do not meet the block.
  double score(index_t output, index_t column) const {
    const index_t problem = rule_.problem_of(output);
    if (!is_active_[problem]) return 0.0;
    return learners_[problem].set.score(rule_.is_joint ? output : 0, column);
  }

  void begin_block(std::span<const index_t> block) {
    columns_.assign(block.begin(), block.end());
    support_.clear();
    for (std::size_t p = 0; p < learners_.size(); ++p)
      if (is_active_[p]) begin_problem(learners_[p], static_cast<index_t>(block.size()));
    std::ranges::sort(support_);
    support_.erase(std::unique(support_.begin(), support_.end()), support_.end());

    stride_ = row_stride<double>(static_cast<index_t>(columns_.size()));
    with_support_.resize_discard(static_cast<index_t>(support_.size()) * stride_);
    kernel_.rectangle(support_, columns_, with_support_.data(), stride_);
    add_offset(with_support_);
    for (std::size_t s = 0; s < support_.size(); ++s)
      row_of_[support_[s]] = with_support_.data() + static_cast<index_t>(s) * stride_;
    const auto row_of = [this](index_t i) { return row_of_[i]; };
    index_t column = static_cast<index_t>(block.size());
    for (std::size_t p = 0; p < learners_.size(); ++p) {
      if (!is_active_[p]) continue;
      learners_[p].set.begin_block(static_cast<index_t>(columns_.size()), row_of);
      for (index_t s = 0; s < learners_[p].n_removable; ++s) learners_[p].set.watch(s, column++);
    }
  }

  // Lists the support vectors of a problem, and after the examples of the block, as further
  // columns, those that may be removed in it by a policy which asks for their scores.
  void begin_problem(Learner& learner, index_t n) {
    const auto examples = learner.set.examples();
    support_.insert(support_.end(), examples.begin(), examples.end());
    const bool may_fill = learner.set.size() > options_.budget.size - n;
    learner.n_removable = 0;
    if (!learner.policy->watches_oldest() || !may_fill) return;
    learner.n_removable = std::min({learner.n_watched, n, learner.set.size()});
    columns_.insert(columns_.end(), examples.begin(), examples.begin() + learner.n_removable);
  }

  // Whether a problem would remove a support vector whose score is not known. Then this block ends,
  // and the next one knows more scores.
  bool must_end_before(std::span<const Change> changes) {
    for (const Change& change : changes) {
      Learner& learner = learners_[rule_.problem_of(change.output)];
      const SupportSet& set = learner.set;
      if (!learner.policy->watches_oldest() || set.size() < options_.budget.size) continue;
      if (set.watched(0) >= 0) continue;
      learner.n_watched = std::min(2 * learner.n_watched, kLargestBlock);
      return true;
    }
    return false;
  }

  void evaluate_own(std::span<const index_t> block) {
    const index_t n = static_cast<index_t>(block.size());
    own_.resize_discard(n * stride_);
    if (columns_.size() == block.size())
      kernel_.square(block, own_.data(), stride_);
    else
      kernel_.rectangle(block, columns_, own_.data(), stride_);
    add_offset(own_);
  }

  void add_offset(AlignedBuffer<double>& values) const {
    if (options_.offset == 0.0) return;
    for (double& value : values.span()) value += options_.offset;
  }

  void learn(Mistake mistake, double step) {
    if (rule_.is_joint) {
      mistake.changes = changes_;
      return learn(0, mistake, step);
    }
    for (const Change& change : changes_) {
      const Change own{0, change.sign};
      mistake.changes = {&own, 1};
      learn(change.output, mistake, step);
    }
  }

  void learn(index_t problem, const Mistake& mistake, double step) {
    ++alpha_[problem * n_ + mistake.example];
    ++mistakes_[problem];
    Learner& learner = learners_[problem];
    learner.set.advance(mistake.column + 1, step);
    learner.policy->learn(learner.set, mistake);
  }

  KernelMatrix<double>& kernel_;
  const MistakeRule& rule_;
  const KernelPerceptronOptions& options_;
  Control& control_;
  index_t n_;
  std::vector<std::int64_t> alpha_;
  std::vector<double> values_;
  std::vector<const double*> row_of_; // by example: its kernel values with the block
  std::vector<Learner> learners_;     // by problem
  index_t n_passes_ = 0;
  std::optional<double> mistake_rate_; // of the last pass, for the caller to know
  index_t without_mistake_ = 0;        // blocks in a row
  std::span<const char> is_active_;
  std::span<index_t> mistakes_;
  std::vector<Change> changes_;
  std::vector<index_t> columns_; // the block, then what is watched
  std::vector<index_t> support_; // of all active problems, ascending
  index_t stride_ = 0;
  AlignedBuffer<double> with_support_; // kernel values by support vector and column
  AlignedBuffer<double> own_;          // by example of the block and column
};

} // namespace

KernelPerceptronFit train_by_support_sets(const PackingPlan& plan, const MistakeRule& rule,
                                          const KernelPerceptronOptions& options,
                                          Control& control) {
  // One segment, so that column i is example i.
  const auto samples =
      pack_samples<double>(plan, {identity_order(n_rows(plan.X))}, options.threads, control);
  const index_t segments[] = {0};
  KernelMatrix<double> kernel(samples->rows(segments, options.threads), options.cache_bytes,
                              options.threads, control);
  return SupportSetPasses(kernel, rule, options, control).run();
}

} // namespace maxmargin::perceptron
