#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"

#include <span>

namespace maxmargin {

// Models of what machines say of samples that they were not trained on.

// A probability 1 / (1 + exp(a f + b)) of the decision value f.
struct Sigmoid {
  double a = 0.0, b = 0.0;
};

// That of greatest likelihood, by Newton steps with backtracking (J. C. Platt, "Probabilistic
// outputs for support vector machines" (1999); H.-T. Lin, C.-J. Lin, R. C. Weng, "A note on Platt's
// probabilistic outputs for support vector machines", Machine Learning 68 (2007), Algorithm 1).
// `is_first` says of which values the probability is to be high, `counts` how often each counts.
// Where the likelihood is greatest for a > 0, the answers are backwards. `control` is polled.
MAXMARGIN_INSIDE Sigmoid fit_sigmoid(std::span<const double> values, std::span<const bool> is_first,
                                     std::span<const double> counts, Control& control);

// The scale of the Laplace distribution of a regression's errors: their mean magnitude, less those
// beyond five standard deviations of that distribution (C.-J. Lin, R. C. Weng, "Simple
// probabilistic predictions for support vector regression" (2004)).
MAXMARGIN_INSIDE double noise_scale(std::span<const double> errors);

} // namespace maxmargin
