#pragma once

#include <cmath>

namespace maxmargin::linear {

// log(1 + exp(-m)) of the margin m = y f, the largest value of -s m - entropy(s) over s in [0, 1].
inline double logistic_loss(double margin) {
  const double most = std::log1p(std::exp(-std::abs(margin)));
  return margin < 0.0 ? most - margin : most;
}

// The s at which it is reached: minus the loss's derivative.
inline double logistic_share(double margin) {
  return 1.0 / (1.0 + std::exp(margin));
}

// s log s + (1 - s) log(1 - s).
inline double logistic_entropy(double share) {
  const double rest = 1.0 - share;
  return (share > 0.0 ? share * std::log(share) : 0.0) +
         (rest > 0.0 ? rest * std::log1p(-share) : 0.0);
}

} // namespace maxmargin::linear
