// Blocks of kernel values: register tiles of dot products with the kernel's epilogue fused.
#pragma once

#include "maxmargin/simd/compose.inc.hpp"
#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec_math.hpp"

namespace maxmargin::simd {
namespace {

// Vectors in one 64-byte line of a panel.
inline constexpr int kVecsPerLine = 64 / MAXMARGIN_VEC_BYTES;

// sum + what x and z contribute to a product.
template <Pairing P, class T> MAXMARGIN_INLINE Vec<T> add_pair(Vec<T> x, Vec<T> z, Vec<T> sum) {
  using V = Vec<T>;
  if constexpr (P == Pairing::multiply) return fma(x, z, sum);
  if constexpr (P == Pairing::minimum) // one of the two is 0
    return sum + (max(min(x, z), V::zero()) - min(max(x, z), V::zero()));
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022); // so that 0 / 0 is not
  return sum + x * z / max(x + z, V::fill(least));
}
template <Pairing P, class T> MAXMARGIN_INLINE T add_pair(T x, T z, T sum) {
  if constexpr (P == Pairing::multiply) return x * z + sum;
  if constexpr (P == Pairing::minimum) {
    const T low = x < z ? x : z, high = x < z ? z : x;
    return sum + ((low > 0 ? low : 0) - (high < 0 ? high : 0));
  }
  return sum + (x + z > 0 ? x * z / (x + z) : 0);
}

// Calls run<P>() for the pairing P.
template <class Run> MAXMARGIN_INLINE auto with_pairing(Pairing pairing, const Run& run) {
  if (pairing == Pairing::minimum) return run.template operator()<Pairing::minimum>();
  if (pairing == Pairing::harmonic) return run.template operator()<Pairing::harmonic>();
  return run.template operator()<Pairing::multiply>();
}

// The products of H query rows with P panels. The H x P x 64 bytes of sums stay in registers; every
// step of k loads P lines of the panels and broadcasts H numbers.
template <Pairing A, int H, int P, class T>
MAXMARGIN_INLINE void products(const DenseBlock<T>& block, const T* queries, const T* const* panels,
                               T* dots) {
  using V = Vec<T>;
  constexpr int W = P * kVecsPerLine;
  V sum[H][W];
  unroll<H>([&](auto r) { unroll<W>([&](auto v) { sum[r][v] = V::zero(); }); });
  for (index_t k = 0; k < block.depth; ++k) {
    V line[W];
    unroll<W>([&](auto v) {
      line[v] = V::load(panels[v / kVecsPerLine] + k * kLane<T> + v % kVecsPerLine * V::size);
    });
    unroll<H>([&](auto r) {
      const V query = V::fill(queries[k * H + r]);
      unroll<W>([&](auto v) { sum[r][v] = add_pair<A>(query, line[v], sum[r][v]); });
    });
  }
  unroll<H>(
      [&](auto r) { unroll<W>([&](auto v) { sum[r][v].store(dots + (r * W + v) * V::size); }); });
}

// The products of a tile, for strips that have no loop of their own over its depth.
template <Pairing A, int H, int P, class T>
[[gnu::noinline]] void tile_products(const DenseBlock<T>& block, const T* const* panels,
                                     index_t row, T* dots) {
  products<A, H, P>(block, block.queries + row * block.depth, panels, dots);
}

// One tile: kernel values of H query rows, of which there are n_rows, with P panels. The products
// go through memory, in loops that are not unrolled: were the epilogue's registers live beside the
// sums, GCC would spill sums inside the loop over k.
template <Pairing A, Transform F, bool IsScaled, int H, int P, class T>
MAXMARGIN_INLINE void tile(const DenseBlock<T>& block, const T* const* panels,
                           const Scale<P * kVecsPerLine, T>& scale, index_t row, index_t n_rows,
                           index_t column) {
  using V = Vec<T>;
  constexpr index_t width = P * kLane<T>;
  alignas(64) T dots[H * width];
  const Leaf<T> leaf = *block.epilogue;
  products<A, H, P>(block, block.queries + row * block.depth, panels, dots);
  for (index_t r = 0; r < n_rows; ++r) {
    T* out = block.out[row + r] + column;
    const V query_half_norm = V::fill(block.query_half_norms[row + r]);
    for (int p = 0; p < P; ++p) {
      V x[kVecsPerLine], half_norms[kVecsPerLine];
      load_vectors<kVecsPerLine>(dots + r * width + p * kLane<T>, x);
      load_vectors<kVecsPerLine>(panels[p] + block.depth * kLane<T>, half_norms);
      unroll<kVecsPerLine>([&](auto v) { half_norms[v] = half_norms[v] + query_half_norm; });
      if constexpr (IsScaled)
        scale.template multiply<true, kVecsPerLine>(x, row + r, p * kVecsPerLine);
      else
        transform<F, kVecsPerLine>(x, half_norms, leaf);
      store_vectors<kVecsPerLine>(x, out + p * kLane<T>);
    }
  }
}

// Calls run<H>() with the least height of a tile that holds the rows.
template <int H, class Run> MAXMARGIN_INLINE void with_height(index_t n_rows, const Run& run) {
  if constexpr (H < MAXMARGIN_TILE_ROWS) {
    if (n_rows > H)
      return with_height<(2 * H < MAXMARGIN_TILE_ROWS ? 2 * H : MAXMARGIN_TILE_ROWS)>(n_rows, run);
  }
  run.template operator()<H>();
}

// A strip of a block: its panels from number `first` on, and what belongs to them.
template <class T> struct Strip {
  MAXMARGIN_INLINE Strip(const DenseBlock<T>& block, index_t first)
      : panels(block.panels + first), column(block.column + first * kLane<T>),
        factors{&block.query_factors, &block.column_factors, 0, first * kLane<T>} {}

  const T* const* panels;
  index_t column; // of the results
  BlockFactors<T> factors;
};

template <Pairing A, Transform F, bool IsScaled, int P, class T>
[[gnu::noinline]] void plain_strip(const DenseBlock<T>& block, const Strip<T>& strip) {
  constexpr index_t tile_rows = MAXMARGIN_TILE_ROWS;
  const T* const* const panels = strip.panels;
  const index_t column = strip.column;
  Scale<P * kVecsPerLine, T> scale;
  if constexpr (IsScaled)
    scale = scale_of_leaf<P * kVecsPerLine>(block.epilogue->steps[0], strip.factors);
  index_t row = 0;
  for (; row + tile_rows <= block.n_queries; row += tile_rows)
    tile<A, F, IsScaled, tile_rows, P>(block, panels, scale, row, tile_rows, column);
  const index_t left = block.n_queries - row;
  if (left > 0)
    with_height<1>(left, [&]<int H>() {
      tile<A, F, IsScaled, H, P>(block, panels, scale, row, left, column);
    });
}

// Kernel values of a block with its panels from `begin` up to `end`, P of them at a time.
template <Pairing A, Transform F, bool IsScaled, int P, class T>
void plain_strips(const DenseBlock<T>& block, index_t begin, index_t end) {
  for (index_t p = begin; p < end; p += P)
    plain_strip<A, F, IsScaled, P>(block, Strip<T>(block, p));
}

// The products of the rows from `first` up to `end`, row by row.
template <Pairing A, int P, class T>
void strip_products(const DenseBlock<T>& block, const T* const* panels, index_t first, index_t end,
                    T* dots) {
  constexpr index_t tile_rows = MAXMARGIN_TILE_ROWS;
  for (index_t row = first; row < end; row += tile_rows)
    with_height<1>(end - row < tile_rows ? end - row : tile_rows, [&]<int H>() {
      tile_products<A, H, P>(block, panels, row, dots + (row - first) * P * kLane<T>);
    });
}

// Values of a composed kernel that one pass makes, out of the products of rows.
template <Transform F, int P, class Shape, class T>
[[gnu::noinline]] void join_rows(const DenseBlock<T>& block, const T* const* panels,
                                 const Join<Shape, P * kVecsPerLine, T>& given, const T* dots,
                                 index_t first, index_t n_rows, index_t column) {
  using V = Vec<T>;
  constexpr int W = P * kVecsPerLine;
  const Join<Shape, W, T> join = given;
  T* const* const out = block.out + first;
  const T* const query_half_norms = block.query_half_norms + first;
  V half_norms[W];
  unroll<P>([&](auto p) {
    load_vectors<kVecsPerLine>(panels[p] + block.depth * kLane<T>, half_norms + p * kVecsPerLine);
  });
  for (index_t r = 0; r < n_rows; ++r) {
    const V query_half_norm = V::fill(query_half_norms[r]);
    V x[W], sums[W];
    load_vectors<W>(dots + r * (P * kLane<T>), x);
    unroll<W>([&](auto v) { sums[v] = half_norms[v] + query_half_norm; });
    join_values<F>(x, sums, static_cast<const T*>(nullptr), join, first + r);
    store_vectors<W>(x, out[r] + column);
  }
}

// The same for a composed kernel whose values one pass makes. It takes few rows at a time, so that
// the processor works at the next products meanwhile.
template <Pairing A, Transform F, int P, class T>
void joined_strips(const DenseBlock<T>& block, index_t begin, index_t end) {
  constexpr index_t tile_rows = MAXMARGIN_TILE_ROWS, most_rows = 96 / (tile_rows * P) * tile_rows;
  alignas(64) T dots[most_rows * P * kLane<T>];
  const PassSteps<T> steps = pass_from(*block.epilogue, 0);
  with_shape<true>(steps, [&]<class Shape>(Shape shape) {
    if constexpr (F == Transform::exponential || Shape::beside != Beside::exponential)
      for (index_t p = begin; p < end; p += P) {
        const Strip<T> strip(block, p);
        const Join<Shape, P * kVecsPerLine, T> join(steps, strip.factors, shape);
        for (index_t first = 0; first < block.n_queries; first += most_rows) {
          const index_t n_left = block.n_queries - first;
          const index_t n_rows = n_left < most_rows ? n_left : most_rows;
          strip_products<A, P>(block, strip.panels, first, first + n_rows, dots);
          join_rows<F, P>(block, strip.panels, join, dots, first, n_rows, strip.column);
        }
      }
  });
}

// The same for a composed kernel, whose steps take the products of several tiles at a time.
template <Pairing A, int P, class T>
void composed_strips(const DenseBlock<T>& block, index_t begin, index_t end) {
  constexpr index_t tile_rows = MAXMARGIN_TILE_ROWS, width = P * kLane<T>;
  constexpr index_t most_rows = kComposed<T> / (tile_rows * width) * tile_rows;
  static_assert(most_rows > 0);
  alignas(64) T dots[most_rows * width], half_norms[width];
  const Passes<P * kVecsPerLine, T> passes(*block.epilogue);
  Composition<P * kVecsPerLine, T> composition;
  composition.dots = dots;
  composition.half_norms = half_norms;
  for (index_t p = begin; p < end; p += P) {
    const Strip<T> strip(block, p);
    for (int k = 0; k < P; ++k)
      __builtin_memcpy(half_norms + k * kLane<T>, strip.panels[k] + block.depth * kLane<T>, 64);
    composition.factors = strip.factors;
    composition.column = strip.column;
    for (index_t first = 0; first < block.n_queries; first += most_rows) {
      const index_t n_left = block.n_queries - first;
      composition.n_rows = n_left < most_rows ? n_left : most_rows;
      strip_products<A, P>(block, strip.panels, first, first + composition.n_rows, dots);
      composition.row_half_norms = block.query_half_norms + first;
      composition.factors.first_row = first;
      composition.out = block.out + first;
      passes.run(composition);
    }
  }
}

template <Pairing A, Transform F, Form form, class T>
void dense_block_of(const DenseBlock<T>& block) {
  constexpr int P = MAXMARGIN_TILE_PANELS;
  const auto strips = [&]<int N>(index_t begin, index_t end) {
    if constexpr (form == Form::plain || form == Form::scaled)
      plain_strips<A, F, form == Form::scaled, N>(block, begin, end);
    else if constexpr (form == Form::joined)
      joined_strips<A, F, N>(block, begin, end);
    else
      composed_strips<A, N>(block, begin, end);
  };
  const index_t n_whole = block.n_panels / P * P;
  strips.template operator()<P>(0, n_whole);
  if constexpr (P > 1)
    if (n_whole < block.n_panels) strips.template operator()<1>(n_whole, block.n_panels);
}

// Calls run<A, F, form>() for the epilogue's pairing, form, and transform, or that of the leaf
// where one pass makes the values of a composition. Compositions of any steps, which can do what
// all others can, serve those that are rare.
template <class T, class Run>
MAXMARGIN_INLINE void dispatch(const Epilogue<T>& epilogue, const Run& run) {
  const Form form = form_of(epilogue);
  const Transform f = form == Form::scaled || form == Form::joined
                          ? pass_from(epilogue, 0).leaf->leaf.transform
                          : epilogue.transform;
  const auto with_form = [&]<Pairing A, Transform F>() {
    if constexpr (F == Transform::identity)
      if (form == Form::scaled) return run.template operator()<A, F, Form::scaled>();
    if (form == Form::joined) return run.template operator()<A, F, Form::joined>();
    return run.template operator()<A, F, Form::plain>();
  };
  with_pairing(epilogue.pairing, [&]<Pairing A>() {
    constexpr bool is_dot = A == Pairing::multiply;
    if (f == Transform::exponential)
      return with_form.template operator()<A, Transform::exponential>();
    if constexpr (A != Pairing::harmonic)
      if (f == Transform::identity) return with_form.template operator()<A, Transform::identity>();
    if constexpr (is_dot)
      if (f == Transform::power) return with_form.template operator()<A, Transform::power>();
    if constexpr (is_dot)
      if (f == Transform::tanh) return with_form.template operator()<A, Transform::tanh>();
    return run.template operator()<A, Transform::composed, Form::composed>();
  });
}

template <class T> void dense_block(const DenseBlock<T>& block) {
  dispatch(*block.epilogue,
           [&]<Pairing A, Transform F, Form form>() { dense_block_of<A, F, form>(block); });
}

template <class T>
void panel_half_norms(Pairing pairing, const T* panel, index_t depth, T* half_norms) {
  using V = Vec<T>;
  with_pairing(pairing, [&]<Pairing A>() {
    unroll<kVecsPerLine>([&](auto v) {
      V sum = V::zero();
      for (index_t k = 0; k < depth; ++k) {
        const V x = V::load(panel + k * kLane<T> + v * V::size);
        sum = add_pair<A>(x, x, sum);
      }
      (sum * V::fill(T(0.5))).store(half_norms + v * V::size);
    });
  });
}

} // namespace
} // namespace maxmargin::simd
