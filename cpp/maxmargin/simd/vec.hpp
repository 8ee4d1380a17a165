// Vec<T>: the widest vector of T that this instruction set has, on the compiler's own vector
// extensions. Included only by kernels.inc.hpp inside an ISA file, which sets
// MAXMARGIN_VEC_BYTES first. Everything sits in an anonymous namespace: were one of these functions
// shared between objects, the linker could keep the AVX-512 copy for a machine without AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define MAXMARGIN_INLINE inline __attribute__((always_inline))
// Of lambdas that the compiler would not inline by itself.
#define MAXMARGIN_INLINE_LAMBDA __attribute__((always_inline))

namespace maxmargin {
namespace {

template <class T> struct IntegerOf;
template <> struct IntegerOf<float> {
  using type = std::int32_t;
};
template <> struct IntegerOf<double> {
  using type = std::int64_t;
};

template <class T> struct Vec {
  using Integer = typename IntegerOf<T>::type;
  typedef T Raw __attribute__((vector_size(MAXMARGIN_VEC_BYTES)));
  typedef Integer Mask __attribute__((vector_size(MAXMARGIN_VEC_BYTES)));
  static constexpr int size = MAXMARGIN_VEC_BYTES / static_cast<int>(sizeof(T));
  typedef std::int8_t Bytes __attribute__((vector_size(MAXMARGIN_VEC_BYTES / sizeof(T))));

  Raw raw;

  // Subtracting 0 changes no number, so that the compiler leaves only the broadcast.
  static MAXMARGIN_INLINE Vec fill(T value) { return {value - Raw{}}; }
  static MAXMARGIN_INLINE Vec zero() { return {Raw{}}; }
  // Unaligned.
  static MAXMARGIN_INLINE Vec load(const T* p) {
    Vec v;
    __builtin_memcpy(&v.raw, p, sizeof(Raw));
    return v;
  }
  MAXMARGIN_INLINE void store(T* p) const { __builtin_memcpy(p, &raw, sizeof(Raw)); }

  friend MAXMARGIN_INLINE Vec operator+(Vec a, Vec b) { return {a.raw + b.raw}; }
  friend MAXMARGIN_INLINE Vec operator-(Vec a, Vec b) { return {a.raw - b.raw}; }
  friend MAXMARGIN_INLINE Vec operator*(Vec a, Vec b) { return {a.raw * b.raw}; }
  friend MAXMARGIN_INLINE Vec operator/(Vec a, Vec b) { return {a.raw / b.raw}; }
  friend MAXMARGIN_INLINE Mask operator<(Vec a, Vec b) { return a.raw < b.raw; }
  friend MAXMARGIN_INLINE Mask operator>(Vec a, Vec b) { return a.raw > b.raw; }
};

// Half a vector of float becomes one of double.
typedef float HalfOfFloats __attribute__((vector_size(MAXMARGIN_VEC_BYTES / 2)));
MAXMARGIN_INLINE Vec<double> to_double(HalfOfFloats half) {
#ifdef __AVX512F__
  return {
      _mm512_maskz_cvtps_pd(0xff, half)}; // the compiler's own conversion takes five instructions
#else
  return {__builtin_convertvector(half, Vec<double>::Raw)};
#endif
}

// As many elements of X as a Vec<T> holds, converted to T. Unaligned.
template <class T, class X> MAXMARGIN_INLINE Vec<T> load_as(const X* p) {
  if constexpr (sizeof(X) == sizeof(T)) {
    return Vec<T>::load(p);
  } else {
    HalfOfFloats half;
    __builtin_memcpy(&half, p, sizeof(half));
    return to_double(half);
  }
}

// Fewer elements of X than a Vec<double> holds, and 0 in the other lanes.
template <class X> MAXMARGIN_INLINE Vec<double> load_first(const X* p, int count) {
#ifdef __AVX512F__
  const auto lanes = static_cast<__mmask8>((1U << count) - 1);
  if constexpr (sizeof(X) == sizeof(double))
    return {_mm512_maskz_loadu_pd(lanes, p)};
  else
    return {_mm512_maskz_cvtps_pd(0xff, _mm256_maskz_loadu_ps(lanes, p))};
#elif defined(__AVX2__)
  if constexpr (sizeof(X) == sizeof(double))
    return {_mm256_maskload_pd(
        p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3)))};
  else
    return {_mm256_cvtps_pd(
        _mm_maskload_ps(p, _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_setr_epi32(0, 1, 2, 3))))};
#else
  Vec<double> v = Vec<double>::zero();
  for (int lane = 0; lane + 1 < Vec<double>::size; ++lane)
    if (lane < count) v.raw[lane] = p[lane];
  return v;
#endif
}

