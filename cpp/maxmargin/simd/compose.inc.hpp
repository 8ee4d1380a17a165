// Compositions of functions of products.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/transform.inc.hpp"

namespace maxmargin::simd {
namespace {

template <int W, class T> MAXMARGIN_INLINE void load_vectors(const T* from, Vec<T>* to) {
  unroll<W>([&](auto v) { to[v] = Vec<T>::load(from + v * Vec<T>::size); });
}
template <int W, class T> MAXMARGIN_INLINE void store_vectors(const Vec<T>* from, T* to) {
  unroll<W>([&](auto v) { from[v].store(to + v * Vec<T>::size); });
}

// The factors of a block's rows, of which these begin with first_row, and of W vectors of others,
// which begin with `first`.
template <class T> struct BlockFactors {
  const Factors<T>* rows = nullptr;
  const Factors<T>* others = nullptr;
  index_t first_row = 0, first = 0;
};

// What a step multiplies a value by: a weight, and, where there are any, the factors of one number
// of all rows and of all others. A weight of 1, which is usual, is left out: processors multiply
// less often in a cycle than they add.
template <int W, class T> struct Scale {
  using V = Vec<T>;

  Scale() = default;
  MAXMARGIN_INLINE Scale(const BlockFactors<T>& factors, T w, int factor) : weight(w) {
    if (factor == kNoFactor) return;
    rows = factors.rows->values + factor * factors.rows->stride + factors.first_row;
    load_vectors<W>(factors.others->values + factor * factors.others->stride + factors.first,
                    others);
    unroll<W>([&](auto v) { others[v] = others[v] * V::fill(w); });
  }

  // x times the scale, in row r.
  template <bool has_factors = true, int N = W>
  MAXMARGIN_INLINE void multiply(V* x, index_t r, int first = 0) const {
    if (has_factors && rows != nullptr) {
      const V of_row = V::fill(rows[r]);
      unroll<N>([&](auto v) { x[v] = x[v] * (of_row * others[first + v]); });
    } else if (weight != T(1)) {
      unroll<N>([&](auto v) { x[v] = x[v] * V::fill(weight); });
    }
  }

  // x times the scale, in row r, plus y, in place of x.
  template <bool has_factors = true> MAXMARGIN_INLINE void fuse(V* x, const V* y, index_t r) const {
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
// multiplications hide beside the long chain of the first, or an exponential beside another.
// Without a leaf, the operation joins the two topmost levels.
template <class T> struct PassSteps {
  const Step<T>* leaf = nullptr;
  const Step<T>* beside = nullptr;
  const Step<T>* operation = nullptr;
  int count = 0;
};
enum class Beside { nothing, power, exponential };

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

// What makes the values of a kernel: its transform alone; products times a scale; one pass; or any
// number of them.
enum class Form { plain, scaled, joined, composed };
template <class T> MAXMARGIN_INLINE Form form_of(const Epilogue<T>& e) {
  if (e.transform != Transform::composed) return Form::plain;
  if (e.n_steps == 1 && e.steps[0].leaf.transform == Transform::identity) return Form::scaled;
  return pass_from(e, 0).count == e.n_steps ? Form::joined : Form::composed;
}

// What a leaf's value is multiplied by; the scale of products themselves is part of it.
template <int W, class T>
MAXMARGIN_INLINE Scale<W, T> scale_of_leaf(const Step<T>& step, const BlockFactors<T>& factors) {
  const Leaf<T>& leaf = step.leaf;
  return {factors, leaf.transform == Transform::identity ? step.weight * leaf.scale : step.weight,
          step.factor};
}

template <class T> MAXMARGIN_INLINE bool has_factors(const PassSteps<T>& steps) {
  const auto has_factor = [](const Step<T>* step) {
    return step != nullptr && step->factor != kNoFactor;
  };
  return has_factor(steps.leaf) || has_factor(steps.beside) || has_factor(steps.operation);
}

// What a leaf's pass is like: as types where loops over rows shall not ask, or as numbers.
template <StepKind kind_, Beside beside_, bool has_factors_> struct FixedShape {
  static constexpr StepKind kind = kind_;
  static constexpr Beside beside = beside_;
  static constexpr bool has_factors = has_factors_;
};
struct AnyShape {
  StepKind kind = StepKind::value;
  Beside beside = Beside::nothing;
  static constexpr bool has_factors = true;
};
template <class T> MAXMARGIN_INLINE Beside beside_of(const PassSteps<T>& steps) {
  if (steps.beside == nullptr) return Beside::nothing;
  return is_power(*steps.beside) ? Beside::power : Beside::exponential;
}
template <class T> MAXMARGIN_INLINE StepKind kind_of(const PassSteps<T>& steps) {
  return steps.operation != nullptr ? steps.operation->kind : StepKind::value;
}

// Calls run(shape) with the shape of a leaf's pass: of one that makes all values, which has no
// level before it, or of any.
template <bool IsWhole, class T, class Run>
MAXMARGIN_INLINE auto with_shape(const PassSteps<T>& steps, const Run& run) {
  const auto with = [&]<StepKind kind, Beside beside>() {
    return has_factors(steps) ? run(FixedShape<kind, beside, true>{})
                              : run(FixedShape<kind, beside, false>{});
  };
  const Beside beside = beside_of(steps);
  const auto join = [&]<StepKind kind>() {
    if constexpr (!IsWhole)
      if (beside == Beside::nothing) return with.template operator()<kind, Beside::nothing>();
    if (beside == Beside::exponential) return with.template operator()<kind, Beside::exponential>();
    return with.template operator()<kind, Beside::power>();
  };
  const StepKind kind = kind_of(steps);
  if (kind == StepKind::value) return with.template operator()<StepKind::value, Beside::nothing>();
  if (kind == StepKind::add) return join.template operator()<StepKind::add>();
  return join.template operator()<StepKind::multiply>();
}

// A leaf's pass as the loop over rows needs it. (Copies, since a store may change, for all that the
// compiler knows, what is behind a pointer.)
template <class Shape, int W, class T> struct Join {
  MAXMARGIN_INLINE Join(const PassSteps<T>& steps, const BlockFactors<T>& factors, Shape s)
      : shape(s), leaf(steps.leaf->leaf),
        beside((steps.beside != nullptr ? steps.beside : steps.leaf)->leaf),
        of_leaf(scale_of_leaf<W>(*steps.leaf, factors)) {
    if (steps.operation != nullptr) of_result = {factors, T(1), steps.operation->factor};
    if (steps.beside == nullptr) return;
    if (beside.transform == Transform::identity) beside.degree = 1;
    of_beside = {factors, steps.beside->weight, steps.beside->factor};
  }

  Shape shape;
  JoinedLeaf<T> leaf, beside;
  Scale<W, T> of_leaf, of_beside, of_result;
};

// The values of a pass in row r, out of products x and the sums of half norms; `before` has those
// of the level before.
template <Transform F, class Shape, int W, class T>
MAXMARGIN_INLINE void join_values(Vec<T>* x, const Vec<T>* sums, const T* before,
                                  const Join<Shape, W, T>& join, index_t r) {
  constexpr bool has_factors = Shape::has_factors;
  const Shape& shape = join.shape;
  const bool has_power = shape.beside == Beside::power;
  Vec<T> a[W], b[W];
  unroll<W>([&](auto v) { a[v] = b[v] = x[v]; });
  if (has_power) power_factors<W>(x, join.beside, a, b);
  if (F == Transform::exponential && shape.beside == Beside::exponential)
    exponentials<W>(x, a, sums, join.leaf, join.beside);
  else
    transform<F, W>(x, sums, join.leaf);
  if (shape.beside != Beside::nothing) join.of_beside.template multiply<has_factors>(a, r);
  const bool is_sum = shape.kind == StepKind::add;
  if (!is_sum || has_power) join.of_leaf.template multiply<has_factors>(x, r);
  if (shape.kind == StepKind::value) return;
  if (shape.beside == Beside::nothing) load_vectors<W>(before, a);
  if (is_sum && has_power)
    unroll<W>([&](auto v) { x[v] = fma(a[v], b[v], x[v]); });
  else if (is_sum)
    join.of_leaf.template fuse<has_factors>(x, a, r);
  else if (has_power)
    unroll<W>([&](auto v) { x[v] = x[v] * (a[v] * b[v]); });
  else
    unroll<W>([&](auto v) { x[v] = x[v] * a[v]; });
  if (has_factors) join.of_result.template multiply<has_factors>(x, r);
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
  const T* half_norms = nullptr; // of the others
  BlockFactors<T> factors;
  index_t n_rows = 0;
  T* const* out = nullptr; // n_rows pointers
  index_t column = 0;
  alignas(64) T stack[kStackDepth][kComposed<T>];
};

template <int W, class T> struct Pass {
  PassSteps<T> steps;
  int level = 0; // that it makes or changes
  bool is_last = false;
  void (*run)(Composition<W, T>&, const Pass&) = nullptr;
};

// Not inlined, since the loop over the steps would not leave it the registers.
template <Transform F, class Shape, int W, class T>
[[gnu::noinline]] void take_leaf(Composition<W, T>& c, const Pass<W, T>& pass) {
  using V = Vec<T>;
  const Join<Shape, W, T> join(pass.steps, c.factors, Shape{});
  const T *const dots = c.dots, *const row_half_norms = c.row_half_norms;
  T* const values = c.stack[pass.level];
  T* const* const out = pass.is_last ? c.out : nullptr;
  const index_t n_rows = c.n_rows, column = c.column;
  V half_norms[W];
  load_vectors<W>(c.half_norms, half_norms);
  for (index_t r = 0; r < n_rows; ++r) {
    const V row_half_norm = V::fill(row_half_norms[r]);
    V x[W], sums[W];
    load_vectors<W>(dots + r * c.width, x);
    unroll<W>([&](auto v) { sums[v] = half_norms[v] + row_half_norm; });
    join_values<F>(x, sums, values + r * c.width, join, r);
    store_vectors<W>(x, out != nullptr ? out[r] + column : values + r * c.width);
  }
}

// Replaces the two topmost levels.
template <int W, class T> void join_levels(Composition<W, T>& c, const Pass<W, T>& pass) {
  using V = Vec<T>;
  const bool is_sum = pass.steps.operation->kind == StepKind::add;
  const Scale<W, T> scale(c.factors, T(1), pass.steps.operation->factor);
  for (index_t r = 0; r < c.n_rows; ++r) {
    T* const values = c.stack[pass.level] + r * c.width;
    V x[W], y[W];
    load_vectors<W>(values, x);
    load_vectors<W>(c.stack[pass.level + 1] + r * c.width, y);
    unroll<W>([&](auto v) { x[v] = is_sum ? x[v] + y[v] : x[v] * y[v]; });
    scale.multiply(x, r);
    store_vectors<W>(x, pass.is_last ? c.out[r] + c.column : values);
  }
}

// What does a pass.
template <int W, class T> auto runner_of(const PassSteps<T>& steps) {
  using Run = void (*)(Composition<W, T>&, const Pass<W, T>&);
  if (steps.leaf == nullptr) return Run{join_levels<W, T>};
  return with_shape<false>(steps, [&]<class Shape>(Shape) -> Run {
    if constexpr (Shape::beside == Beside::exponential)
      return take_leaf<Transform::exponential, Shape, W, T>;
    switch (steps.leaf->leaf.transform) {
    case Transform::exponential:
      return take_leaf<Transform::exponential, Shape, W, T>;
    case Transform::tanh:
      return take_leaf<Transform::tanh, Shape, W, T>;
    case Transform::power_sum:
      return take_leaf<Transform::power_sum, Shape, W, T>;
    case Transform::identity:
      return take_leaf<Transform::identity, Shape, W, T>;
    default:
      return take_leaf<Transform::power, Shape, W, T>;
    }
  });
}

// The passes that make the values of a composed kernel, found once for many batches of products.
template <int W, class T> struct Passes {
  explicit Passes(const Epilogue<T>& e) {
    int n_levels = 0;
    for (int s = 0; s < e.n_steps; s += passes[n++].steps.count) {
      Pass<W, T>& pass = passes[n];
      pass.steps = pass_from(e, s);
      const bool adds_level = pass.steps.leaf != nullptr && pass.steps.count != 2;
      if (adds_level) ++n_levels;
      if (pass.steps.leaf == nullptr) --n_levels;
      pass.level = n_levels - 1;
      pass.is_last = s + pass.steps.count == e.n_steps;
      pass.run = runner_of<W>(pass.steps);
    }
  }

  void run(Composition<W, T>& c) const {
    for (int k = 0; k < n; ++k) passes[k].run(c, passes[k]);
  }

  int n = 0;
  Pass<W, T> passes[kMostSteps];
};

} // namespace
} // namespace maxmargin::simd
