// Powers of 2 for composed kernels. They take fewer instructions than those of vec_math.hpp: what
// turns a power of e into one of 2 is part of a scale that is multiplied by anyway, and part of the
// power is looked up in a register. The coefficients come from vec_math_coefficients.py.
#pragma once

#include "maxmargin/simd/vec_math.hpp"

namespace maxmargin {
namespace {

// The fractional powers 2^(j/n) that are looked up: as many as one instruction can choose from.
#if defined(__AVX512F__)
template <class T> inline constexpr int kPowers = 64 / int{sizeof(T)};
#elif defined(__AVX2__)
template <class T> inline constexpr int kPowers = sizeof(T) == 4 ? 8 : 2;
#else
template <class T> inline constexpr int kPowers = 1;
#endif

// 2^r = 1 + r p(r) on |r| <= 1 / (2 n).
template <class T, int n> struct Exp2Constants;
template <> struct Exp2Constants<float, 1> {
  static constexpr float p[] = {0.6931471880262288f,    0.24022650760568126f,
                                0.05550357114219078f,   0.009618082557277852f,
                                0.0013390863364671234f, 0.0001545316294512069f};
};
template <> struct Exp2Constants<float, 8> {
  static constexpr float p[] = {0.6931471805599453f, 0.24025468639384956f, 0.05550801511160262f};
};
template <> struct Exp2Constants<float, 16> {
  static constexpr float p[] = {0.6931471805599453f, 0.2402335515698872f, 0.05550508525196963f};
};
template <> struct Exp2Constants<double, 1> {
  static constexpr double p[] = {
      0.6931471805599453,     0.24022650695910097,   0.0555041086648216,    0.009618129107606888,
      0.0013333558146416936,  0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06,
      1.0178062445845774e-07, 7.072585949269223e-09, 4.4549605981865186e-10};
};
template <> struct Exp2Constants<double, 2> {
  static constexpr double p[] = {
      0.6931471805599453,     0.24022650695909692,    0.05550410866482134,
      0.009618129108436247,   0.001333355814693741,   0.00015403525740840238,
      1.5252730872538613e-05, 1.3225411145657792e-06, 1.0184339352791044e-07};
};
template <> struct Exp2Constants<double, 8> {
  static constexpr double p[] = {
      0.6931471805599453,    0.24022650695910933,    0.05550410866482224,  0.009618129089983302,
      0.0013333558132838856, 0.00015404433819347582, 1.525342958649691e-05};
};

// 2^(j/16)
inline constexpr double kSixteenths[] = {
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474,
};

// The bits of the powers in all lanes, less those of j where an exponent in n-ths has them: added
// to the bits of such an exponent k they make 2^(k/n).
template <class T, int n> struct Powers {
  using Integer = typename IntegerOf<T>::type;
  static constexpr int shift = ExpConstants<T>::mantissa_bits - __builtin_ctz(n);

  constexpr Powers() {
    for (int lane = 0; lane < Vec<T>::size; ++lane) {
      const Integer j = lane % n;
      const T power = static_cast<T>(kSixteenths[j * (16 / n)]);
      bits[lane] = __builtin_bit_cast(Integer, power) - (j << shift);
    }
  }

  alignas(MAXMARGIN_VEC_BYTES) Integer bits[Vec<T>::size] = {};
};
template <class T, int n> inline constexpr Powers<T, n> kPowersOfTwo{};

// Of a table of `n` numbers that fills a vector, that of number k % n for every lane k.
template <int n, class Mask> MAXMARGIN_INLINE Mask look_up([[maybe_unused]] Mask k, Mask table) {
#if defined(__AVX512F__)
  const auto from = reinterpret_cast<__m512i>(table), at = reinterpret_cast<__m512i>(k);
  if constexpr (n == 16)
    return reinterpret_cast<Mask>(_mm512_maskz_permutexvar_epi32(0xffff, at, from));
  if constexpr (n == 8)
    return reinterpret_cast<Mask>(_mm512_maskz_permutexvar_epi64(0xff, at, from));
#elif defined(__AVX2__)
  const auto from = reinterpret_cast<__m256i>(table);
  if constexpr (n == 8)
    return reinterpret_cast<Mask>(_mm256_permutevar8x32_epi32(from, reinterpret_cast<__m256i>(k)));
  if constexpr (n == 2) // the second bit chooses
    return reinterpret_cast<Mask>(
        _mm256_permutevar_pd(reinterpret_cast<__m256d>(from), reinterpret_cast<__m256i>(k + k)));
#endif
  return table;
}

// The bits of x as integers, and the other way round.
template <class T> MAXMARGIN_INLINE typename Vec<T>::Mask bits_of(Vec<T> x) {
  return reinterpret_cast<typename Vec<T>::Mask>(x.raw);
}
template <class T> MAXMARGIN_INLINE Vec<T> from_bits(typename Vec<T>::Mask bits) {
  return {reinterpret_cast<typename Vec<T>::Raw>(bits)};
}
template <class T> MAXMARGIN_INLINE typename Vec<T>::Mask sign_bit() {
  return bits_of(Vec<T>::fill(T(-0.0)));
}

// The lowest exponent, of which the power is 0.
template <class T> inline constexpr T kLowestExponent = sizeof(T) == 4 ? -127 : -1023;

// -|x|, or `lowest` where that is less.
template <class T> MAXMARGIN_INLINE Vec<T> negative_magnitude(Vec<T> x, Vec<T> lowest) {
  return max(from_bits<T>(bits_of(x) | sign_bit<T>()), lowest);
}
#ifdef __AVX512F__ // the smaller magnitude of two, with a set sign
MAXMARGIN_INLINE Vec<float> negative_magnitude(Vec<float> x, Vec<float> lowest) {
  return {_mm512_maskz_range_ps(0xffff, x.raw, lowest.raw, 0b1110)};
}
MAXMARGIN_INLINE Vec<double> negative_magnitude(Vec<double> x, Vec<double> lowest) {
  return {_mm512_maskz_range_pd(0xff, x.raw, lowest.raw, 0b1110)};
}
#endif

// p[first] + p[first + step] x + .. with the numbers before `end`, of N vectors.
template <int first, int end, int step, class C, int N, class T>
MAXMARGIN_INLINE void horner(const Vec<T>* x, Vec<T>* sums) {
  constexpr int last = first + (end - 1 - first) / step * step;
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA { sums[v] = Vec<T>::fill(C::p[last]); });
  unroll<(last - first) / step>([&](auto i) MAXMARGIN_INLINE_LAMBDA {
    unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
      sums[v] = fma(sums[v], x[v], Vec<T>::fill(C::p[last - step - i * step]));
    });
  });
}
// p(r); of the most terms, from even and from odd powers, since each of many steps waits for the
// last.
template <class C, int N, class T> MAXMARGIN_INLINE void polynomial(const Vec<T>* r, Vec<T>* sums) {
  constexpr int terms = sizeof(C::p) / sizeof(T);
  if constexpr (terms < 10) return horner<0, terms, 1, C, N>(r, sums);
  Vec<T> squares[N], odd[N];
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA { squares[v] = r[v] * r[v]; });
  horner<0, terms, 2, C, N>(squares, sums);
  horner<1, terms, 2, C, N>(squares, odd);
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA { sums[v] = fma(odd[v], r[v], sums[v]); });
}

