// Operations on plain arrays.
#pragma once

#include "simd/kernel_table.hpp"
#include "simd/vec_math.hpp"

namespace maxmargin::simd {
namespace {

// Four independent sums hide the latency of the additions. The order of the sums is fixed, so that
// a row's dot product is the same wherever the row lies.
template <class X, class T> MAXMARGIN_INLINE T dot_as(const X* x, const T* y, index_t n) {
  using V = Vec<T>;
  constexpr index_t step = 4 * V::size;
  V sum[4];
  unroll<4>([&](auto u) { sum[u] = V::zero(); });
  index_t k = 0;
  for (; k + step <= n; k += step)
    unroll<4>([&](auto u) {
      sum[u] = fma(load_as<T>(x + k + u * V::size), V::load(y + k + u * V::size), sum[u]);
    });
  for (; k + V::size <= n; k += V::size) sum[0] = fma(load_as<T>(x + k), V::load(y + k), sum[0]);
  T total = 0;
  for (; k < n; ++k) total += T(x[k]) * y[k];
  const V lanes = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (int lane = 0; lane < V::size; ++lane) total += lanes.raw[lane];
  return total;
}

template <class X, class T> MAXMARGIN_INLINE void axpy_as(T a, const X* x, T* y, index_t n) {
  using V = Vec<T>;
  const V factor = V::fill(a);
  index_t k = 0;
  for (; k + V::size <= n; k += V::size)
    fma(factor, load_as<T>(x + k), V::load(y + k)).store(y + k);
  for (; k < n; ++k) y[k] += a * T(x[k]);
}

template <class T> T dot(const T* x, const T* y, index_t n) {
  return dot_as(x, y, n);
}
template <class T> void axpy(T a, const T* x, T* y, index_t n) {
  axpy_as(a, x, y, n);
}
template <class T> double dot_wide(const T* x, const double* w, index_t n) {
  return dot_as(x, w, n);
}
template <class T> void axpy_wide(double a, const T* x, double* w, index_t n) {
  axpy_as(a, x, w, n);
}

// What is greatest of |x| as bits: they are in the order of the numbers, with infinity and what is
// not a number above all.
template <class T> T largest_magnitude(const T* x, index_t n) {
  using V = Vec<T>;
  using Bits = typename V::Mask;
  const Bits sign_cleared = ~((Bits{} + 1) << (8 * sizeof(T) - 1));
  Bits greatest[4] = {};
  const auto meet = [&](Bits& most, V v) {
    Bits bits;
    __builtin_memcpy(&bits, &v.raw, sizeof(bits));
    bits &= sign_cleared;
    most = bits > most ? bits : most;
  };
  index_t k = 0;
  for (; k + 4 * V::size <= n; k += 4 * V::size)
    unroll<4>([&](auto u) { meet(greatest[u], V::load(x + k + u * V::size)); });
  for (; k < n; k += V::size) {
    T rest[V::size] = {};
    for (index_t e = 0; e < V::size && k + e < n; ++e) rest[e] = x[k + e];
    meet(greatest[0], V::load(rest));
  }
  typename V::Integer most = 0;
  for (const Bits& bits : greatest)
    for (int lane = 0; lane < V::size; ++lane) most = bits[lane] > most ? bits[lane] : most;
  T result;
  __builtin_memcpy(&result, &most, sizeof(result));
  return result;
}

// Adding a number whose last place is 1 rounds to an integer, which then stands in the lowest bits.
template <class T> inline constexpr T kRounder = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

template <class T> void encode(const T* x, T scale, std::int8_t* codes, index_t n) {
  using V = Vec<T>;
  const V factor = V::fill(scale), rounder = V::fill(kRounder<T>);
  index_t k = 0;
  for (; k + V::size <= n; k += V::size)
    store_lowest_bytes(fma(V::load(x + k), factor, rounder), codes + k);
  if (k == n) return;
  T rest[V::size] = {};
  std::int8_t bytes[V::size];
  for (index_t e = 0; k + e < n; ++e) rest[e] = x[k + e];
  store_lowest_bytes(fma(V::load(rest), factor, rounder), bytes);
  for (index_t e = 0; k + e < n; ++e) codes[k + e] = bytes[e];
}

// Of long rows one after the other is read, of short ones all together, which hides the latency of
// their sums.
constexpr index_t kLongRow = 256;

inline float dot_of_codes(const std::int8_t* codes, const float* w, index_t n) {
  using V = Vec<float>;
  constexpr index_t step = 4 * V::size;
  V sum[4];
  unroll<4>([&](auto u) { sum[u] = V::zero(); });
  index_t k = 0;
  for (; k + step <= n; k += step)
    unroll<4>([&](auto u) {
      sum[u] = fma(load_codes(codes + k + u * V::size), V::load(w + k + u * V::size), sum[u]);
    });
  for (; k < n; k += V::size) sum[0] = fma(load_codes(codes + k), V::load(w + k), sum[0]);
  return sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

inline void dot_codes(const std::int8_t* const* rows, const float* w, index_t n, float* out) {
  using V = Vec<float>;
  if (n >= kLongRow) {
    for (index_t r = 0; r < kCodeRows; ++r) out[r] = dot_of_codes(rows[r], w, n);
    return;
  }
  V sum[kCodeRows];
  unroll<kCodeRows>([&](auto r) { sum[r] = V::zero(); });
  for (index_t k = 0; k < n; k += V::size) {
    const V factor = V::load(w + k);
    unroll<kCodeRows>([&](auto r) { sum[r] = fma(load_codes(rows[r] + k), factor, sum[r]); });
  }
  unroll<kCodeRows>([&](auto r) { out[r] = sum_of_lanes(sum[r]); });
}

// In squares of as many lines as fill the registers.
template <class T>
void transpose_square(const T* from, index_t from_stride, T* to, index_t to_stride) {
  using V = Vec<T>;
  constexpr index_t side = V::size;
  for (index_t r = 0; r < kLane<T>; r += side)
    for (index_t c = 0; c < kLane<T>; c += side) {
      V square[side];
      unroll<side>([&](auto k) { square[k] = V::load(from + (r + k) * from_stride + c); });
      transpose(square);
      unroll<side>([&](auto k) { square[k].store(to + (c + k) * to_stride + r); });
    }
}

// Enough chains to cover the latency of a multiply-add on two units.
template <class T> index_t fma_chains(index_t steps, T* sink) {
  using V = Vec<T>;
  constexpr int n_chains = 12;
  const V factor = V::fill(T(0.999)), term = V::fill(T(0.001));
  V chain[n_chains];
  unroll<n_chains>([&](auto c) { chain[c] = V::fill(sink[0] + T(int(c))); });
  for (index_t k = 0; k < steps; ++k)
    unroll<n_chains>([&](auto c) { chain[c] = fma(chain[c], factor, term); });
  V total = V::zero();
  unroll<n_chains>([&](auto c) { total = total + chain[c]; });
  sink[0] = total.raw[0];
  return steps * n_chains * V::size * 2;
}

template <class T> void exp_array(const T* x, T* y, index_t n) {
  using V = Vec<T>;
  for (index_t k = 0; k < n; k += V::size) {
    T lanes[V::size] = {};
    const index_t count = n - k < V::size ? n - k : V::size;
    for (index_t i = 0; i < count; ++i) lanes[i] = x[k + i];
    exp_nonpositive(V::load(lanes)).store(lanes);
    for (index_t i = 0; i < count; ++i) y[k + i] = lanes[i];
  }
}

template <class T> void tanh_array(const T* x, T* y, index_t n) {
  using V = Vec<T>;
  for (index_t k = 0; k < n; k += V::size) {
    T lanes[V::size] = {};
    const index_t count = n - k < V::size ? n - k : V::size;
    for (index_t i = 0; i < count; ++i) lanes[i] = x[k + i];
    tanh(V::load(lanes)).store(lanes);
    for (index_t i = 0; i < count; ++i) y[k + i] = lanes[i];
  }
}

// Columns in strips whose sums stay in registers while the rows pass by.
template <int W, class T>
MAXMARGIN_INLINE void add_rows_strip(const T* const* rows, const double* coef, index_t n_rows,
                                     double* out, index_t c) {
  using V = Vec<double>;
  V sum[W];
  unroll<W>([&](auto v) { sum[v] = V::load(out + c + v * V::size); });
  for (index_t r = 0; r < n_rows; ++r) {
    const V factor = V::fill(coef[r]);
    const T* row = rows[r] + c;
    unroll<W>([&](auto v) { sum[v] = fma(factor, load_as<double>(row + v * V::size), sum[v]); });
  }
  unroll<W>([&](auto v) { sum[v].store(out + c + v * V::size); });
}

template <int W, class T>
MAXMARGIN_INLINE void add_rows_strips(const T* const* rows, const double* coef, index_t n_rows,
                                      double* out, index_t& c, index_t end) {
  constexpr int width = W * Vec<double>::size;
  for (; c + width <= end; c += width) add_rows_strip<W>(rows, coef, n_rows, out, c);
}

template <class T>
void add_rows(const T* const* rows, const double* coef, index_t n_rows, double* out, index_t begin,
              index_t end) {
  using V = Vec<double>;
  index_t c = begin;
  add_rows_strips<8>(rows, coef, n_rows, out, c, end);
  add_rows_strips<4>(rows, coef, n_rows, out, c, end);
  add_rows_strips<2>(rows, coef, n_rows, out, c, end);
  add_rows_strips<1>(rows, coef, n_rows, out, c, end);
  for (; c < end; ++c) {
    // One lane of a vector, contracted like the rest.
    V sum = V::fill(out[c]);
    for (index_t r = 0; r < n_rows; ++r)
      sum = fma(V::fill(coef[r]), V::fill(double(rows[r][c])), sum);
    out[c] = sum.raw[0];
  }
}

} // namespace
} // namespace maxmargin::simd
