// Blocks of kernel values of sparse rows: sums over a row's non-zeros with the kernel's epilogue
// fused.
#pragma once

#include "maxmargin/simd/block.inc.hpp"

namespace maxmargin::simd {
namespace {

// The sums over a row's non-zeros run in this many interleaved parts, since one part would wait for
// the latency of every addition.
inline constexpr int kSparseParts = 4;

// The product of value_k and line(k) over k for the W vectors of a line, in the parts' order.
template <Pairing A, int W, class T, class Line>
MAXMARGIN_INLINE void sparse_sum(const T* values, std::int64_t n, const Line& line, Vec<T>* total) {
  using V = Vec<T>;
  V sum[kSparseParts][W];
  unroll<kSparseParts>([&](auto u) { unroll<W>([&](auto v) { sum[u][v] = V::zero(); }); });
  const auto step = [&](std::int64_t k, auto u) {
    const V value = V::fill(values[k]);
    unroll<W>([&](auto v) { sum[u][v] = add_pair<A>(value, line(k, v), sum[u][v]); });
  };
  std::int64_t k = 0;
  for (; k + kSparseParts <= n; k += kSparseParts)
    unroll<kSparseParts>([&](auto u) { step(k + u, u); });
  for (; k < n; ++k) step(k, Constant<0>{});
  unroll<W>([&](auto v) { total[v] = (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]); });
}

// The products of n of the rows to evaluate, from `first` on, with all queries, summed over the
// rows' non-zeros only; those for exponentials too, a batch further, where their tail is another.
// Where F is not composed, they become values of that kernel at once: a processor can look up the
// numbers of a row while it works at the values of the one before.
template <Pairing A, Transform F, class T>
[[gnu::noinline]] void take_sparse_rows(const SparseBlock<T>& block, index_t first, index_t n,
                                        T* out) {
  using V = Vec<T>;
  constexpr index_t width = kSparseQueries<T>;
  constexpr int W = static_cast<int>(width) / V::size;
  const SparseBlock<T> b = block;
  const index_t* const rows = block.rows + first;
  const T* const tail = block.tail != nullptr ? block.tail + first * width : nullptr;
  const T* const second =
      block.exponential_tail != nullptr ? block.exponential_tail + first * width : nullptr;
  const Leaf<T> leaf = *block.epilogue;
  V query_half_norms[W];
  load_vectors<W>(b.query_half_norms, query_half_norms);
  for (index_t r = 0; r < n; ++r) {
    const index_t row = rows[r];
    const std::int64_t begin = b.indptr[row];
    const std::int32_t* const indices = b.indices + begin;
    V x[W];
    sparse_sum<A, W>(
        b.values + begin, b.indptr[row + 1] - begin,
        [&](std::int64_t k, auto v) {
          return V::load(b.table + index_t{indices[k]} * width + v * V::size);
        },
        x);
    if (F == Transform::composed && second != nullptr)
      unroll<W>([&](auto v) {
        const index_t at = r * width + v * V::size;
        (x[v] + V::load(second + at)).store(out + kBatch<T> + at);
      });
    if (tail != nullptr)
      unroll<W>([&](auto v) { x[v] = x[v] + V::load(tail + r * width + v * V::size); });
    if constexpr (F != Transform::composed) {
      const V half_norm = V::fill(b.half_norms[row]);
      V sums[W];
      unroll<W>([&](auto v) { sums[v] = query_half_norms[v] + half_norm; });
      transform<F, W>(x, sums, leaf);
    }
    store_vectors<W>(x, out + r * width);
  }
}

// Calls run<F>() for the transform, if it is one of the common kernels, else for composed.
template <Pairing A, class Run>
MAXMARGIN_INLINE void with_common(Transform transform, const Run& run) {
  if (transform == Transform::exponential) return run.template operator()<Transform::exponential>();
  if constexpr (A == Pairing::multiply) {
    if (transform == Transform::identity) return run.template operator()<Transform::identity>();
    if (transform == Transform::power) return run.template operator()<Transform::power>();
  }
  run.template operator()<Transform::composed>();
}

// Calls use(first, n, values) for batches of the rows: n of them, whose values with all queries are
// side by side.
template <class T, class Use>
MAXMARGIN_INLINE void each_sparse_batch(const SparseBlock<T>& block, const Use& use) {
  constexpr index_t width = kSparseQueries<T>, most_rows = kBatch<T> / width;
  static_assert(most_rows % kLane<T> == 0);
  alignas(64) T values[2 * kBatch<T>];
  T row_half_norms[most_rows];
  const Passes<T> passes(*block.epilogue);
  Batch<T> batch;
  batch.dots = values;
  batch.of_exponentials = block.exponential_tail != nullptr ? values + kBatch<T> : values;
  batch.row_stride = width;
  batch.strip_stride = MAXMARGIN_TILE_PANELS * kLane<T>;
  batch.n_lines = width / kLane<T>;
  batch.row_half_norms = row_half_norms;
  const T* const half_norms[] = {block.query_half_norms, block.query_half_norms + kLane<T>};
  batch.others = half_norms;
  for (index_t first = 0; first < block.n_rows; first += most_rows) {
    const index_t n = block.n_rows - first < most_rows ? block.n_rows - first : most_rows;
    bool are_values = false;
    with_pairing(block.epilogue->pairing, [&]<Pairing A>() {
      with_common<A>(block.epilogue->transform, [&]<Transform F>() {
        take_sparse_rows<A, F>(block, first, n, values);
        are_values = F != Transform::composed;
      });
    });
    if (!are_values) {
      for (index_t r = 0; r < n; ++r) row_half_norms[r] = block.half_norms[block.rows[first + r]];
      batch.n_rows = n;
      batch.factors = {&block.row_factors, &block.query_factors, first, 0};
      passes.run(batch);
    }
    use(first, n, values);
  }
}

// Values are stored with the columns side by side: a square of lanes is turned at a time.
template <class T> void sparse_block(const SparseBlock<T>& block, T* const* out) {
  using V = Vec<T>;
  constexpr index_t width = kSparseQueries<T>;
  each_sparse_batch(block, [&](index_t first, index_t n, const T* values) {
    for (index_t c = 0; c < n; c += V::size)
      for (index_t q = 0; q < block.n_queries; q += V::size) {
        V square[V::size];
        unroll<V::size>([&](auto k) { square[k] = V::load(values + (c + k) * width + q); });
        transpose(square);
        unroll<V::size>([&](auto k) {
          if (q + k < block.n_queries) square[k].store(out[q + k] + first + c);
        });
      }
  });
}

template <class T> void sparse_add(const SparseBlock<T>& block, const double* coef, double* out) {
  using V = Vec<T>;
  using Wide = Vec<double>;
  constexpr int W = static_cast<int>(kSparseQueries<T>) / V::size;
  constexpr int n_wide = static_cast<int>(kSparseQueries<T>) / Wide::size;
  Wide factor[n_wide];
  unroll<n_wide>([&](auto v) { factor[v] = Wide::load(coef + v * Wide::size); });
  each_sparse_batch(block, [&](index_t first, index_t n, const T* values) {
    for (index_t c = 0; c < n; c += Wide::size) {
      Wide sums[Wide::size];
      for (int k = 0; k < Wide::size; ++k) {
        V of_row[W];
        load_vectors<W>(values + (c + k) * kSparseQueries<T>, of_row);
        Wide wide[n_wide];
        unroll<W>([&](auto v) { widen(of_row[v], wide + v * (n_wide / W)); });
        Wide sum = wide[0] * factor[0];
        unroll<n_wide - 1>([&](auto v) { sum = fma(wide[v + 1], factor[v + 1], sum); });
        sums[k] = sum;
      }
      sum_lanes(sums);
      (Wide::load(out + first + c) + sums[0]).store(out + first + c);
    }
  });
}

template <class T>
index_t scatter(Pairing pairing, T x, const T* values, const std::int32_t* columns, index_t n,
                std::int32_t begin, std::int32_t end, T* tail) {
  return with_pairing(pairing, [&]<Pairing A>() {
    index_t k = 0;
    for (; k < n && columns[k] < end; ++k) {
      T& sum = tail[index_t{columns[k] - begin} * kSparseQueries<T>];
      sum = add_pair<A>(x, values[k], sum);
    }
    return k;
  });
}

// The compiler must not see that all lanes are equal, or it would square one lane and add the
// result, rounding twice where sparse_block rounds once.
template <class T>
T sparse_half_norm(Pairing pairing, const T* head, index_t n_head, const T* tail, index_t n_tail) {
  using V = Vec<T>;
  return with_pairing(pairing, [&]<Pairing A>() {
    V sum[1];
    sparse_sum<A, 1>(
        head, n_head,
        [&](std::int64_t k, auto) {
          V value = V::fill(head[k]);
          asm("" : "+m"(value.raw));
          return value;
        },
        sum);
    T rest = 0;
    for (index_t k = 0; k < n_tail; ++k) {
      T value = tail[k];
      asm("" : "+m"(value));
      rest = add_pair<A>(value, tail[k], rest);
    }
    return (sum[0].raw[0] + rest) * T(0.5);
  });
}

} // namespace
} // namespace maxmargin::simd
