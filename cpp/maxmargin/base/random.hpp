#pragma once

#include "maxmargin/base/types.hpp"

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

  // Uniform in [0, bound), without bias and most often without a division (Lemire 2019).
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    Wide product = Wide{engine_()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t uneven = -bound % bound; // 2^64 mod bound
      while (static_cast<std::uint64_t>(product) < uneven) product = Wide{engine_()} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
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
