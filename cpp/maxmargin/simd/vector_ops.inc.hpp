// Operations on plain arrays.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec_exp2.hpp"
#include "maxmargin/simd/vec_math.hpp"

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

// R rows with F functions, whose sums stay in registers and begin with b: to add it at the end takes
// half as long again for few features. The order of each sum depends on n alone.
template <int R, int F, class T>
MAXMARGIN_INLINE void linear_tile(const T* x, index_t stride, index_t n, const double* w,
                                  const double* b, index_t n_functions, double* out) {
  using V = Vec<double>;
  constexpr int groups = (R * F + V::size - 1) / V::size;
  V sum[groups * V::size];
  unroll<groups * V::size>(
      [&](auto s) { sum[s] = s < R * F ? load_first(b + s % F, 1) : V::zero(); });
  const auto add = [&](const auto& load) MAXMARGIN_INLINE_LAMBDA {
    V weights[F];
    unroll<F>([&](auto f) { weights[f] = load(w + f * n); });
    unroll<R>([&](auto r) {
      const V numbers = load(x + r * stride);
      unroll<F>([&](auto f) { sum[r * F + f] = fma(numbers, weights[f], sum[r * F + f]); });
    });
  };
  index_t k = 0;
  for (; k + V::size <= n; k += V::size) add([&](auto* p) { return load_as<double>(p + k); });
  if (k < n) add([&](auto* p) { return load_first(p + k, static_cast<int>(n - k)); });
  double totals[groups * V::size];
  unroll<groups>([&](auto g) {
    sum_lanes(sum + g * V::size);
    sum[g * V::size].store(totals + g * V::size);
  });
  unroll<R>(
      [&](auto r) { __builtin_memcpy(out + r * n_functions, totals + r * F, F * sizeof(double)); });
}

// As many functions at once as leave registers for as many rows again.
inline constexpr int kFunctionsAtOnce = MAXMARGIN_VEC_BYTES == 64 ? 4 : 2;

template <class T>
void linear_values(const T* x, index_t n_rows, index_t stride, index_t n, const double* w,
                   const double* b, index_t n_functions, double* out) {
  const auto take = [&](auto functions, index_t f) {
    constexpr int F = decltype(functions)::value, R = F == 1 ? 8 : 4;
    index_t i = 0;
    for (; i + R <= n_rows; i += R)
      linear_tile<R, F>(x + i * stride, stride, n, w + f * n, b + f, n_functions,
                        out + i * n_functions + f);
    for (; i < n_rows; ++i)
      linear_tile<1, F>(x + i * stride, stride, n, w + f * n, b + f, n_functions,
                        out + i * n_functions + f);
  };
  index_t f = 0;
  for (; f + kFunctionsAtOnce <= n_functions; f += kFunctionsAtOnce)
    take(Constant<kFunctionsAtOnce>{}, f);
  unroll<kFunctionsAtOnce - 1>([&](auto rest) {
    if (n_functions - f == rest + 1) take(Constant<rest + 1>{}, f);
  });
}

inline double sum_of_magnitudes(const double* x, index_t n) {
  using V = Vec<double>;
  V sum[4];
  unroll<4>([&](auto u) { sum[u] = V::zero(); });
  const auto add = [](V& to, V v) { to = to + max(v, V::zero() - v); };
  index_t k = 0;
  for (; k + 4 * V::size <= n; k += 4 * V::size)
    unroll<4>([&](auto u) { add(sum[u], V::load(x + k + u * V::size)); });
  for (; k + V::size <= n; k += V::size) add(sum[0], V::load(x + k));
  double total = sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; k < n; ++k) total += x[k] < 0 ? -x[k] : x[k];
  return total;
}

// |x| as bits: they are in the order of the numbers, with infinity and what is not a number above
// all.
template <class T> struct Magnitudes {
  using Raw = typename Vec<T>::Mask;
  static constexpr int size = Vec<T>::size;
  Raw raw = {};

  friend MAXMARGIN_INLINE Magnitudes max(Magnitudes a, Magnitudes b) {
    return {a.raw > b.raw ? a.raw : b.raw};
  }
  MAXMARGIN_INLINE void meet(Vec<T> v) {
    Magnitudes m;
    __builtin_memcpy(&m.raw, &v.raw, sizeof(Raw));
    m.raw &= ~((Raw{} + 1) << (8 * sizeof(T) - 1));
    *this = max(*this, m);
  }
};

// Of all vectors of n numbers that load(k) gives from the k-th on; `rest` is what is left over.
template <class T, class Load>
MAXMARGIN_INLINE T greatest_of(index_t n, const Load& load, Vec<T> rest) {
  using V = Vec<T>;
  Magnitudes<T> greatest[4];
  index_t k = 0;
  for (; k + 4 * V::size <= n; k += 4 * V::size)
    unroll<4>([&](auto u) { greatest[u].meet(load(k + u * V::size)); });
  for (; k + V::size <= n; k += V::size) greatest[0].meet(load(k));
  greatest[1].meet(rest);
  unroll<3>([&](auto u) { greatest[0] = max(greatest[0], greatest[u + 1]); });
  const auto bits = greatest_lane(greatest[0]);
  T result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}

template <class T> T largest_magnitude(const T* x, index_t n) {
  using V = Vec<T>;
  T few[V::size] = {};
  if (n < V::size)
    for (index_t e = 0; e < n; ++e) few[e] = x[e];
  // Behind the last whole vector, some numbers come once more.
  return greatest_of<T>(
      n, [&](index_t k) { return V::load(x + k); }, V::load(n < V::size ? few : x + n - V::size));
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

// y[k] = function(x[k]), a vector at a time.
template <class T, class Function>
MAXMARGIN_INLINE void map(const T* x, T* y, index_t n, const Function& function) {
  using V = Vec<T>;
  for (index_t k = 0; k < n; k += V::size) {
    T lanes[V::size] = {};
    const index_t count = n - k < V::size ? n - k : V::size;
    for (index_t i = 0; i < count; ++i) lanes[i] = x[k + i];
    function(V::load(lanes)).store(lanes);
    for (index_t i = 0; i < count; ++i) y[k + i] = lanes[i];
  }
}
template <class T> void exp_array(const T* x, T* y, index_t n) {
  map(x, y, n, [](Vec<T> v) { return exp_nonpositive(v); });
}
template <class T> void exp2_array(const T* x, T* y, index_t n) {
  const Vec<T> scale = Vec<T>::fill(1), lowest = Vec<T>::fill(kLowestExponent<T>);
  map(x, y, n, [&](Vec<T> v) {
    exp2_of_magnitudes<1>(&v, &scale, &lowest);
    return v;
  });
}
template <class T> void tanh_array(const T* x, T* y, index_t n) {
  map(x, y, n, [](Vec<T> v) { return tanh(v); });
}
template <class T> void tanh_of_exponents(const T* x, T* y, index_t n) {
  map(x, y, n, [](Vec<T> v) { return tanh_of_exponent(v); });
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
