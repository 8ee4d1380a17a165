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

// The greatest power of 2 that is at most n > 0.
MAXMARGIN_INLINE int leading_bit(int n) {
  return 1 << (31 - __builtin_clz(static_cast<unsigned>(n)));
}

// The same for W vectors, in place. Powers loop over the bits of the degree once for all.
template <Transform F, int W, class T>
MAXMARGIN_INLINE void transform(Vec<T>* x, const Vec<T>* half_norms, const Leaf<T>& e) {
  using V = Vec<T>;
  if constexpr (F == Transform::power) {
    if (e.degree == 0) return unroll<W>([&](auto v) { x[v] = V::fill(1); });
    V base[W];
    unroll<W>([&](auto v) { base[v] = x[v] = fma(x[v], V::fill(e.scale), V::fill(e.offset)); });
    for (int bit = leading_bit(e.degree) >> 1; bit > 0; bit >>= 1) {
      unroll<W>([&](auto v) { x[v] = x[v] * x[v]; });
      if (e.degree & bit) unroll<W>([&](auto v) { x[v] = x[v] * base[v]; });
    }
  } else {
    unroll<W>([&](auto v) { x[v] = transform<F>(x[v], half_norms[v], e); });
  }
}

// The values that are composed at a time, at most: steps cost little beside them, and a level of
// the stack stays in the first-level cache with the products.
template <class T> inline constexpr index_t kComposed = 6144 / index_t{sizeof(T)};

// Products of n_rows rows with W vectors of others, to be turned into values of a composed kernel
// by passes over all of them. What a pass makes becomes a level of the stack; that of the last one
// goes where the results belong.
template <int W, class T> struct Composition {
  static constexpr index_t width = W * Vec<T>::size;

  const T* dots = nullptr; // row by row
  const T* row_half_norms = nullptr;
  const T* half_norms = nullptr;           // of the others
  const Factors<T>* row_factors = nullptr; // of rows, of which these begin with first_row
  const Factors<T>* factors = nullptr;     // of others, of which these begin with `first`
  index_t first_row = 0, first = 0;
  index_t n_rows = 0;
  T* const* out = nullptr; // n_rows pointers
  index_t column = 0;
  bool is_last_pass = false;
  alignas(64) T stack[kStackDepth][kComposed<T>];
};

template <int W, class T> MAXMARGIN_INLINE void load_vectors(const T* from, Vec<T>* to) {
  unroll<W>([&](auto v) { to[v] = Vec<T>::load(from + v * Vec<T>::size); });
}
template <int W, class T> MAXMARGIN_INLINE void store_vectors(const Vec<T>* from, T* to) {
  unroll<W>([&](auto v) { from[v].store(to + v * Vec<T>::size); });
}

// What a step multiplies a value by: a weight, and, where there are any, the factors of one number
// of all rows and of all others.
template <class T> struct Scale {
  T weight = 1;
  const T* rows = nullptr;
  const T* others = nullptr;

  MAXMARGIN_INLINE bool is_one() const { return weight == T(1) && rows == nullptr; }
};

template <int W, class T>
MAXMARGIN_INLINE Scale<T> scale_of(const Composition<W, T>& c, T weight, int factor) {
  if (factor == kNoFactor) return {weight};
  return {weight, c.row_factors->values + factor * c.row_factors->stride + c.first_row,
          c.factors->values + factor * c.factors->stride + c.first};
}

// x times the scale, in row r. A weight of 1, which is usual, is left out: processors multiply less
// often in a cycle than they add.
template <int W, class T>
MAXMARGIN_INLINE void multiply(Vec<T>* x, const Scale<T>& scale, index_t r) {
  using V = Vec<T>;
  if (scale.rows != nullptr) {
    const V of_row = V::fill(scale.weight * scale.rows[r]);
    unroll<W>([&](auto v) { x[v] = x[v] * (of_row * V::load(scale.others + v * V::size)); });
  } else if (scale.weight != T(1)) {
    unroll<W>([&](auto v) { x[v] = x[v] * V::fill(scale.weight); });
  }
}

