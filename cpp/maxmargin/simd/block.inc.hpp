// Blocks of kernel values: register tiles of products, which the kernel's passes turn into values
// while they are near.
#pragma once

#include "maxmargin/simd/compose.inc.hpp"
#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec_math.hpp"

namespace maxmargin::simd {
namespace {

// sum + what x and z contribute to a product.
template <Pairing P, class T> MAXMARGIN_INLINE Vec<T> add_pair(Vec<T> x, Vec<T> z, Vec<T> sum) {
  using V = Vec<T>;
  if constexpr (P == Pairing::multiply) return fma(x, z, sum);
  if constexpr (P == Pairing::minimum) // one of the two is 0
    return sum + (max(min(x, z), V::zero()) - min(max(x, z), V::zero()));
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022); // so that 0 / 0 is not
  if constexpr (P == Pairing::harmonic) return sum + x * z / max(x + z, V::fill(least));
  const V difference = x - z;
  if constexpr (P == Pairing::squares) return sum - difference * difference;
  if constexpr (P == Pairing::magnitudes) return sum - max(difference, z - x);
  return sum - difference * difference / max(x + z, V::fill(least));
}
template <Pairing P, class T> MAXMARGIN_INLINE T add_pair(T x, T z, T sum) {
  return sum + paired(P, x, z);
}

// Calls run<P>() for the pairing P, one of products.
template <class Run> MAXMARGIN_INLINE auto with_pairing(Pairing pairing, const Run& run) {
  if (pairing == Pairing::minimum) return run.template operator()<Pairing::minimum>();
  if (pairing == Pairing::harmonic) return run.template operator()<Pairing::harmonic>();
  return run.template operator()<Pairing::multiply>();
}
// The same for any.
template <class Run> MAXMARGIN_INLINE auto with_any_pairing(Pairing pairing, const Run& run) {
  if (pairing == Pairing::squares) return run.template operator()<Pairing::squares>();
  if (pairing == Pairing::magnitudes) return run.template operator()<Pairing::magnitudes>();
  if (pairing == Pairing::quotients) return run.template operator()<Pairing::quotients>();
  return with_pairing(pairing, run);
}

// Where products go: times a scale, if there is one, to a column of the rows, and so much further
// for the next panels.
template <class T> struct Destination {
  T* const* rows = nullptr;
  index_t column = 0, further = 0;
  const T* scale = nullptr;
};

// The products of n_tiles times H query rows with n panels, P of them at a time. The H x P x 64
// bytes of sums stay in registers; every step of k loads P lines of the panels and broadcasts H
// numbers. Not inlined: were other registers live with the sums, GCC would spill sums inside the
// loop over k.
template <Pairing A, int H, int P, class T>
[[gnu::noinline]] void tile_products(const T* queries, index_t n_tiles, index_t depth,
                                     const T* const* panels, index_t n, Destination<T> to) {
  using V = Vec<T>;
  constexpr int W = P * kVecsPerLine;
  for (index_t p = 0; p < n; p += P, to.column += to.further)
    for (index_t tile = 0; tile < n_tiles; ++tile) {
      const T* const tile_queries = queries + tile * H * depth;
      V sum[H][W];
      unroll<H>([&](auto r) { unroll<W>([&](auto v) { sum[r][v] = V::zero(); }); });
      for (index_t k = 0; k < depth; ++k) {
        V line[W];
        unroll<W>([&](auto v) {
          line[v] =
              V::load(panels[p + v / kVecsPerLine] + k * kLane<T> + v % kVecsPerLine * V::size);
        });
        unroll<H>([&](auto r) {
          const V query = V::fill(tile_queries[k * H + r]);
          unroll<W>([&](auto v) { sum[r][v] = add_pair<A>(query, line[v], sum[r][v]); });
        });
      }
      if (to.scale != nullptr)
        unroll<H>([&](auto r) {
          unroll<W>([&](auto v) { sum[r][v] = sum[r][v] * V::fill(*to.scale); });
        });
      unroll<H>([&](auto r) { store_vectors<W>(sum[r], to.rows[tile * H + r] + to.column); });
    }
}

// Panels that a single row meets at a time: eight vectors of sums hide the latency of a
// multiply-add.
inline constexpr int kRowPanels = 8 / kVecsPerLine;

// The products of one row, side by side. The panels at the end are met with the last one some times
// more: there is room for as many products as are multiples of kRowPanels.
template <Pairing A, class T>
MAXMARGIN_INLINE void one_row_products(const T* query, index_t depth, const T* const* panels,
                                       index_t n_panels, Destination<T> to) {
  const index_t n_whole = n_panels / kRowPanels * kRowPanels;
  to.further = kRowPanels * kLane<T>;
  tile_products<A, 1, kRowPanels>(query, 1, depth, panels, n_whole, to);
  if (n_whole == n_panels) return;
  const T* at_end[kRowPanels];
  for (index_t p = 0; p < kRowPanels; ++p)
    at_end[p] = panels[n_whole + p < n_panels ? n_whole + p : n_panels - 1];
  to.column += n_whole * kLane<T>;
  tile_products<A, 1, kRowPanels>(query, 1, depth, at_end, kRowPanels, to);
}

// Calls run<H>() with the least height of a tile that holds the rows.
template <int H, class Run> MAXMARGIN_INLINE void with_height(index_t n_rows, const Run& run) {
  if constexpr (H < MAXMARGIN_TILE_ROWS) {
    if (n_rows > H)
      return with_height<(2 * H < MAXMARGIN_TILE_ROWS ? 2 * H : MAXMARGIN_TILE_ROWS)>(n_rows, run);
  }
  run.template operator()<H>();
}

// The products of n of the query rows, from `first` on, with panels.
template <Pairing A, class T>
MAXMARGIN_INLINE void row_products(const DenseBlock<T>& block, index_t first, index_t n,
                                   const T* const* panels, index_t n_panels, Destination<T> to) {
  constexpr index_t P = MAXMARGIN_TILE_PANELS, tile_rows = MAXMARGIN_TILE_ROWS;
  if (n == 1 && to.further == P * kLane<T> && n_panels > P) // one row in its batch
    return one_row_products<A>(block.queries + first * block.depth, block.depth, panels, n_panels,
                               to);
  const index_t n_whole = n_panels / P * P;
  const auto take = [&]<int H>(index_t row, index_t n_tiles) {
    const T* const queries = block.queries + (first + row) * block.depth;
    Destination<T> place = to;
    place.rows += row;
    tile_products<A, H, P>(queries, n_tiles, block.depth, panels, n_whole, place);
    if constexpr (P > 1) {
      place.column += n_whole / P * place.further;
      if (n_whole < n_panels)
        tile_products<A, H, 1>(queries, n_tiles, block.depth, panels + n_whole, 1, place);
    }
  };
  const index_t n_tiles = n / tile_rows, n_left = n % tile_rows;
  if (n_tiles > 0) take.template operator()<tile_rows>(0, n_tiles);
  if (n_left > 0)
    with_height<1>(n_left, [&]<int H>() { take.template operator()<H>(n_tiles * tile_rows, 1); });
}

// Values that are products times a scale, of the rows in whole tiles: they go where the results
// belong. Returns how many rows.
template <class T> index_t store_products(const DenseBlock<T>& block) {
  constexpr index_t P = MAXMARGIN_TILE_PANELS, tile_rows = MAXMARGIN_TILE_ROWS;
  const index_t n_rows = block.n_queries / tile_rows * tile_rows;
  const T scale = block.epilogue->scale;
  with_pairing(block.epilogue->pairing, [&]<Pairing A>() {
    row_products<A>(block, 0, n_rows, block.panels, block.n_panels,
                    Destination<T>{block.out, block.column, P * kLane<T>, &scale});
  });
  return n_rows;
}

// Batches have as many rows as there are, and as many panels as make them full.
template <class T> void dense_block(const DenseBlock<T>& block) {
  constexpr index_t tile_rows = MAXMARGIN_TILE_ROWS, P = MAXMARGIN_TILE_PANELS;
  constexpr index_t n_lines = kBatch<T> / kLane<T>,
                    most_rows = n_lines / (tile_rows * P) * tile_rows;
  const bool is_product = block.epilogue->transform == Transform::identity;
  const index_t begin = is_product ? store_products(block) : 0;
  if (begin == block.n_queries) return;
  index_t n_rows = 1; // in tiles
  with_height<1>(block.n_queries - begin,
                 [&]<int H>() { n_rows = (block.n_queries - begin + H - 1) / H * H; });
  if (n_rows > most_rows) n_rows = most_rows;
  const index_t n_panels = n_lines / n_rows / P * P;
  alignas(64) T dots[2 * kBatch<T>]; // the second half is for exponentials where that is another
  T* rows[n_lines];
  const Pairing pairing = block.epilogue->pairing, second = block.epilogue->of_exponentials;
  const Passes<T> passes(*block.epilogue);
  Batch<T> batch;
  batch.dots = dots;
  batch.of_exponentials = second != pairing ? dots + kBatch<T> : dots;
  batch.row_stride = P * kLane<T>;
  batch.strip_stride = n_rows * batch.row_stride;
  batch.half_norms_at = block.depth * kLane<T>;
  for (index_t r = 0; r < n_rows; ++r) rows[r] = dots + r * batch.row_stride;
  for (index_t p = 0; p < block.n_panels; p += n_panels) {
    batch.n_lines = block.n_panels - p < n_panels ? block.n_panels - p : n_panels;
    batch.others = block.panels + p;
    batch.column = block.column + p * kLane<T>;
    for (index_t first = begin; first < block.n_queries; first += n_rows) {
      batch.n_rows = block.n_queries - first < n_rows ? block.n_queries - first : n_rows;
      batch.row_half_norms = block.query_half_norms + first;
      batch.factors = {&block.query_factors, &block.column_factors, first, p * kLane<T>};
      batch.out = block.out + first;
      const auto take_products = [&](Pairing of_rows, index_t at) {
        with_any_pairing(of_rows, [&]<Pairing A>() {
          row_products<A>(block, first, batch.n_rows, batch.others, batch.n_lines,
                          Destination<T>{rows, at, batch.strip_stride});
        });
      };
      take_products(pairing, 0);
      if (second != pairing) take_products(second, kBatch<T>);
      passes.run(batch);
    }
  }
}

template <class T>
void panel_half_norms(Pairing pairing, const T* panel, index_t depth, T* half_norms) {
  using V = Vec<T>;
  with_any_pairing(pairing, [&]<Pairing A>() {
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

// The compiler must not see that all lanes are equal (sparse_half_norm).
template <class T> T row_half_norm(Pairing pairing, const T* row, index_t depth) {
  using V = Vec<T>;
  return with_any_pairing(pairing, [&]<Pairing A>() {
    V sum = V::zero();
    for (index_t k = 0; k < depth; ++k) {
      V x = V::fill(row[k]);
      asm("" : "+m"(x.raw));
      sum = add_pair<A>(x, x, sum);
    }
    return sum.raw[0] * T(0.5);
  });
}

} // namespace
} // namespace maxmargin::simd
