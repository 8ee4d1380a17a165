#include "maxmargin/perceptron/kernel_perceptron.hpp"

#include "maxmargin/perceptron/joint_passes.hpp"
#include "maxmargin/perceptron/scored_passes.hpp"
#include "maxmargin/perceptron/support_set_passes.hpp"

#include <algorithm>
#include <optional>

namespace maxmargin::perceptron {
namespace {

// With fewer examples float64 values cost no more.
constexpr index_t kSmallestFloat32 = 1024;

// The passes of every problem, on float32 values as long as they pay.
class Passes {
 public:
  Passes(const PackingPlan& plan, const MistakeRule& rule, const KernelPerceptronOptions& options,
         Control& control)
      : plan_(plan), rule_(rule), options_(options), control_(control),
        learned_(rule, options.average),
        may_be_narrow_(learned_.n >= kSmallestFloat32 && plan.kernel.type == KernelType::rbf) {}

  KernelPerceptronFit run() {
    JointPasses passes(learned_.n, rule_.n_problems(), options_.passes);
    passes.run([&](auto order, auto is_active, std::span<index_t> mistakes) {
      learned_.mistake_rate = passes.mistake_rate();
      if (may_be_narrow_ && pass_narrow(order, is_active, mistakes)) return;
      if (!wide_) wide_.emplace(plan_, rule_, options_, learned_, control_);
      wide_->pass(order, is_active, mistakes);
    });
    KernelPerceptronFit fit{std::move(learned_.alpha), std::move(learned_.beta),
                            passes.take_records()};
    if (narrow_) kernel_rows_ += narrow_->kernel_rows();
    if (wide_) kernel_rows_ += wide_->kernel_rows();
    fit.kernel_rows = kernel_rows_;
    if (options_.average) average(fit);
    return fit;
  }

 private:
  // Returns false, with nothing learned, where float32 values do not pay.
  bool pass_narrow(std::span<const index_t> order, std::span<const char> is_active,
                   std::span<index_t> mistakes) {
    const Learned before = learned_;
    try {
      if (!narrow_) narrow_.emplace(plan_, rule_, options_, learned_, control_);
      narrow_->pass(order, is_active, mistakes);
    } catch (const Imprecise&) {
      learned_ = before;
      std::ranges::fill(mistakes, 0);
      if (narrow_) kernel_rows_ += narrow_->kernel_rows();
      narrow_.reset();
      may_be_narrow_ = false;
    }
    return may_be_narrow_;
  }

  // A change made after `step` of T examples stood after T - step of them.
  void average(KernelPerceptronFit& fit) const {
    const index_t n = learned_.n;
    for (index_t p = 0; p < rule_.n_outputs(); ++p) {
      const optim::MistakeRecord& record = fit.records[rule_.problem_of(p)];
      const double steps = static_cast<double>(n) * record.mistakes_per_pass.size();
      for (index_t i = 0; i < n; ++i)
        fit.beta[p * n + i] = (fit.beta[p * n + i] * steps - learned_.lag[p * n + i]) / steps;
    }
  }

  const PackingPlan& plan_;
  const MistakeRule& rule_;
  const KernelPerceptronOptions& options_;
  Control& control_;
  Learned learned_;
  bool may_be_narrow_;
  std::optional<ScoredPasses<float>> narrow_;
  std::optional<ScoredPasses<double>> wide_;
  std::size_t kernel_rows_ = 0;
};

} // namespace

KernelPerceptronFit train_kernel_perceptron(const PackingPlan& plan, const MistakeRule& rule,
                                            const KernelPerceptronOptions& options,
                                            Control& control) {
  require(static_cast<index_t>(rule.codes.size()) == n_rows(plan.X),
          "y must have one element for every sample");
  if (options.budget.policy == Budget::Policy::none)
    return Passes(plan, rule, options, control).run();
  return train_by_support_sets(plan, rule, options, control);
}

} // namespace maxmargin::perceptron
