#pragma once

#include "maxmargin/kernel/kernel_params.hpp"

#include <span>

namespace maxmargin {

// How large a kernel value may be, and by how much its rounding in float64 may move it.
struct ValueBound {
  double value = 0.0;
  double error = 0.0;
};

// Of two samples whose products with themselves (x.x, or the sum of |x| where the pairing is not the
// product) are at most `product`, and whose factors at most these, by the kernel's steps that have
// some. One rounding counts for a product, whose own ones add up like a random walk, and one for
// every operation after it. Of a given kernel matrix, `product` is its largest value.
// `by_differences`: exponents are sums of differences, and as exact as themselves.
ValueBound kernel_error(const KernelParams& kernel, double product, std::span<const double> factors,
                        bool by_differences);

} // namespace maxmargin
