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

// Calls pass(order), which returns the number of mistakes that it made on its n_examples, until a
// pass makes none or the options end it. `order` is only shuffled here.
template <class Pass>
MistakeRecord run_passes(index_t n_examples, std::vector<index_t> order, const PassOptions& options,
                         const Pass& pass) {
  MistakeRecord record;
  Random random(options.seed);
  const double n = static_cast<double>(n_examples);
  double least = n;
  index_t without_progress = 0;
  for (index_t iter = 0; iter < options.max_iter; ++iter) {
    if (options.shuffle) random.shuffle(order);
    const index_t mistakes = pass(std::span<const index_t>(order));
    record.mistakes_per_pass.push_back(mistakes);
    record.is_separated = mistakes == 0;
    if (record.is_separated) break;
    if (!options.tol) continue;
    const double count = static_cast<double>(mistakes);
    without_progress = count > least - *options.tol * n ? without_progress + 1 : 0;
    if (without_progress == kPatience) break;
    least = std::min(least, count);
  }
  return record;
}

} // namespace maxmargin
