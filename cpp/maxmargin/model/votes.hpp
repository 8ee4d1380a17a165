#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/base/types.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// From the decision values of one machine for each pair of classes (model/pair_layout.hpp) to
// classes. `values` holds those of one sample after the other. A value votes for the first class of
// the pair where it is positive, and for the second otherwise, zero included.

// By sample, the class with most votes; of several, that which comes first in `order`.
std::vector<index_t> vote_winners(std::span<const double> values, std::span<const index_t> order);
// That of one sample; `votes` is room for the votes of the classes.
index_t vote_winner(const double* values, std::span<const index_t> order, std::span<index_t> votes);

// For every sample and class, the votes plus the sum of confidences, squeezed into (-1/3, 1/3) so
// that it breaks ties: scikit-learn's 'ovr' decision function.
std::vector<double> class_scores(std::span<const double> values, index_t n_classes);

// For every sample and class, the probability, from pairs' sigmoids 1 / (1 + exp(a f + b)). Those
// of several classes are coupled: p minimises sum over i, j of (r_ji p_i - r_ij p_j)^2, sum p = 1,
// r_ij being the probability of i in its pair with j (T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability
// estimates for multi-class classification by pairwise coupling", JMLR 5 (2004), Algorithm 2).
std::vector<double> pair_probabilities(std::span<const double> values, std::span<const double> a,
                                       std::span<const double> b, index_t n_classes);

// Probabilities of a one-class model, by bins of its decision values (Z. Que, C.-J. Lin, "One-class
// SVM probabilistic outputs", IEEE TNNLS (2024); LIBSVM's -s 2 -b 1). The training values below 0
// are divided into five bins of equal counts, and so are the others. A mark is the middle of a bin.

inline constexpr int kDensityMarks = 10;

// The marks, ascending, from the decision values of the training samples; `counts` says how often
// each of them counts. Empty where fewer than five count on either side of 0.
MAXMARGIN_INSIDE std::vector<double> density_marks(std::span<const double> values,
                                                   std::span<const double> counts);

// The probability that a sample lies inside: the share of the marks at or below its value, but
// 0.001 below all of them and 0.999 above all.
double inside_probability(double value, std::span<const double> marks);

} // namespace maxmargin