// The lowest byte of every lane, from the bits of a vector. (The compiler's own conversion goes
// lane by lane.)
MAXMARGIN_INLINE void store_lowest_bytes(Vec<float> v, std::int8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(v.raw));
#elif defined(__SSE2__)
  // With its sign in the bits above, each is narrowed as it is.
  const auto signed_lanes = (reinterpret_cast<Vec<float>::Mask>(v.raw) << 24) >> 24;
#ifdef __AVX2__
  const auto lanes = reinterpret_cast<__m256i>(signed_lanes);
  const __m128i pairs =
      _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
#else
  const auto lanes = reinterpret_cast<__m128i>(signed_lanes);
  const __m128i pairs = _mm_packs_epi32(lanes, lanes);
#endif
  const __m128i bytes = _mm_packs_epi16(pairs, pairs);
#else
  const auto bytes =
      __builtin_convertvector(reinterpret_cast<Vec<float>::Mask>(v.raw), Vec<float>::Bytes);
#endif
  __builtin_memcpy(p, &bytes, Vec<float>::size);
}

// Lane numbers, for shuffles.
template <int... I> struct Lanes {};
template <int N, int... I> struct MakeLanes : MakeLanes<N - 1, N - 1, I...> {};
template <int... I> struct MakeLanes<0, I...> {
  using type = Lanes<I...>;
};

// All elements of v in float64, in order: one vector or two.
MAXMARGIN_INLINE void widen(Vec<double> v, Vec<double>* wide) {
  wide[0] = v;
}
template <int... I>
MAXMARGIN_INLINE void widen_halves(Vec<float> v, Vec<double>* wide, Lanes<I...>) {
  constexpr int n = Vec<double>::size;
  wide[0] = to_double(__builtin_shufflevector(v.raw, v.raw, I...));
  wide[1] = to_double(__builtin_shufflevector(v.raw, v.raw, (n + I)...));
}
MAXMARGIN_INLINE void widen(Vec<float> v, Vec<double>* wide) {
  widen_halves(v, wide, MakeLanes<Vec<double>::size>::type{});
}

template <class T>
MAXMARGIN_INLINE Vec<T> select(typename Vec<T>::Mask mask, Vec<T> yes, Vec<T> no) {
  return {mask ? yes.raw : no.raw};
}
// Whether the mask has a lane set.
MAXMARGIN_INLINE bool any(Vec<double>::Mask mask) {
#ifdef __AVX512F__
  const auto bits = reinterpret_cast<__m512i>(mask);
  return _mm512_test_epi64_mask(bits, bits) != 0;
#else
  std::int64_t lanes = 0;
  for (int lane = 0; lane < Vec<double>::size; ++lane) lanes |= mask[lane];
  return lanes != 0;
#endif
}

// Lane l of `yes` where bit l is set, else of `no`.
#ifdef __AVX512F__
MAXMARGIN_INLINE Vec<double> select_bits(unsigned bits, Vec<double> yes, Vec<double> no) {
  return {_mm512_mask_blend_pd(static_cast<__mmask8>(bits), no.raw, yes.raw)};
}
MAXMARGIN_INLINE Vec<float> select_bits(unsigned bits, Vec<float> yes, Vec<float> no) {
  return {_mm512_mask_blend_ps(static_cast<__mmask16>(bits), no.raw, yes.raw)};
}
#else
template <class T> MAXMARGIN_INLINE Vec<T> select_bits(unsigned bits, Vec<T> yes, Vec<T> no) {
  using Mask = typename Vec<T>::Mask;
  Mask lanes;
  for (int lane = 0; lane < Vec<T>::size; ++lane) lanes[lane] = 1 << lane;
  const typename Vec<T>::Integer all = static_cast<typename Vec<T>::Integer>(bits);
  return select(((Mask{} + all) & lanes) != 0, yes, no);
}
#endif

// All elements of two vectors, rounded to float32.
template <int... I>
MAXMARGIN_INLINE Vec<float> join_halves(HalfOfFloats a, HalfOfFloats b, Lanes<I...>) {
  return {__builtin_shufflevector(a, b, I...)};
}
MAXMARGIN_INLINE Vec<float> narrow(Vec<double> a, Vec<double> b) {
  return join_halves(__builtin_convertvector(a.raw, HalfOfFloats),
                     __builtin_convertvector(b.raw, HalfOfFloats),
                     MakeLanes<Vec<float>::size>::type{});
}

