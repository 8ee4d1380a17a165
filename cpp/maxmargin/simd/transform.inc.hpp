// Functions of products, as plain kernels and as parts of composed ones.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec_exp2.hpp"
#include "maxmargin/simd/vec_math.hpp"

namespace maxmargin::simd {
namespace {

// The kernel value of a vector of products; half_norms is the sum of both rows' (exponential only).
template <Transform F, class T>
MAXMARGIN_INLINE Vec<T> transform(Vec<T> dot, Vec<T> half_norms, const Leaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::identity) return dot * V::fill(e.scale);
  if constexpr (F == Transform::exponential)
    return exp_nonpositive(min((dot - half_norms) * V::fill(e.scale), V::zero()));
  if constexpr (F == Transform::power_sum) { // Horner's scheme
    const V y = dot * V::fill(e.scale);
    V total = y;
    for (int n = 1; n < e.degree; ++n) total = fma(total, y, y);
    return total;
  }
  return tanh(fma(dot, V::fill(e.scale), V::fill(e.offset)));
}

// The greatest power of 2 that is at most n > 0.
MAXMARGIN_INLINE int leading_bit(int n) {
  return 1 << (31 - __builtin_clz(static_cast<unsigned>(n)));
}

// Two factors of the power of each of W vectors, since the last of its multiplications may be one
// with an addition. The loop over the bits of the degree is one for all.
template <int W, class T>
MAXMARGIN_INLINE void power_factors(const Vec<T>* dots, const Leaf<T>& e, Vec<T>* x, Vec<T>* y) {
  using V = Vec<T>;
  unroll<W>([&](auto v) { y[v] = fma(dots[v], V::fill(e.scale), V::fill(e.offset)); });
  if (e.degree < 2) {
    unroll<W>([&](auto v) { x[v] = V::fill(1); });
    if (e.degree == 0) unroll<W>([&](auto v) { y[v] = V::fill(1); });
    return;
  }
  unroll<W>([&](auto v) { x[v] = y[v]; });
  for (int bit = leading_bit(e.degree) >> 1; bit > 1; bit >>= 1) {
    unroll<W>([&](auto v) { x[v] = x[v] * x[v]; });
    if (e.degree & bit) unroll<W>([&](auto v) { x[v] = x[v] * y[v]; });
  }
  if (e.degree & 1)
    unroll<W>([&](auto v) { x[v] = x[v] * x[v]; });
  else
    unroll<W>([&](auto v) { y[v] = x[v]; });
}

// The same for W vectors, in place.
template <Transform F, int W, class T>
MAXMARGIN_INLINE void transform(Vec<T>* x, const Vec<T>* half_norms, const Leaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::power) {
    if (e.degree == 0) return unroll<W>([&](auto v) { x[v] = V::fill(1); });
    V base[W];
    unroll<W>([&](auto v) { base[v] = x[v] = fma(x[v], V::fill(e.scale), V::fill(e.offset)); });
    for (int bit = leading_bit(e.degree) >> 1; bit > 0; bit >>= 1) {
      unroll<W>([&](auto v) { x[v] = x[v] * x[v]; });
      if (e.degree & bit) unroll<W>([&](auto v) { x[v] = x[v] * base[v]; });
    }
  } else {
    unroll<W>([&](auto v) { x[v] = transform<F>(x[v], half_norms[v], e); });
  }
}

// A leaf of a composed kernel, whose exponentials are powers of 2.
template <class T> struct JoinedLeaf : Leaf<T> {
  MAXMARGIN_INLINE explicit JoinedLeaf(const Leaf<T>& leaf) : Leaf<T>(leaf) {
    constexpr double log2e = ExpConstants<double>::log2e;
    constexpr T largest = sizeof(T) == 4 ? T(0x1.fffffep127) : T(0x1.fffffffffffffp1023);
    if (leaf.transform == Transform::exponential) {
      this->scale = static_cast<T>(leaf.scale * log2e);
      const T magnitude = -kLowestExponent<T> / this->scale;
      lowest = -(magnitude < largest ? magnitude : largest);
    } else if (leaf.transform == Transform::tanh) {
      this->scale = static_cast<T>(leaf.scale * (-2.0 * log2e));
      this->offset = static_cast<T>(leaf.offset * (-2.0 * log2e));
    }
  }

  T lowest = 0; // of which an exponential is 0
};

// The values of an exponential of W vectors of exponents, in x; and of another, in y, at once.
template <int W, class T>
MAXMARGIN_INLINE void exponentials(Vec<T>* x, const Vec<T>* exponents, const JoinedLeaf<T>& e) {
  Vec<T> scale[W], lowest[W];
  unroll<W>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
    x[v] = exponents[v];
    scale[v] = Vec<T>::fill(e.scale);
    lowest[v] = Vec<T>::fill(e.lowest);
  });
  exp2_of_magnitudes<W>(x, scale, lowest);
}
template <int W, class T>
MAXMARGIN_INLINE void exponentials(Vec<T>* x, Vec<T>* y, const Vec<T>* exponents,
                                   const JoinedLeaf<T>& e, const JoinedLeaf<T>& of_y) {
  constexpr int n = W < 2 ? W : 2;
  Vec<T> z[2 * n], scale[2 * n], lowest[2 * n];
  unroll<n>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
    z[v] = z[n + v] = exponents[v];
    scale[v] = Vec<T>::fill(e.scale);
    scale[n + v] = Vec<T>::fill(of_y.scale);
    lowest[v] = Vec<T>::fill(e.lowest);
    lowest[n + v] = Vec<T>::fill(of_y.lowest);
  });
  exp2_of_magnitudes<2 * n>(z, scale, lowest);
  unroll<n>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
    x[v] = z[v];
    y[v] = z[n + v];
  });
  if constexpr (W > n) exponentials<W - n>(x + n, y + n, exponents + n, e, of_y);
}

// The values of any leaf of a composed kernel.
template <Transform F, int W, class T>
MAXMARGIN_INLINE void transform(Vec<T>* x, const Vec<T>* exponents, const JoinedLeaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::exponential)
    exponentials<W>(x, exponents, e);
  else if constexpr (F == Transform::tanh)
    unroll<W>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
      x[v] = tanh_of_exponent(fma(x[v], V::fill(e.scale), V::fill(e.offset)));
    });
  else if constexpr (F != Transform::identity)
    transform<F, W>(x, exponents, static_cast<const Leaf<T>&>(e));
}

} // namespace
} // namespace maxmargin::simd
