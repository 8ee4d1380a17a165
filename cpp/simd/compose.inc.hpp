// Functions of products, and compositions of them.
#pragma once

#include "simd/kernel_table.hpp"
#include "simd/vec_math.hpp"

namespace maxmargin::simd {
namespace {

// The kernel value of a vector of products; half_norms is the sum of both rows' (exponential only).
template <Transform F, class T>
MAXMARGIN_INLINE Vec<T> transform(Vec<T> dot, Vec<T> half_norms, const Leaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::constant) return V::fill(1);
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

// The same for W vectors, in place. Powers loop over the degree once for all.
template <Transform F, int W, class T>
MAXMARGIN_INLINE void transform(Vec<T>* x, const Vec<T>* half_norms, const Leaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::power) {
    V square[W];
    unroll<W>([&](auto v) {
      square[v] = fma(x[v], V::fill(e.scale), V::fill(e.offset));
      x[v] = V::fill(1);
    });
    for (int n = e.degree; n > 0; n >>= 1) {
      if (n & 1) unroll<W>([&](auto v) { x[v] = x[v] * square[v]; });
      if (n > 1) unroll<W>([&](auto v) { square[v] = square[v] * square[v]; });
    }
  } else {
    unroll<W>([&](auto v) { x[v] = transform<F>(x[v], half_norms[v], e); });
  }
}

// The values that are composed at a time: steps cost little beside them, and the stack is near.
inline constexpr index_t kComposed = 512;

// Products of n_rows rows with W vectors of others, to be turned into values of a composed kernel:
// step by step for all of them. What lies lowest on the stack stands where the results belong.
template <int W, class T> struct Composition {
  static constexpr index_t width = W * Vec<T>::size;

  const T* dots = nullptr; // row by row
  const T* row_half_norms = nullptr;
  const T* half_norms = nullptr; // of the others
  index_t n_rows = 0;
  T* const* out = nullptr; // n_rows pointers
  index_t column = 0;
  alignas(64) T stack[kStackDepth - 1][kComposed];

  T* values(int level, index_t row) {
    return level == 0 ? out[row] + column : stack[level - 1] + row * width;
  }
};

template <int W, class T> MAXMARGIN_INLINE void load_vectors(const T* from, Vec<T>* to) {
  unroll<W>([&](auto v) { to[v] = Vec<T>::load(from + v * Vec<T>::size); });
}
template <int W, class T> MAXMARGIN_INLINE void store_vectors(const Vec<T>* from, T* to) {
  unroll<W>([&](auto v) { from[v].store(to + v * Vec<T>::size); });
}

// The leaf's values times the weight become a new level, or are added to or multiplied with one.
template <Transform F, StepKind kind, int W, class T>
void add_leaf(Composition<W, T>& c, const Step<T>& step, int level) {
  using V = Vec<T>;
  const V weight = V::fill(step.weight);
  for (index_t r = 0; r < c.n_rows; ++r) {
    T* const values = c.values(level, r);
    const V row_half_norm = V::fill(c.row_half_norms[r]);
    V x[W], sums[W], before[W];
    load_vectors<W>(c.dots + r * c.width, x);
    unroll<W>([&](auto v) { sums[v] = V::load(c.half_norms + v * V::size) + row_half_norm; });
    transform<F, W>(x, sums, step.leaf);
    if constexpr (kind != StepKind::value) load_vectors<W>(values, before);
    unroll<W>([&](auto v) {
      if constexpr (kind == StepKind::add)
        x[v] = fma(x[v], weight, before[v]);
      else
        x[v] = x[v] * weight;
      if constexpr (kind == StepKind::multiply) x[v] = x[v] * before[v];
    });
    store_vectors<W>(x, values);
  }
}
template <StepKind kind, int W, class T>
void add_leaf(Composition<W, T>& c, const Step<T>& step, int level) {
  switch (step.leaf.transform) {
  case Transform::power:
    return add_leaf<Transform::power, kind>(c, step, level);
  case Transform::exponential:
    return add_leaf<Transform::exponential, kind>(c, step, level);
  case Transform::tanh:
    return add_leaf<Transform::tanh, kind>(c, step, level);
  case Transform::power_sum:
    return add_leaf<Transform::power_sum, kind>(c, step, level);
  case Transform::constant:
    return add_leaf<Transform::constant, kind>(c, step, level);
  default:
    return add_leaf<Transform::identity, kind>(c, step, level);
  }
}

// Replaces the two topmost levels, of which `level` is the lower one.
template <int W, class T> void join_levels(Composition<W, T>& c, StepKind kind, int level) {
  using V = Vec<T>;
  for (index_t r = 0; r < c.n_rows; ++r) {
    V x[W], y[W];
    load_vectors<W>(c.values(level, r), x);
    load_vectors<W>(c.values(level + 1, r), y);
    unroll<W>([&](auto v) { x[v] = kind == StepKind::add ? x[v] + y[v] : x[v] * y[v]; });
    store_vectors<W>(x, c.values(level, r));
  }
}

template <int W, class T>
[[gnu::noinline]] void compose(const Epilogue<T>& e, Composition<W, T>& c) {
  int n_levels = 0;
  for (int s = 0; s < e.n_steps; ++s) {
    const Step<T>& step = e.steps[s];
    if (step.kind != StepKind::value) {
      --n_levels;
      join_levels(c, step.kind, n_levels - 1);
      continue;
    }
    // An operation that comes next is done at once.
    const StepKind next = n_levels > 0 && s + 1 < e.n_steps ? e.steps[s + 1].kind : StepKind::value;
    if (next == StepKind::value)
      add_leaf<StepKind::value>(c, step, n_levels++);
    else if (++s; next == StepKind::add)
      add_leaf<StepKind::add>(c, step, n_levels - 1);
    else
      add_leaf<StepKind::multiply>(c, step, n_levels - 1);
  }
}

} // namespace
} // namespace maxmargin::simd