// 2^(x scale) = e.scale (1 + e.fraction) for N vectors, step by step, so that their chains of
// operations run side by side. Range: kLowestExponent <= x scale <= 0. n powers are looked up.
template <int n, int N, class T>
MAXMARGIN_INLINE void reduce_exp2(const Vec<T>* x, const Vec<T>* scale, ReducedExp<T>* e) {
  using V = Vec<T>;
  const V round_shift = V::fill(ExpConstants<T>::round_shift / n); // rounds to n-ths
  V shifted[N], r[N], p[N];
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA { shifted[v] = fma(x[v], scale[v], round_shift); });
  unroll<N>([&](auto v)
                MAXMARGIN_INLINE_LAMBDA { r[v] = fma(x[v], scale[v], round_shift - shifted[v]); });
  polynomial<Exp2Constants<T, n>, N>(r, p);
  typename V::Mask table;
  __builtin_memcpy(&table, kPowersOfTwo<T, n>.bits, sizeof(table));
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA {
    const auto k = bits_of(shifted[v]); // in n-ths, in the low bits
    e[v] = {from_bits<T>((k << Powers<T, n>::shift) + look_up<n>(k, table)), r[v] * p[v]};
  });
}

// 2^-|x scale| of N vectors, in place, for scale > 0 and lowest = kLowestExponent / scale. Error
// below 1.5 ulp, besides that of the scale and of half an ulp of x scale, where it is at least
// 2^-126 (float) or 2^-1022 (double); below, it falls to exactly 0 at |x| = -lowest.
template <int N, class T>
MAXMARGIN_INLINE void exp2_of_magnitudes(Vec<T>* x, const Vec<T>* scale, const Vec<T>* lowest) {
  ReducedExp<T> e[N];
  unroll<N>([&](auto v) MAXMARGIN_INLINE_LAMBDA { x[v] = negative_magnitude(x[v], lowest[v]); });
  reduce_exp2<kPowers<T>, N>(x, scale, e);
  unroll<N>([&](auto v)
                MAXMARGIN_INLINE_LAMBDA { x[v] = fma(e[v].scale, e[v].fraction, e[v].scale); });
}

// tanh(x) from y = -2 x / ln2 and e = 2^-|y| - 1, as -e / (2 + e), which loses no digits near 0.
// Error below 4 ulp.
template <class T> MAXMARGIN_INLINE Vec<T> tanh_of_exponent(Vec<T> y) {
  using V = Vec<T>;
  const V exponent = negative_magnitude(y, V::fill(kLowestExponent<T>)), one = V::fill(1);
  ReducedExp<T> e;
  reduce_exp2<1, 1>(&exponent, &one, &e);
  const V expm1 = fma(e.scale, e.fraction, e.scale - one);
  const V result = expm1 / (V::fill(2) + expm1); // not positive
  return from_bits<T>(bits_of(result) ^ (bits_of(y) & sign_bit<T>()));
}

} // namespace
} // namespace maxmargin
