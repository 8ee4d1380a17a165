#pragma once

#include "maxmargin/base/random.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace maxmargin::optim {

// How examples are gone through, and when training gives up on data that it cannot separate.
struct PassOptions {
  index_t max_iter = 1000; // passes
  // Also stop when the measure of a pass, per example, has not fallen by more than tol below the
  // least so far in n_iter_no_change passes in a row.
  std::optional<double> tol;
  index_t n_iter_no_change = 5;
  bool shuffle = false; // a new order for every pass
  std::uint64_t seed = 0;
};

struct PassOutcome {
  // The measure is the number of mistakes, and a pass without one is the last.
  PassOutcome(index_t n_mistakes) // NOLINT(google-explicit-constructor)
      : PassOutcome(n_mistakes, static_cast<double>(n_mistakes), n_mistakes == 0) {}
  PassOutcome(index_t n_mistakes, double measured, bool ends)
      : mistakes(n_mistakes), measure(measured), is_last(ends) {}

  index_t mistakes;
  double measure; // a sum over the examples
  bool is_last;   // a further pass would change nothing
};

struct MistakeRecord {
  std::vector<index_t> mistakes_per_pass;
  bool is_separated = false; // the last pass made no mistake
  bool is_stalled = false;   // tol ended training
  double measure = 0.0;      // of the last pass, per example
};

// Called where tol would end training; returns whether to go on, since a setting has changed.
using OnPlateau = std::function<bool()>;

// Records pass after pass, and decides when to end. `first_least` is the measure to fall below in
// the first pass: all examples mistaken, unless given.
class PassEnd {
 public:
  PassEnd(index_t n_examples, const PassOptions& options,
          std::optional<double> first_least = std::nullopt)
      : options_(options), n_(static_cast<double>(n_examples)), least_(first_least.value_or(n_)) {}

  // Returns whether another pass should follow this one.
  bool add(const PassOutcome& outcome, const OnPlateau& on_plateau = {}) {
    record.mistakes_per_pass.push_back(outcome.mistakes);
    record.measure = outcome.measure / std::max(1.0, n_);
    record.is_separated = outcome.mistakes == 0;
    if (outcome.is_last) return false;
    if (options_.tol) {
      const bool stalls = outcome.measure > least_ - *options_.tol * n_;
      without_progress_ = stalls ? without_progress_ + 1 : 0;
      least_ = std::min(least_, outcome.measure);
      if (without_progress_ >= options_.n_iter_no_change) {
        without_progress_ = 0;
        record.is_stalled = !on_plateau || !on_plateau();
      }
    }
    return !record.is_stalled &&
           static_cast<index_t>(record.mistakes_per_pass.size()) < options_.max_iter;
  }

  MistakeRecord record;

 private:
  PassOptions options_;
  double n_;
  double least_;
  index_t without_progress_ = 0;
};

// Calls pass(order), which gives the PassOutcome of its n_examples or the number of mistakes, until
// a pass is the last or the options end it. `order` is only shuffled here.
template <class Pass>
MistakeRecord run_passes(index_t n_examples, std::vector<index_t> order, const PassOptions& options,
                         const Pass& pass, std::optional<double> first_least = std::nullopt,
                         const OnPlateau& on_plateau = {}) {
  PassEnd end(n_examples, options, first_least);
  Random random(options.seed);
  bool goes_on = options.max_iter > 0;
  while (goes_on) {
    if (options.shuffle) random.shuffle(order);
    goes_on = end.add(pass(std::span<const index_t>(order)), on_plateau);
  }
  return std::move(end.record);
}

} // namespace maxmargin::optim
