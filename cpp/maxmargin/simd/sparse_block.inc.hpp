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

// The products of the data's row rows[c] with all queries, summed over the row's non-zeros only.
template <Pairing A, bool HasTail, class T>
MAXMARGIN_INLINE void sparse_products(const SparseBlock<T>& block, index_t c, Vec<T>* dots) {
  using V = Vec<T>;
  constexpr int W = static_cast<int>(kSparseQueries<T>) / V::size;
  const index_t row = block.rows[c];
  const std::int64_t begin = block.indptr[row];
  const std::int32_t* indices = block.indices + begin;
  sparse_sum<A, W>(
      block.values + begin, block.indptr[row + 1] - begin,
      [&](std::int64_t k, auto v) {
        return V::load(block.table + index_t{indices[k]} * kSparseQueries<T> + v * V::size);
      },
      dots);
  if constexpr (HasTail)
    unroll<W>([&](auto v) {
      dots[v] = dots[v] + V::load(block.tail + c * kSparseQueries<T> + v * V::size);
    });
}

// The sums of the half norms of that row and of all queries.
template <int W, class T>
MAXMARGIN_INLINE void sparse_half_norms(const SparseBlock<T>& block, index_t c, Vec<T> (&sums)[W]) {
  const Vec<T> half_norm = Vec<T>::fill(block.half_norms[block.rows[c]]);
  load_vectors<W>(block.query_half_norms, sums);
  unroll<W>([&](auto v) { sums[v] = sums[v] + half_norm; });
}

// Kernel values of the rows with all queries, to be asked for one row after the other.
template <Pairing A, Transform F, Form form, bool HasTail, class T> struct SparseValues {
  static constexpr int W = static_cast<int>(kSparseQueries<T>) / Vec<T>::size;

  MAXMARGIN_INLINE explicit SparseValues(const SparseBlock<T>& b) : block(b) {}

  MAXMARGIN_INLINE void take(index_t c, Vec<T>* values) {
    Vec<T> half_norms[W];
    sparse_products<A, HasTail>(block, c, values);
    sparse_half_norms(block, c, half_norms);
    transform<F, W>(values, half_norms, *block.epilogue);
  }

  const SparseBlock<T>& block;
};

// Those of products that are multiplied by a scale.
template <Pairing A, Transform F, bool HasTail, class T>
struct SparseValues<A, F, Form::scaled, HasTail, T> {
  static constexpr int W = static_cast<int>(kSparseQueries<T>) / Vec<T>::size;

  MAXMARGIN_INLINE explicit SparseValues(const SparseBlock<T>& b)
      : block(b),
        scale(scale_of_leaf<W>(b.epilogue->steps[0], {&b.row_factors, &b.query_factors, 0, 0})) {}

  MAXMARGIN_INLINE void take(index_t c, Vec<T>* values) {
    sparse_products<A, HasTail>(block, c, values);
    scale.multiply(values, c);
  }

  const SparseBlock<T>& block;
  const Scale<W, T> scale;
};

// Those of a composed kernel that one pass makes.
template <Pairing A, Transform F, bool HasTail, class T>
struct SparseValues<A, F, Form::joined, HasTail, T> {
  static constexpr int W = static_cast<int>(kSparseQueries<T>) / Vec<T>::size;

  MAXMARGIN_INLINE explicit SparseValues(const SparseBlock<T>& b)
      : SparseValues(b, pass_from(*b.epilogue, 0)) {}
  MAXMARGIN_INLINE SparseValues(const SparseBlock<T>& b, const PassSteps<T>& steps)
      : block(b),
        join(steps, {&b.row_factors, &b.query_factors, 0, 0}, {kind_of(steps), beside_of(steps)}) {}

  MAXMARGIN_INLINE void take(index_t c, Vec<T>* values) {
    Vec<T> half_norms[W];
    sparse_products<A, HasTail>(block, c, values);
    sparse_half_norms(block, c, half_norms);
    join_values<F>(values, half_norms, static_cast<const T*>(nullptr), join, c);
  }

  const SparseBlock<T>& block;
  const Join<AnyShape, W, T> join;
};

// Those of a composed kernel, whose steps take many rows at a time.
template <Pairing A, bool HasTail, class T>
struct SparseValues<A, Transform::composed, Form::composed, HasTail, T> {
  static constexpr index_t width = kSparseQueries<T>, most_rows = kComposed<T> / width;
  static constexpr int W = static_cast<int>(width) / Vec<T>::size;