// total + x times the scale.
template <int W, class T>
MAXMARGIN_INLINE void add(const Vec<T>* x, const Scale<T>& scale, index_t r, Vec<T>* total) {
  using V = Vec<T>;
  if (scale.rows != nullptr) {
    const V of_row = V::fill(scale.weight * scale.rows[r]);
    unroll<W>([&](auto v) {
      total[v] = fma(x[v], of_row * V::load(scale.others + v * V::size), total[v]);
    });
  } else if (scale.weight != T(1)) {
    unroll<W>([&](auto v) { total[v] = fma(x[v], V::fill(scale.weight), total[v]); });
  } else {
    unroll<W>([&](auto v) { total[v] = total[v] + x[v]; });
  }
}

// What a pass takes: a leaf, and the operation that joins it to the level before, none of a value.
// Where there is a power, its values are taken in place of that level: its few multiplications hide
// beside the long chain of the leaf.
template <class T> struct Pass {
  const Step<T>* leaf = nullptr;
  const Step<T>* power = nullptr;
  const Step<T>* operation = nullptr;
};

// The values of a leaf become the level (StepKind::value), or are added to or multiplied with it.
// Not inlined, since the loop over the steps would not leave it the registers.
template <Transform F, StepKind kind, bool has_power, bool has_factors, int W, class T>
[[gnu::noinline]] void add_leaf(Composition<W, T>& c, int level, const Pass<T>& pass) {
  using V = Vec<T>;
  // Copies, since a store may change, for all that the compiler knows, what is behind a pointer.
  const Leaf<T> leaf = pass.leaf->leaf, power = has_power ? pass.power->leaf : Leaf<T>{};
  const auto scale_of_step = [&](const Step<T>* step, T weight) {
    return scale_of(c, weight, has_factors && step != nullptr ? step->factor : kNoFactor);
  };
  const T weight = pass.leaf->weight * (F == Transform::identity ? leaf.scale : T(1));
  const Scale<T> scale = scale_of_step(pass.leaf, weight);
  const Scale<T> scale_before = scale_of_step(pass.power, has_power ? pass.power->weight : T(1));
  const Scale<T> scale_of_result = scale_of_step(pass.operation, T(1));
  const T *const dots = c.dots, *const row_half_norms = c.row_half_norms;
  T* const values = c.stack[level];
  T* const* const out = c.is_last_pass ? c.out : nullptr;
  const index_t n_rows = c.n_rows, column = c.column;
  V half_norms[W];
  load_vectors<W>(c.half_norms, half_norms);
  for (index_t r = 0; r < n_rows; ++r) {
    const V row_half_norm = V::fill(row_half_norms[r]);
    V x[W], sums[W], before[W];
    load_vectors<W>(dots + r * c.width, x);
    unroll<W>([&](auto v) { sums[v] = half_norms[v] + row_half_norm; });
    if constexpr (has_power) {
      unroll<W>([&](auto v) { before[v] = x[v]; });
      transform<Transform::power, W>(before, sums, power);
    } else if constexpr (kind != StepKind::value) {
      load_vectors<W>(values + r * c.width, before);
    }
    if constexpr (F != Transform::identity) transform<F, W>(x, sums, leaf);
    if constexpr (kind == StepKind::value) {
      multiply<W>(x, scale, r);
    } else if constexpr (kind == StepKind::multiply) {
      multiply<W>(x, scale, r);
      if constexpr (has_power) multiply<W>(before, scale_before, r);
      unroll<W>([&](auto v) { x[v] = x[v] * before[v]; });
    } else if (has_power && scale.is_one()) {
      add<W>(before, scale_before, r, x);
    } else {
      if constexpr (has_power) multiply<W>(before, scale_before, r);
      add<W>(x, scale, r, before);
      unroll<W>([&](auto v) { x[v] = before[v]; });
    }
    if constexpr (has_factors && kind != StepKind::value) multiply<W>(x, scale_of_result, r);
    store_vectors<W>(x, out != nullptr ? out[r] + column : values + r * c.width);
  }
}
template <int W, class T> void add_leaf(Composition<W, T>& c, int level, const Pass<T>& pass) {
  const auto run = [&]<StepKind K, bool has_power, bool has_factors>() {
    switch (pass.leaf->leaf.transform) {
    case Transform::exponential:
      return add_leaf<Transform::exponential, K, has_power, has_factors>(c, level, pass);
    case Transform::tanh:
      return add_leaf<Transform::tanh, K, has_power, has_factors>(c, level, pass);
    case Transform::power_sum:
      return add_leaf<Transform::power_sum, K, has_power, has_factors>(c, level, pass);
    case Transform::identity: // with a power, it is the first power
      if constexpr (!has_power)
        return add_leaf<Transform::identity, K, has_power, has_factors>(c, level, pass);
      [[fallthrough]];
    default:
      return add_leaf<Transform::power, K, has_power, has_factors>(c, level, pass);
    }
  };
  const auto run_with = [&]<StepKind K, bool has_power>() {
    const auto has_factor = [](const Step<T>* step) {
      return step != nullptr && step->factor != kNoFactor;
    };
    return has_factor(pass.leaf) || has_factor(pass.power) || has_factor(pass.operation)
               ? run.template operator()<K, has_power, true>()
               : run.template operator()<K, has_power, false>();
  };
  if (pass.operation == nullptr) return run_with.template operator()<StepKind::value, false>();
  if (pass.operation->kind == StepKind::add)
    return pass.power != nullptr ? run_with.template operator()<StepKind::add, true>()
                                 : run_with.template operator()<StepKind::add, false>();
  return pass.power != nullptr ? run_with.template operator()<StepKind::multiply, true>()
                               : run_with.template operator()<StepKind::multiply, false>();
}

