#pragma once

#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <span>

namespace maxmargin {

// Of the column indices of compressed sparse rows; least > greatest where there are none.
struct ColumnScan {
  index_t least = 0, greatest = -1;
  bool ascend = true; // strictly, in every row

  bool is_empty() const { return least > greatest; }
  // What is found in further rows.
  void add(const ColumnScan& further) {
    ascend = ascend && further.ascend;
    if (further.is_empty()) return;
    least = is_empty() ? further.least : std::min(least, further.least);
    greatest = is_empty() ? further.greatest : std::max(greatest, further.greatest);
  }
};

// Requires: indptr ascends, within the indices. They themselves may be any.
template <class I> ColumnScan scan_columns(std::span<const I> indices, std::span<const I> indptr) {
  const auto first = static_cast<std::size_t>(indptr.front());
  const auto used = indices.subspan(first, static_cast<std::size_t>(indptr.back()) - first);
  ColumnScan scan;
  if (used.empty()) return scan;
  I least = used.front(), greatest = used.front();
  for (std::size_t i = 0; i + 1 < indptr.size(); ++i) {
    const I begin = indptr[i] - indptr.front(), end = indptr[i + 1] - indptr.front();
    if (begin == end) continue;
    least = std::min(least, used[begin]);
    greatest = std::max(greatest, used[end - 1]);
    I descents = 0; // as wide as the indices, so that many are compared at once
    for (I k = begin + 1; k < end; ++k) descents |= static_cast<I>(used[k] <= used[k - 1]);
    scan.ascend = scan.ascend && descents == 0;
  }
  if (!scan.ascend) {
    least = *std::ranges::min_element(used);
    greatest = *std::ranges::max_element(used);
  }
  scan.least = least;
  scan.greatest = greatest;
  return scan;
}

} // namespace maxmargin
