// Rows of small integers: coding, and products with integer weights, which are exact.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec.hpp"

namespace maxmargin::simd {
namespace {

// Adding a number whose last place is 1 rounds to an integer, which then stands in the lowest bits.
template <class T> inline constexpr T kRounder = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

struct CodeStep {
  float size, inverse;
};
// Of a row whose largest magnitude is that.
MAXMARGIN_INLINE CodeStep code_step(float largest) {
  if (largest < kLeastCoded) return {2.0F * kLeastCoded, 0.0F};
  if (!(largest <= kMostCoded)) return {__builtin_inff(), 0.0F};
  const float size = largest * kCodeStep;
  return {size, 1.0F / size};
}

// As many numbers as a Vec<float> holds, in float32.
MAXMARGIN_INLINE Vec<float> load_narrow(const float* p) {
  return Vec<float>::load(p);
}
MAXMARGIN_INLINE Vec<float> load_narrow(const double* p) {
  return narrow(Vec<double>::load(p), Vec<double>::load(p + Vec<double>::size));
}

template <class T> float encode(const T* x, std::int8_t* codes, index_t n) {
  using V = Vec<float>;
  // Behind the last whole vector, some numbers come once more.
  T few[V::size] = {};
  std::int8_t few_codes[V::size];
  if (n < V::size)
    for (index_t e = 0; e < n; ++e) few[e] = x[e];
  const T* rest = n < V::size ? few : x + n - V::size;
  const float largest =
      greatest_of<float>(n, [&](index_t k) { return load_narrow(x + k); }, load_narrow(rest));
  const CodeStep step = code_step(largest);

  const V factor = V::fill(step.inverse), rounder = V::fill(kRounder<float>);
  const auto encode_some = [&](const T* from, std::int8_t* to) {
    store_lowest_bytes(fma(load_narrow(from), factor, rounder), to);
  };
  for (index_t k = 0; k + V::size <= n; k += V::size) encode_some(x + k, codes + k);
  if (n >= V::size) {
    encode_some(rest, codes + n - V::size);
  } else {
    encode_some(rest, few_codes);
    for (index_t e = 0; e < n; ++e) codes[e] = few_codes[e];
  }
  return step.size;
}

inline void round_weights(const double* w, double scale, std::int16_t* rounded, index_t n) {
  constexpr double rounder = kRounder<double>;
  for (index_t k = 0; k < n; ++k)
    rounded[k] = static_cast<std::int16_t>(static_cast<int>((w[k] * scale + rounder) - rounder));
}

// Half of a vector of 64 bytes: longer ones, which mostly straddle two cache lines, are no faster.
#ifdef __AVX2__
constexpr int kIntegerBytes = 32;
#else
constexpr int kIntegerBytes = 16;
#endif
typedef std::int16_t Shorts __attribute__((vector_size(kIntegerBytes)));
constexpr int kShorts = kIntegerBytes / 2;
static_assert(kCodeGrain % kShorts == 0);

struct Words {
  typedef std::int32_t Raw __attribute__((vector_size(kIntegerBytes)));
  static constexpr int size = kIntegerBytes / 4;
  Raw raw;
  friend MAXMARGIN_INLINE Words operator+(Words a, Words b) { return {a.raw + b.raw}; }
};

MAXMARGIN_INLINE Shorts load_shorts(const std::int16_t* p) {
  Shorts shorts;
  __builtin_memcpy(&shorts, p, sizeof(shorts));
  return shorts;
}
// Codes, widened. (The compiler's own conversion takes twice as many instructions.)
MAXMARGIN_INLINE Shorts load_codes(const std::int8_t* p) {
  typedef std::int8_t Bytes __attribute__((vector_size(16)));
  Bytes codes = {};
  __builtin_memcpy(&codes, p, kShorts);
#ifdef __AVX2__
  return reinterpret_cast<Shorts>(_mm256_cvtepi8_epi16(reinterpret_cast<__m128i>(codes)));
#else
  // Each becomes the higher byte of a lane, and a shift extends its sign.
  return reinterpret_cast<Shorts>(__builtin_shufflevector(Bytes{}, codes, 0, 16, 1, 17, 2, 18, 3,
                                                          19, 4, 20, 5, 21, 6, 22, 7, 23)) >>
         8;
#endif
}

// The products of all lanes, summed up in pairs.
MAXMARGIN_INLINE Words multiply_pairs(Shorts a, Shorts b) {
#if defined(__AVX2__)
  return {reinterpret_cast<Words::Raw>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)))};
