#pragma once

#include "maxmargin/optim/mistake_passes.hpp"

namespace maxmargin::perceptron {

// Passes of several problems over the same examples in lockstep, each until its own end.
class LockstepPasses {
 public:
  LockstepPasses(index_t n_examples, index_t n_problems, const optim::PassOptions& options)
      : options_(options), order_(identity_order(n_examples)), random_(options.seed),
        ends_(static_cast<std::size_t>(n_problems), optim::PassEnd(n_examples, options)),
        is_active_(static_cast<std::size_t>(n_problems), 1) {}

  // Calls pass(order, is_active, mistakes), which adds the mistakes of every active problem, until
  // all have ended. With the same options a problem gets the same orders as in optim::run_passes.
  template <class Pass> void run(const Pass& pass) {
    std::vector<index_t> mistakes(ends_.size());
    while (std::ranges::any_of(is_active_, [](char active) { return active != 0; })) {
      if (options_.shuffle) random_.shuffle(order_);
      std::ranges::fill(mistakes, 0);
      pass(std::span<const index_t>(order_), std::span<const char>(is_active_), mistakes);
      for (std::size_t p = 0; p < ends_.size(); ++p)
        if (is_active_[p]) is_active_[p] = ends_[p].add(mistakes[p]);
    }
  }

  // Mistakes per example in the last pass of a problem, the mean of all problems.
  std::optional<double> mistake_rate() const {
    if (ends_.front().record.mistakes_per_pass.empty()) return std::nullopt;
    double sum = 0.0;
    for (const optim::PassEnd& end : ends_) sum += end.record.measure;
    return sum / static_cast<double>(ends_.size());
  }

  std::vector<optim::MistakeRecord> take_records() {
    std::vector<optim::MistakeRecord> records;
    for (optim::PassEnd& end : ends_) records.push_back(std::move(end.record));
    return records;
  }

 private:
  optim::PassOptions options_;
  std::vector<index_t> order_;
  Random random_;
  std::vector<optim::PassEnd> ends_;
  std::vector<char> is_active_;
};

} // namespace maxmargin::perceptron
