#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/types.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <vector>

namespace maxmargin {

// The values below the diagonal of a symmetric n x n block by reflection, a square of whole lines
// at a time.
template <Real T> void reflect_upper(index_t n, T* out, index_t stride, int threads) {
  constexpr index_t side = kLane<T>;
  const auto transpose = simd::real_table<T>().transpose;
  parallel_for((n + side - 1) / side, threads, [&](index_t square_row, int) {
    const index_t first = square_row * side, end = std::min(first + side, n);
    const index_t whole = end == first + side ? first : 0; // columns that whole squares fill
    for (index_t left = 0; left < whole; left += side)
      transpose(out + left * stride + first, stride, out + first * stride + left, stride);
    for (index_t r = first; r < end; ++r)
      for (index_t c = whole; c < r; ++c) out[r * stride + c] = out[c * stride + r];
  });
}

// A symmetric n x n block from the values on and right of its diagonal, which
// evaluate_from(first, count, begin, rows, thread) computes: rows[r][c] = K(first + r, begin + c)
// for every column from `begin` on.
template <Real T, class F>
void upper_triangle(index_t n, index_t row_chunk, T* out, index_t stride, int threads,
                    Control& control, const F& evaluate_from) {
  const index_t n_chunks = (n + row_chunk - 1) / row_chunk;
  parallel_for(n_chunks, threads, [&](index_t chunk, int thread) {
    control.poll();
    const index_t first = chunk * row_chunk, count = std::min(row_chunk, n - first);
    const index_t begin = first / kLane<T> * kLane<T>;
    std::vector<T*> rows;
    for (index_t r = first; r < first + count; ++r) rows.push_back(out + r * stride + begin);
    evaluate_from(first, count, begin, rows.data(), thread);
  });
  reflect_upper(n, out, stride, threads);
}

} // namespace maxmargin