// Replaces the two topmost levels, of which `level` is the lower one.
template <int W, class T>
void join_levels(Composition<W, T>& c, int level, const Step<T>& operation) {
  using V = Vec<T>;
  const bool is_sum = operation.kind == StepKind::add;
  const Scale<T> scale = scale_of(c, T(1), operation.factor);
  for (index_t r = 0; r < c.n_rows; ++r) {
    T* const values = c.stack[level] + r * c.width;
    V x[W], y[W];
    load_vectors<W>(values, x);
    load_vectors<W>(c.stack[level + 1] + r * c.width, y);
    unroll<W>([&](auto v) { x[v] = is_sum ? x[v] + y[v] : x[v] * y[v]; });
    multiply<W>(x, scale, r);
    store_vectors<W>(x, c.is_last_pass ? c.out[r] + c.column : values);
  }
}

template <class T> MAXMARGIN_INLINE bool is_power(const Step<T>& step) {
  return step.leaf.transform == Transform::power || step.leaf.transform == Transform::identity;
}

template <int W, class T>
[[gnu::noinline]] void compose(const Epilogue<T>& e, Composition<W, T>& c) {
  const auto kind_of = [&](int s) { return s < e.n_steps ? e.steps[s].kind : StepKind::value; };
  int s = 0, n_levels = 0;
  const auto take = [&](int n_steps) {
    s += n_steps;
    c.is_last_pass = s == e.n_steps;
  };
  while (s < e.n_steps) {
    const Step<T>* const step = e.steps + s;
    const StepKind next = kind_of(s + 1), second_next = kind_of(s + 2);
    if (step->kind != StepKind::value) {
      take(1);
      --n_levels;
      join_levels(c, n_levels - 1, *step);
    } else if (next != StepKind::value) { // with the level before
      take(2);
      add_leaf(c, n_levels - 1, Pass<T>{.leaf = step, .operation = step + 1});
    } else if (second_next != StepKind::value && (is_power(step[0]) || is_power(step[1]))) {
      take(3);
      const int p = is_power(step[0]) ? 0 : 1;
      add_leaf(c, n_levels++, Pass<T>{step + 1 - p, step + p, step + 2});
    } else {
      take(1);
      add_leaf(c, n_levels++, Pass<T>{.leaf = step});
    }
  }
}

} // namespace
} // namespace maxmargin::simd
