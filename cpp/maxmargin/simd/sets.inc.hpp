// Kernel values of rows that are sets of features: bytes count the differences of 64 columns at a
// time, and permutations of registers look the values up.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec.hpp"

#ifdef __AVX512BW__

namespace maxmargin::simd {
namespace {

// Look-up in a table of 16 numbers by the lowest four bits of every lane.
template <class T> struct SixteenNumbers;
template <> struct SixteenNumbers<float> {
  __m512 all;
  MAXMARGIN_INLINE explicit SixteenNumbers(const float* p) : all(Vec<float>::load(p).raw) {}
  MAXMARGIN_INLINE Vec<float> at(__m512i lanes) const {
    return {_mm512_maskz_permutexvar_ps(0xffff, lanes, all)};
  }
};
template <> struct SixteenNumbers<double> {
  __m512d first, second;
  MAXMARGIN_INLINE explicit SixteenNumbers(const double* p)
      : first(Vec<double>::load(p).raw), second(Vec<double>::load(p + 8).raw) {}
  MAXMARGIN_INLINE Vec<double> at(__m512i lanes) const {
    return {_mm512_maskz_permutex2var_pd(0xff, first, lanes, second)};
  }
};

// Bytes v * size .. of the 64, one to a lane.
template <int v> MAXMARGIN_INLINE __m512i bytes_to_lanes(__m512i bytes, Vec<float>) {
  return _mm512_maskz_cvtepu8_epi32(0xffff, _mm512_maskz_extracti32x4_epi32(0xf, bytes, v));
}
template <int v> MAXMARGIN_INLINE __m512i bytes_to_lanes(__m512i bytes, Vec<double>) {
  const __m128i quarter = _mm512_maskz_extracti32x4_epi32(0xf, bytes, v / 2);
  return _mm512_maskz_cvtepu8_epi64(0xff, v % 2 == 0 ? quarter : _mm_srli_si128(quarter, 8));
}
MAXMARGIN_INLINE __m512i sixteenths(__m512i lanes, Vec<float>) {
  return _mm512_maskz_srli_epi32(0xffff, lanes, 4);
}
MAXMARGIN_INLINE __m512i sixteenths(__m512i lanes, Vec<double>) {
  return _mm512_maskz_srli_epi64(0xff, lanes, 4);
}

// Calls use(r, v, values) for every row and every vector of columns.
template <class T, class Use>
MAXMARGIN_INLINE void each_set_value(const SetBlock<T>& block, const Use& use) {
  using V = Vec<T>;
  const SixteenNumbers<T> low(block.low), high(block.high);
  const __m512i column_sizes = _mm512_loadu_si512(block.column_sizes);
  for (index_t r = 0; r < block.n_rows; ++r) {
    const std::int64_t begin = block.begin[block.rows[r]], end = block.begin[block.rows[r] + 1];
    __m512i differences =
        _mm512_add_epi8(column_sizes, _mm512_set1_epi8(static_cast<char>(end - begin)));
    for (std::int64_t k = begin; k < end; ++k) {
      const std::uint8_t* line = block.table + kSetColumns * index_t{block.features[k]};
      differences = _mm512_sub_epi8(differences, _mm512_loadu_si512(line));
    }
    unroll<kSetColumns / V::size>([&](auto v) {
      const __m512i lanes = bytes_to_lanes<decltype(v)::value>(differences, V{});
      use(r, v, low.at(lanes) * high.at(sixteenths(lanes, V{})));
    });
  }
}

template <class T> void set_block(const SetBlock<T>& block, T* const* out, index_t column) {
  each_set_value(block, [&](index_t r, auto v, Vec<T> values) {
    if (v * Vec<T>::size < block.n_columns) values.store(out[r] + column + v * Vec<T>::size);
  });
}

template <class T> void set_add(const SetBlock<T>& block, const double* coef, double* out) {
  using Wide = Vec<double>;
  constexpr int per_vector = Vec<T>::size / Wide::size;
  Wide sums[kSetColumns / Wide::size];
  for (Wide& sum : sums) sum = Wide::zero();
  each_set_value(block, [&](index_t r, auto v, Vec<T> values) {
    Wide wide[per_vector];
    widen(values, wide);
    unroll<per_vector>([&](auto w) {
      Wide& sum = sums[v * per_vector + w];
      sum = fma(Wide::fill(coef[r]), wide[w], sum);
    });
  });
  unroll<kSetColumns / Wide::size>([&](auto v) {
    const index_t c = v * Wide::size;
    if (c < block.n_columns) (Wide::load(out + c) + sums[v]).store(out + c);
  });
}

} // namespace
} // namespace maxmargin::simd

#endif
