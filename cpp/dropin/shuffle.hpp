#pragma once

#include "maxmargin/base/types.hpp"

#include <cstdlib>
#include <span>
#include <utility>

namespace maxmargin::dropin {

// The order that both libraries give samples before they divide them into folds, by C's rand().
inline void shuffle(std::span<index_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    std::swap(order[i], order[i + static_cast<std::size_t>(std::rand()) % (order.size() - i)]);
}

// Where fold k of n samples begins, which is where the one before it ends.
inline std::size_t begin_of_fold(std::size_t k, std::size_t n_folds, std::size_t n) {
  return k * n / n_folds;
}

} // namespace maxmargin::dropin
