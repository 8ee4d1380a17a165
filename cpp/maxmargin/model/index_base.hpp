#pragma once

#include <optional>

namespace maxmargin {

// How the column numbers of a file count. `automatic` is one, unless an index 0 occurs anywhere.
enum class IndexBase { automatic, zero, one };

// Nothing is automatic.
inline IndexBase index_base(std::optional<bool> zero_based) {
  if (!zero_based) return IndexBase::automatic;
  return *zero_based ? IndexBase::zero : IndexBase::one;
}

} // namespace maxmargin
