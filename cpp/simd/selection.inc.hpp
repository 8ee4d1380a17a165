// Masked reductions over the variables: the selection of a working pair.
#pragma once

#include "simd/kernel_table.hpp"
#include "simd/vec.hpp"

namespace maxmargin::simd {
namespace {

// Lanes keep the best value and the position where each was first met; the reduction at the end
// prefers the lowest position among equals, so that the choice does not depend on the vector's
// width.
struct BestLanes {
  using V = Vec<double>;
  V value, position;

  static MAXMARGIN_INLINE BestLanes none() { return {V::fill(-__builtin_inf()), V::fill(-1.0)}; }
  MAXMARGIN_INLINE void offer(V candidate, V at) {
    const V::Mask better = candidate > value;
    value = select(better, candidate, value);
    position = select(better, at, position);
  }
  MAXMARGIN_INLINE index_t reduce(double& best) const {
    index_t at = -1;
    best = -__builtin_inf();
    for (int lane = 0; lane < V::size; ++lane) {
      const double v = value.raw[lane];
      const index_t p = static_cast<index_t>(position.raw[lane]);
      if (v > best || (v == best && p >= 0 && p < at)) {
        best = v;
        at = p;
      }
    }
    return at;
  }
};

MAXMARGIN_INLINE Vec<double> lane_numbers() {
  Vec<double> v;
  for (int lane = 0; lane < Vec<double>::size; ++lane) v.raw[lane] = lane;
  return v;
}

// Requires: the arrays are readable up to n rounded up to a line, with lower == upper == beta
// beyond n (such variables are never candidates).
template <bool Update, class T>
MAXMARGIN_INLINE Violation reduce_violation(const PairView& view, double* gradient, const T* row_i,
                                            const T* row_j, double delta) {
  using V = Vec<double>;
  const V infinity = V::fill(__builtin_inf());
  const V step = V::fill(delta);
  BestLanes best = BestLanes::none();
  V low = infinity;
  V position = lane_numbers();
  for (index_t t = 0; t < view.n; t += V::size) {
    V g = V::load(view.gradient + t);
    if constexpr (Update) {
      g = fma(step, load_as<double>(row_i + t) - load_as<double>(row_j + t), g);
      g.store(gradient + t);
    }
    const V beta = V::load(view.beta + t);
    const V descent = V::zero() - g;
    best.offer(select(beta < V::load(view.upper + t), descent, V::zero() - infinity), position);
    low = min(low, select(beta > V::load(view.lower + t), descent, infinity));
    position = position + V::fill(V::size);
  }
  Violation result{};
  result.i = best.reduce(result.up);
  result.low = __builtin_inf();
  for (int lane = 0; lane < V::size; ++lane)
    if (low.raw[lane] < result.low) result.low = low.raw[lane];
  return result;
}

Violation select_first(const PairView& view) {
  return reduce_violation<false, double>(view, nullptr, nullptr, nullptr, 0.0);
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

template <class T>
Violation update_pair(const PairView& view, double* gradient, const T* row_i, const T* row_j,
                      double delta) {
  return reduce_violation<true, T>(view, gradient, row_i, row_j, delta);
}

template <class T>
index_t select_second(const PairView& view, const T* row_i, index_t i, double up) {
  using V = Vec<double>;
  const V tau = V::fill(kTau);
  const V minus_infinity = V::fill(-__builtin_inf());
  const V top = V::fill(up);
  const V diagonal_i = V::fill(view.diagonal[i]);
  BestLanes best = BestLanes::none();
  V position = lane_numbers();
  for (index_t t = 0; t < view.n; t += V::size) {
    const V slope = top + V::load(view.gradient + t);
    V curvature = diagonal_i + V::load(view.diagonal + t);
    curvature = fma(V::fill(-2), load_as<double>(row_i + t), curvature);
    curvature = select(curvature > V::zero(), curvature, tau);
    const V gain = slope * slope / curvature;
    const V::Mask may_fall =
        (V::load(view.beta + t) > V::load(view.lower + t)) & (slope > V::zero());
    best.offer(select(may_fall, gain, minus_infinity), position);
    position = position + V::fill(V::size);
  }
  double value = 0.0;
  return best.reduce(value);
}

} // namespace
} // namespace maxmargin::simd