  MAXMARGIN_INLINE explicit SparseValues(const SparseBlock<T>& b) : block(b), passes(*b.epilogue) {
    composition.dots = values;
    composition.row_half_norms = row_half_norms;
    composition.half_norms = block.query_half_norms;
    composition.factors = {&block.row_factors, &block.query_factors, 0, 0};
    composition.out = out;
    for (index_t r = 0; r < most_rows; ++r) out[r] = values + r * width;
  }

  MAXMARGIN_INLINE void take(index_t c, Vec<T>* of_row) {
    const index_t r = c % most_rows;
    if (r == 0) compose_from(c);
    load_vectors<W>(values + r * width, of_row);
  }

  [[gnu::noinline]] void compose_from(index_t first) {
    composition.factors.first_row = first;
    composition.n_rows = block.n_rows - first < most_rows ? block.n_rows - first : most_rows;
    for (index_t r = 0; r < composition.n_rows; ++r) {
      Vec<T> products[W];
      sparse_products<A, HasTail>(block, first + r, products);
      store_vectors<W>(products, values + r * width);
      row_half_norms[r] = block.half_norms[block.rows[first + r]];
    }
    passes.run(composition);
  }

  const SparseBlock<T>& block;
  const Passes<W, T> passes;
  Composition<W, T> composition;
  alignas(64) T values[kComposed<T>]; // at first the products, which the last pass reads row by row
  T row_half_norms[most_rows];
  T* out[most_rows];
};

// Values come with the queries side by side, and are stored with the columns side by side: a square
// of lanes is turned at a time.
template <Pairing A, Transform F, Form form, bool HasTail, class T>
void sparse_block_of(const SparseBlock<T>& block, T* const* out) {
  using V = Vec<T>;
  constexpr int W = static_cast<int>(kSparseQueries<T>) / V::size;
  SparseValues<A, F, form, HasTail, T> rows(block);
  for (index_t c = 0; c < block.n_rows; c += V::size) {
    V values[V::size][W];
    for (int k = 0; k < V::size; ++k) rows.take(c + k, values[k]);
    unroll<W>([&](auto v) {
      V square[V::size];
      unroll<V::size>([&](auto k) { square[k] = values[k][v]; });
      transpose(square);
      unroll<V::size>([&](auto k) {
        const index_t r = v * V::size + k;
        if (r < block.n_queries) square[k].store(out[r] + c);
      });
    });
  }
}

template <Pairing A, Transform F, Form form, bool HasTail, class T>
void sparse_add_of(const SparseBlock<T>& block, const double* coef, double* out) {
  using V = Vec<T>;
  using Wide = Vec<double>;
  constexpr int W = static_cast<int>(kSparseQueries<T>) / V::size;
  constexpr int n_wide = static_cast<int>(kSparseQueries<T>) / Wide::size;
  Wide factor[n_wide];
  unroll<n_wide>([&](auto v) { factor[v] = Wide::load(coef + v * Wide::size); });
  SparseValues<A, F, form, HasTail, T> rows(block);
  for (index_t c = 0; c < block.n_rows; c += Wide::size) {
    Wide sums[Wide::size];
    for (int k = 0; k < Wide::size; ++k) {
      V values[W];
      rows.take(c + k, values);
      Wide wide[n_wide];
      unroll<W>([&](auto v) { widen(values[v], wide + v * (n_wide / W)); });
      Wide sum = wide[0] * factor[0];
      unroll<n_wide - 1>([&](auto v) { sum = fma(wide[v + 1], factor[v + 1], sum); });
      sums[k] = sum;
    }
    sum_lanes(sums);
    (Wide::load(out + c) + sums[0]).store(out + c);
  }
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

template <class T> void sparse_block(const SparseBlock<T>& block, T* const* out) {
  dispatch(*block.epilogue, [&]<Pairing A, Transform F, Form form>() {
    if (block.tail != nullptr)
      sparse_block_of<A, F, form, true>(block, out);
    else
      sparse_block_of<A, F, form, false>(block, out);
  });
}

template <class T> void sparse_add(const SparseBlock<T>& block, const double* coef, double* out) {
  dispatch(*block.epilogue, [&]<Pairing A, Transform F, Form form>() {
    if (block.tail != nullptr)
      sparse_add_of<A, F, form, true>(block, coef, out);
    else
      sparse_add_of<A, F, form, false>(block, coef, out);
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
