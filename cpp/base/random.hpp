#pragma once

#include "base/types.hpp"

#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace maxmargin {

// A seeded source of numbers, the same on every platform (std::shuffle and the distributions of
// <random> are not). No global state.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [0, bound), without modulo bias.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = engine_.max() - engine_.max() % bound;
    std::uint64_t value = engine_();
    while (value >= limit) value = engine_();
    return value % bound;
  }

  // Fisher and Yates.
  void shuffle(std::vector<index_t>& order) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

inline std::vector<index_t> identity_order(index_t n) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), index_t{0});
  return order;
}

} // namespace maxmargin