template <class T> MAXMARGIN_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
  return select(a < b, a, b);
}
template <class T> MAXMARGIN_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
  return select(a > b, a, b);
}
#ifdef __SSE2__
// One instruction each, which the compiler does not find by itself. (In their masked form with
// AVX-512: GCC 12 warns of its own headers in the other.)
#if defined(__AVX512F__)
#define MAXMARGIN_ONE_OF(which, type, all) _mm512_maskz_##which##_##type(all, a.raw, b.raw)
#elif defined(__AVX__)
#define MAXMARGIN_ONE_OF(which, type, all) _mm256_##which##_##type(a.raw, b.raw)
#else
#define MAXMARGIN_ONE_OF(which, type, all) _mm_##which##_##type(a.raw, b.raw)
#endif
MAXMARGIN_INLINE Vec<float> min(Vec<float> a, Vec<float> b) {
  return {MAXMARGIN_ONE_OF(min, ps, 0xffff)};
}
MAXMARGIN_INLINE Vec<double> min(Vec<double> a, Vec<double> b) {
  return {MAXMARGIN_ONE_OF(min, pd, 0xff)};
}
MAXMARGIN_INLINE Vec<float> max(Vec<float> a, Vec<float> b) {
  return {MAXMARGIN_ONE_OF(max, ps, 0xffff)};
}
MAXMARGIN_INLINE Vec<double> max(Vec<double> a, Vec<double> b) {
  return {MAXMARGIN_ONE_OF(max, pd, 0xff)};
}
#undef MAXMARGIN_ONE_OF
#endif

// a * b + c; -ffp-contract=fast makes it one instruction where there is one.
template <class T> MAXMARGIN_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return {a.raw * b.raw + c.raw};
}

// Calls f(0), f(1), .. f(N-1) with the number as a compile-time constant, so that arrays of Vec
// live in registers.
template <int N> struct Constant {
  static constexpr int value = N;
  constexpr operator int() const { return N; }
};
template <int I, int N, class F> MAXMARGIN_INLINE void unroll_from(const F& f) {
  if constexpr (I < N) {
    f(Constant<I>{});
    unroll_from<I + 1, N>(f);
  }
}
template <int N, class F> MAXMARGIN_INLINE void unroll(const F& f) {
  unroll_from<0, N>(f);
}

// Lane l of the result is a[l + from_a] where the block of `stride` lanes that holds l is even,
// else b[l + from_b].
template <int stride, int from_a, int from_b, class V, int... I>
MAXMARGIN_INLINE V blend_lanes(V a, V b, Lanes<I...>) {
  return {__builtin_shufflevector(a.raw, b.raw,
                                  (I / stride % 2 == 0 ? I + from_a : V::size + I + from_b)...)};
}

template <int stride, class V, int... I> MAXMARGIN_INLINE V swap_lanes(V v, Lanes<I...>) {
  return {__builtin_shufflevector(v.raw, v.raw, (I ^ stride)...)};
}
// What `join` makes of two vectors, lane by lane, of all lanes of one: in pairs.
template <int stride = 1, class V, class Join>
MAXMARGIN_INLINE auto join_lanes(V v, const Join& join) {
  using All = typename MakeLanes<V::size>::type;
  if constexpr (stride < V::size)
    return join_lanes<2 * stride>(join(v, swap_lanes<stride>(v, All{})), join);
  else
    return v.raw[0];
}
template <class V> MAXMARGIN_INLINE auto sum_of_lanes(V v) {
  return join_lanes(v, [](V a, V b) MAXMARGIN_INLINE_LAMBDA { return a + b; });
}
template <class V> MAXMARGIN_INLINE auto least_lane(V v) {
  return join_lanes(v, [](V a, V b) MAXMARGIN_INLINE_LAMBDA { return min(a, b); });
}
template <class V> MAXMARGIN_INLINE auto greatest_lane(V v) {
  return join_lanes(v, [](V a, V b) MAXMARGIN_INLINE_LAMBDA { return max(a, b); });
}

// Lane l of v[0] becomes the sum of the lanes of v[l]: the sums of as many vectors at once.
template <int stride = 1, class V> MAXMARGIN_INLINE void sum_lanes(V* v) {
  using All = typename MakeLanes<V::size>::type;
  if constexpr (stride < V::size) {
    unroll<V::size / stride / 2>([&](auto k) {
      const V a = v[2 * stride * k], b = v[2 * stride * k + stride];
      v[2 * stride * k] = blend_lanes<stride, 0, -stride>(a, b, All{}) +
                          blend_lanes<stride, stride, 0>(a, b, All{});
    });
    sum_lanes<2 * stride>(v);
  }
}

// Rows become columns: lane l of v[k] and lane k of v[l] change places.
template <int stride = 1, class T> MAXMARGIN_INLINE void transpose(Vec<T>* v) {
  using All = typename MakeLanes<Vec<T>::size>::type;
  if constexpr (stride < Vec<T>::size) {
    unroll<Vec<T>::size>([&](auto k) {
      if constexpr (k / stride % 2 == 0) {
        const Vec<T> a = v[k], b = v[k + stride];
        v[k] = blend_lanes<stride, 0, -stride>(a, b, All{});
        v[k + stride] = blend_lanes<stride, stride, 0>(a, b, All{});
      }
    });
    transpose<2 * stride>(v);
  }
}

} // namespace
} // namespace maxmargin
