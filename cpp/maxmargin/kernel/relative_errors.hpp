#pragma once

#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// How the product of two rows is summed up, at most.
struct ProductSum {
  index_t terms = 0;   // that are not zero
  index_t in_turn = 0; // additions that a term goes through
};

// Bounds, by the column of half norm h, of how far computed values of the kernel
// exp(-scale (h + h' - product)) are off, relative to them; empty for other kernels.
//
// Let u be half the spacing of numbers at 1. A product is at most h + h' whatever the pairing, and
// so is the sum of its terms' magnitudes. A term is off by less than 8u of it when it is added,
// from the rounding of the two numbers and what is done to them, and each of m additions rounds
// once: the sum is off by less than g (h + h'), g = (m + 8) u / (1 - (m + 8) u) (Higham, "Accuracy
// and Stability of Numerical Algorithms", section 3.1). So are the half norms. The difference of
// the two, of magnitude up to 2 (h + h'), and its product with the scale, itself rounded, add no
// more than 8u (h + h') to that. An error e of the exponent changes the value by less than
// exp(|e|) - 1 of it, and exp_nonpositive (simd/vec_math.hpp) by less than 4u of it. Numbers too
// small for all their digits lose a few times the least number instead.
template <Real T>
std::vector<double> relative_errors_of(const simd::Epilogue<T>& epilogue,
                                       std::span<const T> half_norms, const ProductSum& sum);

} // namespace maxmargin
