#pragma once

#include <limits>
#include <utility>

namespace maxmargin::optim {

// The weights of the least primal objective on the way of a method whose steps may let it rise: the
// model of a fit that was stopped, with the bound that the last dual point proves.
template <class Weights> class BestWeights {
 public:
  void consider(double objective, const Weights& weights) {
    if (!(objective < objective_)) return;
    objective_ = objective;
    weights_ = weights;
  }

  // Puts them in the place of those of that objective, if they are better.
  bool replace(double objective, Weights& weights) {
    if (!(objective_ < objective)) return false;
    weights = std::move(weights_);
    return true;
  }

 private:
  double objective_ = std::numeric_limits<double>::infinity();
  Weights weights_;
};

} // namespace maxmargin::optim
