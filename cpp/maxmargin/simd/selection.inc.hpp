// Masked reductions over the variables: the selection of a working pair.
#pragma once

#include "maxmargin/simd/kernel_table.hpp"
#include "maxmargin/simd/vec.hpp"

namespace maxmargin::simd {
namespace {

// Lanes keep the best value and the position where each was first met; the reduction at the end
// prefers the lowest position among equals, so that the choice does not depend on the vector's
// width.
template <class T> struct BestLanes {
  using V = Vec<T>;
  V value = V::fill(-__builtin_inf());
  V position = V::fill(-1);

  MAXMARGIN_INLINE void offer(V candidate, V at) {
    const typename V::Mask better = candidate > value;
    value = select(better, candidate, value);
    position = select(better, at, position);
  }
  MAXMARGIN_INLINE index_t reduce(T& best) const {
    best = greatest_lane(value);
    const typename V::Mask is_best = value.raw == V::fill(best).raw;
    return static_cast<index_t>(least_lane(select(is_best, position, V::fill(__builtin_inf()))));
  }
};

template <class T> MAXMARGIN_INLINE Vec<T> lane_numbers() {
  Vec<T> v;
  for (int lane = 0; lane < Vec<T>::size; ++lane) v.raw[lane] = static_cast<T>(lane);
  return v;
}

// Requires: the arrays are readable up to n rounded up to a line, with lower == upper == beta
// beyond n (such variables are never candidates).
Violation select_first(const PairView& view) {
  using V = Vec<double>;
  const V infinity = V::fill(__builtin_inf());
  BestLanes<double> best;
  V low = infinity;
  V position = lane_numbers<double>();
  for (index_t t = 0; t < view.n; t += V::size) {
    const V beta = V::load(view.beta + t), descent = V::zero() - V::load(view.gradient + t);
    best.offer(select(beta < V::load(view.upper + t), descent, V::zero() - infinity), position);
    low = min(low, select(beta > V::load(view.lower + t), descent, infinity));
    position = position + V::fill(V::size);
  }
  Violation result{};
  result.i = best.reduce(result.up);
  result.low = least_lane(low);
  return result;
}

index_t find_violators(const PairView& view, double up, double low, std::int32_t* places) {
  using V = Vec<double>;
  const V highest = V::fill(up), lowest = V::fill(low);
  index_t count = 0;
  for (index_t t = 0; t < view.n; t += V::size) {
    const V beta = V::load(view.beta + t), descent = V::zero() - V::load(view.gradient + t);
    const V::Mask found = ((descent > highest) & (beta < V::load(view.upper + t))) |
                          ((descent < lowest) & (beta > V::load(view.lower + t)));
    if (!any(found)) continue;
    for (int lane = 0; lane < V::size && t + lane < view.n; ++lane) {
      places[count] = static_cast<std::int32_t>(t + lane);
      count += found[lane] != 0;
    }
  }
  return count;
}

// The bits of the variables from t on, a vector's or a few more.
MAXMARGIN_INLINE unsigned bits_at(const std::uint8_t* bits, index_t t) {
  return static_cast<unsigned>(bits[t / 8]) >> (t % 8);
}

// The first of the variables from `begin` on that may grow and descends by `up`; there is one.
MAXMARGIN_INLINE index_t first_with(const StepView& view, index_t begin, double up) {
  using V = Vec<double>;
  const V nothing = V::fill(-__builtin_inf());
  for (index_t t = begin;; t += V::size) {
    const V descent = V::zero() - V::load(view.gradient + t);
    const V::Mask found =
        select_bits(bits_at(view.may_grow, t), descent, nothing).raw == V::fill(up).raw;
    if (any(found))
      return t + static_cast<index_t>(
                     least_lane(select(found, lane_numbers<double>(), V::fill(V::size))));
  }
}

// Keeping positions for every vector would take longer than the sums: chunks have them, and the
// best one is looked through again. What is left over has a position for every variable.
template <class T>
Violation update_pair(const StepView& view, const T* row_i, const T* row_j, double delta) {
  using V = Vec<double>;
  constexpr int chunk = 32;
  const V infinity = V::fill(__builtin_inf()), nothing = V::zero() - infinity;
  const V step = V::fill(delta);
  double* const gradient = view.gradient; // apart from the view, which is not changed by writing it
  const std::uint8_t *const may_grow = view.may_grow, *const may_fall = view.may_fall;
  BestLanes<double> best;
  V low = infinity;
  index_t t = 0;
  const auto take = [&](auto n_vectors, V position) {
    V up = nothing;
    unroll<decltype(n_vectors)::value>([&](auto v) {
      const index_t at = t + v * V::size;
      V g = V::load(gradient + at);
      g = fma(step, load_as<double>(row_i + at) - load_as<double>(row_j + at), g);
      g.store(gradient + at);
      const V descent = V::zero() - g;
      up = max(up, select_bits(bits_at(may_grow, at), descent, nothing));
      low = min(low, select_bits(bits_at(may_fall, at), descent, infinity));
    });
    best.offer(up, V::fill(static_cast<double>(t)) + position);
  };
  for (; t + chunk <= view.n; t += chunk) take(Constant<chunk / V::size>{}, V::zero());
  const index_t end_of_chunks = t;
  for (; t < view.n; t += V::size) take(Constant<1>{}, lane_numbers<double>());
  Violation result{};
  result.i = best.reduce(result.up);
  if (result.i >= 0 && result.i < end_of_chunks) result.i = first_with(view, result.i, result.up);
  result.low = least_lane(low);
  return result;
}

// The slopes of as many variables as a vector of T holds, as shares of the largest.
MAXMARGIN_INLINE void load_slopes(const double* gradient, Vec<double> top, Vec<double> share,
                                  Vec<double>& slopes) {
  slopes = (top + Vec<double>::load(gradient)) * share;
}
MAXMARGIN_INLINE void load_slopes(const double* gradient, Vec<double> top, Vec<double> share,
                                  Vec<float>& slopes) {
  Vec<double> first, second;
  load_slopes(gradient, top, share, first);
  load_slopes(gradient + Vec<double>::size, top, share, second);
  slopes = narrow(first, second);
}

template <class T>
index_t select_second(const StepView& view, const T* diagonal, const T* row_i, index_t i,
                      const Violation& ends) {
  using V = Vec<T>;
  using Wide = Vec<double>;
  const V tau = V::fill(static_cast<T>(kTau)), nothing = V::fill(-__builtin_inf());
  const V diagonal_i = V::fill(diagonal[i]);
  const Wide top = Wide::fill(ends.up), share = Wide::fill(1.0 / (ends.up - ends.low));
  BestLanes<T> best;
  V position = lane_numbers<T>();
  for (index_t t = 0; t < view.n; t += V::size) {
    V slope;
    load_slopes(view.gradient + t, top, share, slope);
    slope = max(slope, V::zero());
    V curvature = diagonal_i + V::load(diagonal + t);
    curvature = fma(V::fill(-2), V::load(row_i + t), curvature);
    curvature = select(curvature > V::zero(), curvature, tau);
    unsigned bits = bits_at(view.may_fall, t);
    if constexpr (V::size > 8) bits |= bits_at(view.may_fall, t + 8) << 8;
    if (t + V::size > view.n) bits &= (1U << (view.n - t)) - 1; // the next group begins there
    best.offer(select_bits(bits, slope * slope / curvature, nothing), position);
    position = position + V::fill(V::size);
  }
  T gain = 0;
  const index_t j = best.reduce(gain);
  return gain > 0 ? j : -1;
}

} // namespace
} // namespace maxmargin::simd
