#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <vector>

namespace maxmargin {

// The rows of a block in chunks, which evaluate(first, count, rows, thread) computes: rows[r] is
// where row first + r begins.
template <Real T, class F>
void row_chunks(index_t n, index_t row_chunk, T* out, index_t stride, int threads, Control& control,
                const F& evaluate) {
  const index_t n_chunks = (n + row_chunk - 1) / row_chunk;
  parallel_for(n_chunks, threads, [&](index_t chunk, int thread) {
    control.poll();
    const index_t first = chunk * row_chunk, count = std::min(row_chunk, n - first);
    std::vector<T*> rows;
    for (index_t r = first; r < first + count; ++r) rows.push_back(out + r * stride);
    evaluate(first, count, rows.data(), thread);
  });
}

} // namespace maxmargin
