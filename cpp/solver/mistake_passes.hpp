#pragma once

#include "base/random.hpp"
#include "base/types.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

// How a perceptron goes through its examples, and when it gives up on data that it cannot separate.
struct PassOptions {
  index_t max_iter = 1000; // passes
  // Also stop when the share of mistakes has not fallen by more than tol below the least so far in
  // kPatience passes in a row.
  std::optional<double> tol;
  bool shuffle = false; // a new order for every pass
  std::uint64_t seed = 0;
};

inline constexpr index_t kPatience = 5;

struct MistakeRecord {
  std::vector<index_t> mistakes_per_pass;
  bool is_separated = false; // the last pass made no mistake
};

// Counts the mistakes of pass after pass, and tells when to end.
class PassEnd {
 public:
  PassEnd(index_t n_examples, const PassOptions& options)
      : options_(options), n_(static_cast<double>(n_examples)), least_(n_) {}

  // Returns whether another pass should follow the one that made these mistakes.
  bool add(index_t mistakes) {
    record.mistakes_per_pass.push_back(mistakes);
    record.is_separated = mistakes == 0;
    if (record.is_separated) return false;
    if (static_cast<index_t>(record.mistakes_per_pass.size()) >= options_.max_iter) return false;
    if (!options_.tol) return true;
    const double count = static_cast<double>(mistakes);
    without_progress_ = count > least_ - *options_.tol * n_ ? without_progress_ + 1 : 0;
    least_ = std::min(least_, count);
    return without_progress_ != kPatience;
  }

  MistakeRecord record;

 private:
  PassOptions options_;
  double n_;
  double least_;
  index_t without_progress_ = 0;
};

// Calls pass(order), which returns the number of mistakes that it made on its n_examples, until a
// pass makes none or the options end it. `order` is only shuffled here.
template <class Pass>
MistakeRecord run_passes(index_t n_examples, std::vector<index_t> order, const PassOptions& options,
                         const Pass& pass) {
  PassEnd end(n_examples, options);
  Random random(options.seed);
  bool goes_on = options.max_iter > 0;
  while (goes_on) {
    if (options.shuffle) random.shuffle(order);
    goes_on = end.add(pass(std::span<const index_t>(order)));
  }
  return std::move(end.record);
}

} // namespace maxmargin
