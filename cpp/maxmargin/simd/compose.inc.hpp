// Kernel values out of products: one pass over a batch of them for a plain kernel, one or more for
// a composition of several.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/transform.inc.hpp"

namespace maxmargin::simd {
namespace {

// Vectors in a line of 64 bytes, which passes take at a time.
inline constexpr int kVecsPerLine = 64 / MAXMARGIN_VEC_BYTES;

template <int W, class T> MAXMARGIN_INLINE void load_vectors(const T* from, Vec<T>* to) {
  unroll<W>([&](auto v) { to[v] = Vec<T>::load(from + v * Vec<T>::size); });
}
template <int W, class T> MAXMARGIN_INLINE void store_vectors(const Vec<T>* from, T* to) {
  unroll<W>([&](auto v) { from[v].store(to + v * Vec<T>::size); });
}

// The factors of a block's rows, of which these begin with first_row, and of lines of others, which
// begin with `first`.
template <class T> struct BlockFactors {
  const Factors<T>* rows = nullptr;
  const Factors<T>* others = nullptr;
  index_t first_row = 0, first = 0;
};

// What a step multiplies a value by: a weight, and, where there are any, the factors of one number
// of all rows and of a line of others. A weight of 1, which is usual, is left out: processors
// multiply less often in a cycle than they add.
template <class T> struct Scale {
  using V = Vec<T>;
  static constexpr int W = kVecsPerLine;

  Scale() = default;
  MAXMARGIN_INLINE Scale(const BlockFactors<T>& factors, index_t l, T w, int factor) : weight(w) {
    if (factor == kNoFactor) return;
    rows = factors.rows->values + factor * factors.rows->stride + factors.first_row;
    load_vectors<W>(factors.others->values + factor * factors.others->stride + factors.first +
                        l * kLane<T>,
                    others);
    unroll<W>([&](auto v) { others[v] = others[v] * V::fill(w); });
  }

  // x times the scale, in row r.
  template <bool has_factors = true> MAXMARGIN_INLINE void multiply(V* x, index_t r) const {
    if (has_factors && rows != nullptr) {
      const V of_row = V::fill(rows[r]);
      unroll<W>([&](auto v) { x[v] = x[v] * (of_row * others[v]); });
    } else if (weight != T(1)) {
      unroll<W>([&](auto v) { x[v] = x[v] * V::fill(weight); });
    }
  }

  // x times the scale, in row r, plus y, in place of x.
  template <bool has_factors> MAXMARGIN_INLINE void fuse(V* x, const V* y, index_t r) const {
    if (has_factors && rows != nullptr) {
      const V of_row = V::fill(rows[r]);
      unroll<W>([&](auto v) { x[v] = fma(x[v], of_row * others[v], y[v]); });
    } else {
      unroll<W>([&](auto v) { x[v] = fma(x[v], V::fill(weight), y[v]); });
    }
  }

  T weight = 1;
  const T* rows = nullptr;
  V others[W] = {}; // times the weight
};

// The steps that are done in one pass over products: a leaf, and the operation that joins it to the
// level before, none of a value. Another leaf may take the place of that level: a power, whose few
// multiplications hide in the latency of the long chain of the first, or a second exponential.
// Without a leaf, the operation joins the two topmost levels.
template <class T> struct PassSteps {
  const Step<T>* leaf;
  const Step<T>* second;
  const Step<T>* operation;
  int count;
};
enum class Second { nothing, power, exponential };

template <class T> MAXMARGIN_INLINE bool is_power(const Step<T>& step) {
  return step.leaf.transform == Transform::power || step.leaf.transform == Transform::identity;
}
template <class T> MAXMARGIN_INLINE bool is_exponential(const Step<T>& step) {
  return step.leaf.transform == Transform::exponential;
}

// Those from step s on.
template <class T> MAXMARGIN_INLINE PassSteps<T> pass_from(const Epilogue<T>& e, int s) {
  const auto is_operation = [&](int k) {
    return k < e.n_steps && e.steps[k].kind != StepKind::value;
  };
  const Step<T>* const step = e.steps + s;
  if (is_operation(s)) return {nullptr, nullptr, step, 1};
  if (is_operation(s + 1)) return {step, nullptr, step + 1, 2}; // with the level before
  if (is_operation(s + 2)) {
    if (is_power(step[0])) return {step + 1, step, step + 2, 3};
    if (is_power(step[1])) return {step, step + 1, step + 2, 3};
    if (is_exponential(step[0]) && is_exponential(step[1])) return {step + 1, step, step + 2, 3};
  }
  return {step, nullptr, nullptr, 1};
}

template <class T> MAXMARGIN_INLINE bool has_factors(const PassSteps<T>& steps) {
  const auto has_factor = [](const Step<T>* step) {
    return step != nullptr && step->factor != kNoFactor;
  };
  return has_factor(steps.leaf) || has_factor(steps.second) || has_factor(steps.operation);
}

// What a leaf's pass is like, as a type, since loops over rows shall not ask.
template <StepKind kind_, Second second_, bool has_factors_> struct Shape {
  static constexpr StepKind kind = kind_;
  static constexpr Second second = second_;
  static constexpr bool has_factors = has_factors_;
};

// Calls run(shape) with the shape of a leaf's pass.
template <class T, class Run>
MAXMARGIN_INLINE auto with_shape(const PassSteps<T>& steps, const Run& run) {
  const auto with = [&]<StepKind kind, Second second>() {
    return has_factors(steps) ? run(Shape<kind, second, true>{})
                              : run(Shape<kind, second, false>{});
  };
  const auto join = [&]<StepKind kind>() {
    if (steps.second == nullptr) return with.template operator()<kind, Second::nothing>();
    return is_power(*steps.second) ? with.template operator()<kind, Second::power>()
                                   : with.template operator()<kind, Second::exponential>();
  };
  if (steps.operation == nullptr)
    return with.template operator()<StepKind::value, Second::nothing>();
  return steps.operation->kind == StepKind::add ? join.template operator()<StepKind::add>()
                                                : join.template operator()<StepKind::multiply>();
}

// Products of n_rows rows with lines of others, to be turned into kernel values by passes over all
// of them. What a pass makes becomes a level of the stack; that of the last one goes where the
// results belong. As many are taken at a time as stay in the first-level cache with the levels.
template <class T> inline constexpr index_t kBatch = 6144 / index_t{sizeof(T)};

template <class T> struct Batch {
  // The place of line l of the others in row 0.
  MAXMARGIN_INLINE index_t place(index_t l) const {
    return l / MAXMARGIN_TILE_PANELS * strip_stride + l % MAXMARGIN_TILE_PANELS * kLane<T>;
  }
  MAXMARGIN_INLINE const T* half_norms(index_t l) const { return others[l] + half_norms_at; }
  MAXMARGIN_INLINE T* result(index_t l, index_t r) const {
    return out != nullptr ? out[r] + column + l * kLane<T> : dots + place(l) + r * row_stride;
  }

  T* dots = nullptr;                  // strips of as many lines as a tile has, row by row
  const T* of_exponentials = nullptr; // those of which a composed kernel takes exponentials
  index_t strip_stride = 0, row_stride = 0;
  index_t n_rows = 0, n_lines = 0;
  const T* row_half_norms = nullptr;
  const T* const* others = nullptr; // their lines; behind each, at an offset, are its half norms
  index_t half_norms_at = 0;
  BlockFactors<T> factors;
  T* const* out = nullptr; // n_rows pointers; null: in place of the products
  index_t column = 0;
  alignas(64) T stack[kStackDepth][kBatch<T>];
};

template <class T> struct Pass {
  void (*run)(Batch<T>&, const Pass&);
  const Leaf<T>* plain; // a kernel that is not composed
  PassSteps<T> steps;   // of one that is
  int level;            // that the steps make or change
  bool is_last;
};

// The values of a plain kernel, in L lines of the others at a time. (Copies, since a store may
// change, for all that the compiler knows, what is behind a pointer.)
template <Transform F, int L, class T>
MAXMARGIN_INLINE void take_strip(const Batch<T>& batch, const Leaf<T> leaf, index_t l) {
  using V = Vec<T>;
  constexpr int W = L * kVecsPerLine;
  const T *dots = batch.dots + batch.place(l), *const row_half_norms = batch.row_half_norms;
  const index_t n_rows = batch.n_rows, row_stride = batch.row_stride;
  V half_norms[W];
  unroll<L>([&](auto k) {
    load_vectors<kVecsPerLine>(batch.half_norms(l + k), half_norms + k * kVecsPerLine);
  });
  for (index_t r = 0; r < n_rows; ++r, dots += row_stride) {
    const V row_half_norm = V::fill(row_half_norms[r]);
    V x[W], sums[W];
    load_vectors<W>(dots, x);
    unroll<W>([&](auto v) { sums[v] = half_norms[v] + row_half_norm; });
    transform<F, W>(x, sums, leaf);
    store_vectors<W>(x, batch.result(l, r));
  }
}
template <Transform F, class T>
[[gnu::noinline]] void take_plain(Batch<T>& batch, const Pass<T>& pass) {
  constexpr int P = MAXMARGIN_TILE_PANELS;
  index_t l = 0;
  for (; l + P <= batch.n_lines; l += P) take_strip<F, P>(batch, *pass.plain, l);
  if constexpr (P > 1)
    if (l < batch.n_lines) take_strip<F, 1>(batch, *pass.plain, l);
}

template <class T> struct Scales {
  Scale<T> of_leaf, of_second, of_result;
};

// The values of a leaf's pass in row r of a line, from products x and exponents, which are products
// less half norms; `before` has those of the level before.
template <Transform F, class S, class T>
MAXMARGIN_INLINE void join_values(Vec<T>* x, const Vec<T>* exponents, const T* before,
                                  const JoinedLeaf<T>& leaf, const JoinedLeaf<T>& second,
                                  const Scales<T>& scales, index_t r) {
  constexpr int W = kVecsPerLine;
  constexpr bool has_factors = S::has_factors, has_power = S::second == Second::power;
  constexpr bool is_sum = S::kind == StepKind::add;
  Vec<T> a[W], b[W];
  unroll<W>([&](auto v) { a[v] = b[v] = x[v]; });
  if constexpr (has_power) power_factors<W>(x, second, a, b);
  if constexpr (S::second == Second::exponential)
    exponentials<W>(x, a, exponents, leaf, second);
  else
    transform<F, W>(x, exponents, leaf);
  if constexpr (S::second != Second::nothing) scales.of_second.template multiply<has_factors>(a, r);
  if constexpr (!is_sum || has_power) scales.of_leaf.template multiply<has_factors>(x, r);
  if constexpr (S::kind == StepKind::value) return;
  if constexpr (S::second == Second::nothing) load_vectors<W>(before, a);
  if constexpr (is_sum && has_power)
    unroll<W>([&](auto v) { x[v] = fma(a[v], b[v], x[v]); });
  else if constexpr (is_sum)
    scales.of_leaf.template fuse<has_factors>(x, a, r);
  else if constexpr (has_power)
    unroll<W>([&](auto v) { x[v] = x[v] * (a[v] * b[v]); });
  else
    unroll<W>([&](auto v) { x[v] = x[v] * a[v]; });
  if constexpr (has_factors) scales.of_result.template multiply<has_factors>(x, r);
}

// Not inlined, since the loop over the steps would not leave it the registers.
template <Transform F, class S, class T>
[[gnu::noinline]] void take_leaf(Batch<T>& batch, const Pass<T>& pass) {
  using V = Vec<T>;
  constexpr int W = kVecsPerLine;
  const PassSteps<T> steps = pass.steps;
  const JoinedLeaf<T> leaf(steps.leaf->leaf);
  JoinedLeaf<T> second((steps.second != nullptr ? steps.second : steps.leaf)->leaf);
  if (second.transform == Transform::identity) second.degree = 1;
  const T *const dots = batch.dots, *const of_exponentials = batch.of_exponentials;
  const T* const row_half_norms = batch.row_half_norms;
  T* const values = batch.stack[pass.level];
  const bool is_last = pass.is_last;
  const index_t n_rows = batch.n_rows, row_stride = batch.row_stride;
  for (index_t l = 0; l < batch.n_lines; ++l) {
    // The scale of products themselves is part of what they are multiplied by.
    const T weight = steps.leaf->weight * (F == Transform::identity ? leaf.scale : T(1));
    Scales<T> scales;
    scales.of_leaf = {batch.factors, l, weight, steps.leaf->factor};
    if (steps.operation != nullptr)
      scales.of_result = {batch.factors, l, T(1), steps.operation->factor};
    if (steps.second != nullptr)
      scales.of_second = {batch.factors, l, steps.second->weight, steps.second->factor};
    V half_norms[W];
    load_vectors<W>(batch.half_norms(l), half_norms);
    index_t at = batch.place(l);
    for (index_t r = 0; r < n_rows; ++r, at += row_stride) {
      const V row_half_norm = V::fill(row_half_norms[r]);
      V x[W], exponents[W];
      load_vectors<W>(dots + at, x);
      load_vectors<W>(of_exponentials + at, exponents);
      unroll<W>([&](auto v) { exponents[v] = exponents[v] - (half_norms[v] + row_half_norm); });
      join_values<F, S>(x, exponents, values + at, leaf, second, scales, r);
      store_vectors<W>(x, is_last ? batch.result(l, r) : values + at);
    }
  }
}

// Replaces the two topmost levels.
template <class T> void join_levels(Batch<T>& batch, const Pass<T>& pass) {
  using V = Vec<T>;
  constexpr int W = kVecsPerLine;
  const bool is_sum = pass.steps.operation->kind == StepKind::add;
  for (index_t l = 0; l < batch.n_lines; ++l) {
    const Scale<T> scale(batch.factors, l, T(1), pass.steps.operation->factor);
    index_t at = batch.place(l);
    for (index_t r = 0; r < batch.n_rows; ++r, at += batch.row_stride) {
      T* const values = batch.stack[pass.level] + at;
      V x[W], y[W];
      load_vectors<W>(values, x);
      load_vectors<W>(batch.stack[pass.level + 1] + at, y);
      unroll<W>([&](auto v) { x[v] = is_sum ? x[v] + y[v] : x[v] * y[v]; });
      scale.multiply(x, r);
      store_vectors<W>(x, pass.is_last ? batch.result(l, r) : values);
    }
  }
}

// Calls run<F>() for the transform F.
template <class Run> MAXMARGIN_INLINE auto with_transform(Transform transform, const Run& run) {
  switch (transform) {
  case Transform::exponential:
    return run.template operator()<Transform::exponential>();
  case Transform::tanh:
    return run.template operator()<Transform::tanh>();
  case Transform::power_sum:
    return run.template operator()<Transform::power_sum>();
  case Transform::power:
    return run.template operator()<Transform::power>();
  default:
    return run.template operator()<Transform::identity>();
  }
}

// What does a pass of a composed kernel.
template <class T> auto runner_of(const PassSteps<T>& steps) {
  using Run = void (*)(Batch<T>&, const Pass<T>&);
  if (steps.leaf == nullptr) return Run{join_levels<T>};
  return with_shape(steps, [&]<class S>(S) -> Run {
    if constexpr (S::second == Second::exponential)
      return take_leaf<Transform::exponential, S, T>;
    else
      return with_transform(steps.leaf->leaf.transform,
                            []<Transform F>() -> Run { return take_leaf<F, S, T>; });
  });
}

// The passes that make the values of a kernel, found once for many batches of products.
template <class T> struct Passes {
  explicit Passes(const Epilogue<T>& e) {
    if (e.transform != Transform::composed)
      passes[n++] = {with_transform(e.transform, []<Transform F>() { return take_plain<F, T>; }),
                     &e,
                     {},
                     0,
                     true};
    int n_levels = 0;
    for (int s = 0; s < e.n_steps; s += passes[n - 1].steps.count) {
      const PassSteps<T> steps = pass_from(e, s);
      const bool adds_level = steps.leaf != nullptr && steps.count != 2;
      if (adds_level) ++n_levels;
      if (steps.leaf == nullptr) --n_levels;
      const bool is_last = s + steps.count == e.n_steps;
      passes[n++] = {runner_of(steps), nullptr, steps, n_levels - 1, is_last};
    }
  }

  void run(Batch<T>& batch) const {
    for (int k = 0; k < n; ++k) passes[k].run(batch, passes[k]);
  }

  int n = 0;
  Pass<T> passes[kMostSteps]; // those beyond the first n are left as they are
};

} // namespace
} // namespace maxmargin::simd
