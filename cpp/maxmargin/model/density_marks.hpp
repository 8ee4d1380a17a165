#pragma once

#include <span>
#include <vector>

namespace maxmargin {

// Probabilities of a one-class model, by bins of its decision values (Z. Que, C.-J. Lin, "One-class
// SVM probabilistic outputs", IEEE TNNLS (2024); LIBSVM's -s 2 -b 1). The training values below 0
// are divided into five bins of equal counts, and so are the others. A mark is the middle of a bin.

inline constexpr int kDensityMarks = 10;

// The marks, ascending, from the decision values of the training samples; `counts` says how often
// each of them counts. Empty where fewer than five count on either side of 0.
std::vector<double> density_marks(std::span<const double> values, std::span<const double> counts);

// The probability that a sample lies inside: the share of the marks at or below its value, but
// 0.001 below all of them and 0.999 above all.
double inside_probability(double value, std::span<const double> marks);

} // namespace maxmargin
