#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/linear/linear_problem.hpp"

#include <span>
#include <vector>

namespace maxmargin::linear {

// Samples of several classes, and the folds of a cross-validation, each of which leaves some of
// them out.
struct ClassSamples {
  const MatrixView& X;
  std::span<const index_t> y;           // in [0, n_classes)
  std::span<const double> weight;       // factors of C by sample,
  std::span<const double> class_weight; // and by class
  std::span<const index_t> fold_of;     // by sample; empty: none is left out
  index_t n_folds = 0;

  index_t n_classes() const { return static_cast<index_t>(class_weight.size()); }
};

// What training has found for a fold and a C. Every machine has one function f, or that of all
// classes one for each class.
struct LinearFit {
  std::vector<LinearOutcome> outcomes; // by machine
  AlignedVector<double> coef;          // n_features for every function
  std::vector<double> intercept;       // by function
};

// Trains linear classifiers along the given values of C, each from the solution before it
// (ascending C is the cheaper order). Of two classes there is one machine, positive for the second;
// of more, one for each class against the rest, where the weight of a class counts in its own
// problem and the rest has 1 (LIBLINEAR's rule), or one of all classes together. Folds and classes
// are shared among threads; the result does not depend on how many. Returned by fold and C.
MAXMARGIN_API std::vector<LinearFit> fit_linear_classifier(const ClassSamples& samples,
                                                           std::span<const double> C,
                                                           const LinearFormulation& formulation,
                                                           const LinearOptions& options,
                                                           Control& control);

// Likewise a linear regression with targets y.
MAXMARGIN_API std::vector<LinearFit>
fit_linear_regression(const MatrixView& X, std::span<const double> y,
                      std::span<const double> weight, std::span<const double> C,
                      const LinearFormulation& formulation, const LinearOptions& options,
                      Control& control);

} // namespace maxmargin::linear
