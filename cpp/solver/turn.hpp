#pragma once

#include "base/types.hpp"

#include <algorithm>
#include <limits>

namespace maxmargin {

// When a coordinate is visited next. One that was at rest is left alone for one pass, then for two,
// and so on; one that moves has its turn in every pass; one set aside has none.
struct Turn {
  static constexpr index_t kLongest = 8;
  static constexpr index_t kNever = std::numeric_limits<index_t>::max();
  index_t next = 0;
  index_t pause = 0;

  void doze(bool is_at_rest, index_t pass) {
    pause = is_at_rest ? std::min(pause + 1, kLongest) : 0;
    next = pass + 1 + pause;
  }
  void set_aside() { next = kNever; }
  bool is_aside() const { return next == kNever; }
};

} // namespace maxmargin