#elif defined(__SSE2__)
  return {reinterpret_cast<Words::Raw>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)))};
#else
  typedef std::int16_t Half __attribute__((vector_size(kIntegerBytes / 2)));
  const auto products = [](Half x, Half z) {
    return __builtin_convertvector(x, Words::Raw) * __builtin_convertvector(z, Words::Raw);
  };
  return {products(__builtin_shufflevector(a, a, 0, 1, 2, 3),
                   __builtin_shufflevector(b, b, 0, 1, 2, 3)) +
          products(__builtin_shufflevector(a, a, 4, 5, 6, 7),
                   __builtin_shufflevector(b, b, 4, 5, 6, 7))};
#endif
}

// Of long rows one after the other is read, of short ones all together, which hides the latency of
// their sums.
constexpr index_t kLongRow = 256;

MAXMARGIN_INLINE Words dot_of_codes(const std::int8_t* codes, const std::int16_t* w, index_t n) {
  constexpr index_t step = 4 * kShorts;
  Words sum[4] = {};
  const auto add = [&](Words& to, index_t k) {
    to = to + multiply_pairs(load_codes(codes + k), load_shorts(w + k));
  };
  index_t k = 0;
  for (; k + step <= n; k += step) unroll<4>([&](auto u) { add(sum[u], k + u * kShorts); });
  for (; k < n; k += kShorts) add(sum[0], k);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The lanes of sum[r] add up to the product with row r.
MAXMARGIN_INLINE void dot_codes(const std::int8_t* const* rows, const std::int16_t* w, index_t n,
                                Words* sum) {
  if (n >= kLongRow) {
    for (index_t r = 0; r < kCodeRows; ++r) sum[r] = dot_of_codes(rows[r], w, n);
    return;
  }
  unroll<kCodeRows>([&](auto r) { sum[r] = Words{}; });
  for (index_t k = 0; k < n; k += kShorts) {
    const Shorts factor = load_shorts(w + k);
    unroll<kCodeRows>(
        [&](auto r) { sum[r] = sum[r] + multiply_pairs(load_codes(rows[r] + k), factor); });
  }
}

typedef float Floats __attribute__((vector_size(kIntegerBytes)));
MAXMARGIN_INLINE Floats load_floats(const float* p) {
  Floats floats;
  __builtin_memcpy(&floats, p, sizeof(floats));
  return floats;
}
// Bit l is set where lane l is.
MAXMARGIN_INLINE unsigned bits_of(Words::Raw mask) {
#if defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
#else
  unsigned bits = 0;
  for (int lane = 0; lane < Words::size; ++lane) bits |= (mask[lane] & 1U) << lane;
  return bits;
#endif
}

inline unsigned find_undecided(const CodedExamples& x, const CodedFunction& f) {
  Words sum[kCodeRows];
  dot_codes(x.rows, f.w, f.n, sum);
  unsigned sure = 0;
  unroll<kCodeRows / Words::size>([&](auto part) {
    constexpr int first = part * Words::size;
    sum_lanes(sum + first);
    const Floats steps = load_floats(x.steps + first), labels = load_floats(x.labels + first);
    const Floats values = steps * __builtin_convertvector(sum[first].raw, Floats) + f.offset;
    sure |= bits_of(labels * values - steps * f.error > f.least - Floats{}) << first;
  });
  return ~sure & ((1U << kCodeRows) - 1);
}

} // namespace
} // namespace maxmargin::simd
