#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/data/views.hpp"

namespace maxmargin {

// Room for the whole kernel matrix of two segments, one pair after the other.
template <Real T> struct StoredPair {
  AlignedBuffer<T> values;
  MatrixView view;                 // of them, or of those of all segments, which stand elsewhere
  index_t first = -1, second = -1; // the segments, where they were copied from those of all
  // Of the first segment, where pairs share them: its samples' values with all segments after it.
  index_t strip_of = -1, strip_width = 0;
  AlignedBuffer<T> strip;
};

} // namespace maxmargin
