#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"

#include <algorithm>
#include <vector>

namespace maxmargin {

// The change of variable applied to samples before they are packed: (x - centre) / 2^exponent.
// Kernels that depend on differences only do not see the centre, and without it the norms of
// far-off data would swallow their differences; the power of two keeps products in range and loses
// no digit.
struct Scaling {
  std::vector<double> centre; // empty: none
  int exponent = 0;

  double factor() const;        // 2^-exponent
  double square_factor() const; // 2^(2 exponent): turns packed products back into the samples' own
  double shift(index_t k) const { return centre.empty() ? 0.0 : centre[k]; }
};

// The scaling of samples: column medians as the centre when `centred`, and the exponent that brings
// the largest magnitude left to about 1.
Scaling scaling_of(const MatrixView& X, bool centred, int threads, Control& control);

// The median of every column over some rows, spread over all. Unlike the mean, it stays where most
// samples are when a few lie far off.
std::vector<double> column_medians(const MatrixView& X);

// The share of entries that are not zero (of a sparse matrix: that are stored).
double density_of(const MatrixView& X, int threads, Control& control);

// Whether all numbers are finite.
bool are_finite(const MatrixView& X, int threads, Control& control);

// Whether samples of this density are packed as sparse ones, however they are stored: mostly zero
// dense samples are cheaper so, and sparse samples with hardly a zero gain nothing from it. Sparse
// ones cannot be centred, so that dense ones are not packed like that where they may be centred and
// most of their squared norms is an offset.
bool packs_sparse(const MatrixView& X, double density, bool may_centre);

// A packed number in T. In float32, one that is so many units is as far away as any: squares of
// larger ones would overflow.
inline constexpr double kFarthest = 0x1p40;
template <Real T> T rounded(double x) {
  if constexpr (sizeof(T) == sizeof(float)) x = std::clamp(x, -kFarthest, kFarthest);
  return static_cast<T>(x);
}

// Calls visit(feature, packed value) for the stored features of sample i; any other feature k of a
// sparse sample packs to packed_zero.
template <Real T, class View, class F>
void for_each_feature(const View& X, index_t i, const Scaling& scaling, const F& visit) {
  const double factor = scaling.factor();
  const auto pack = [&](index_t k, auto x) {
    visit(k, static_cast<T>((static_cast<double>(x) - scaling.shift(k)) * factor));
  };
  for_stored(X, i, pack);
}
template <Real T> T packed_zero(const Scaling& scaling, index_t k) {
  return static_cast<T>(-scaling.shift(k) * scaling.factor());
}

} // namespace maxmargin
