#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/kernel/kernel_params.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace maxmargin {

// How large a kernel value may be, and by how much its rounding in float64 may move it.
struct ValueBound {
  double value = 0.0;
  double error = 0.0;
};

// Of two samples whose products with themselves (x.x, or the sum of |x| where the pairing is not the
// product) are at most `product`, and whose factors at most these, by the kernel's steps that have
// some, where sums have so many terms. As many roundings count for a product as they add up to, and
// for every operation after it. Of a given kernel matrix, `product` is its largest value.
// `by_differences`: exponents are sums of differences, and as exact as themselves.
ValueBound kernel_error(const KernelParams& kernel, double product, index_t n_terms,
                        std::span<const double> factors, bool by_differences);

// By how many roundings of its size a sum of n terms may be off: they add up like a random walk.
inline double roundings_of_sum(double n) {
  return std::max(1.0, 0.25 * std::sqrt(n));
}

} // namespace maxmargin
