#pragma once

#include "maxmargin/base/types.hpp"

#include <span>
#include <vector>

namespace maxmargin::dropin {

// The classes of a training set in the order of both libraries: as they first occur, but 1 before -1 where they
// are all.
struct Classes {
  explicit Classes(std::span<const double> y);

  std::vector<int> labels;
  std::vector<index_t> codes;               // by sample
  std::vector<std::vector<index_t>> groups; // the samples of each class
};

} // namespace maxmargin::dropin
