// Elementary functions on Vec<T>. The coefficients come from vec_math_coefficients.py.
#pragma once

#include "maxmargin/simd/vec.hpp"

namespace maxmargin {
namespace {

template <class T> struct ExpConstants;
template <> struct ExpConstants<float> {
  static constexpr float lowest = -88.0f; // the exponent of exp of this is that of 0
  static constexpr float log2e = 1.44269504088896341f;
  static constexpr float ln2_high = 0.693115234375f, ln2_low = 3.1946184945309415e-05f;
  static constexpr float round_shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
  static constexpr int mantissa_bits = 23;
  static constexpr std::int32_t one_bits = 0x3f800000;
  static constexpr float q[] = {0.5f, 0.1666657702559799f, 0.041666554662050534f,
                                0.008363173074513711f, 0.001392617611993558f};
};
template <> struct ExpConstants<double> {
  static constexpr double lowest = -709.0;
  static constexpr double log2e = 1.44269504088896341;
  static constexpr double ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  static constexpr double round_shift = 6755399441055744.0; // 1.5 * 2^52
  static constexpr int mantissa_bits = 52;
  static constexpr std::int64_t one_bits = 0x3ff0000000000000;
  static constexpr double q[] = {0.5000000000000001,     0.16666666666666669,
                                 0.041666666666624164,   0.008333333333330065,
                                 0.0013888888917196719,  0.00019841269863040545,
                                 2.4801521322368692e-05, 2.7557268480310024e-06,
                                 2.7620075879983367e-07, 2.5100375832561234e-08};
};

// x = k ln2 + r with |r| <= ln2 / 2 (Cody and Waite's two-part ln2): scale = 2^k and
// fraction = exp(r) - 1. Range: lowest <= x <= 0.
template <class T> struct ReducedExp {
  Vec<T> scale, fraction;
};
template <class T> MAXMARGIN_INLINE ReducedExp<T> reduce_exp(Vec<T> x) {
  using C = ExpConstants<T>;
  using V = Vec<T>;
  const V shifted = fma(x, V::fill(C::log2e), V::fill(C::round_shift));
  const V k = shifted - V::fill(C::round_shift);
  const V r = fma(k, V::fill(-C::ln2_low), fma(k, V::fill(-C::ln2_high), x));
  constexpr int n = sizeof(C::q) / sizeof(T);
  V q = V::fill(C::q[n - 1]);
  unroll<n - 1>([&](auto i) { q = fma(q, r, V::fill(C::q[n - 2 - i])); });
  // The low bits of `shifted` hold k; moved into the exponent they make 2^k.
  typename V::Mask bits;
  __builtin_memcpy(&bits, &shifted.raw, sizeof(bits));
  bits = (bits << C::mantissa_bits) + C::one_bits;
  V scale;
  __builtin_memcpy(&scale.raw, &bits, sizeof(bits));
  return {scale, fma(r * r, q, r)};
}

// exp(x) for -inf <= x <= 0. Error below 1.5 ulp for x >= -87 (float) and x >= -708 (double);
// below, where the true value is under 1e-37 and 1e-307, it falls to exactly 0 at `lowest`, of
// which the scale is 0.
template <class T> MAXMARGIN_INLINE Vec<T> exp_nonpositive(Vec<T> x) {
  const ReducedExp<T> e = reduce_exp(max(x, Vec<T>::fill(ExpConstants<T>::lowest)));
  return fma(e.scale, e.fraction, e.scale);
}

// tanh(x) for any finite x, from e = exp(-2|x|) - 1 as -e / (2 + e), which loses no digits near 0.
// Error below 4 ulp.
template <class T> MAXMARGIN_INLINE Vec<T> tanh(Vec<T> x) {
  using V = Vec<T>;
  const typename V::Mask negative = x < V::zero();
  const V magnitude = select(negative, V::zero() - x, x);
  const ReducedExp<T> e =
      reduce_exp(max(magnitude * V::fill(-2), V::fill(ExpConstants<T>::lowest)));
  const V expm1 = fma(e.scale, e.fraction, e.scale - V::fill(1));
  const V result = (V::zero() - expm1) / (V::fill(2) + expm1);
  return select(negative, V::zero() - result, result);
}

} // namespace
} // namespace maxmargin
