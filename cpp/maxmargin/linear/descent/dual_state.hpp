#pragma once

#include "maxmargin/base/aligned_memory.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/linear/descent/dual_coordinate.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace maxmargin::linear {

// The dual variables of a linear problem and what follows from them:
//
//   w = sum_i beta_i x_i
//   b = offset + bias_scale bias_weight
//   bias_weight = bias_scale sum_i beta_i
//
// so that the bias is, but for the offset, the weight of a feature that is bias_scale everywhere.
struct DualPoint {
  std::vector<DualCoordinate> coordinates; // of the samples with C_i > 0
  AlignedVector<double> w;
  double bias_scale = 0.0;
  double bias_weight = 0.0;
  double offset = 0.0;

  double bias() const { return offset + bias_scale * bias_weight; }
};

// A point, and the rows of the samples.
struct DualState : DualPoint {
  AnyRows rows;

  // With the rows as they are, or with those of the type that they have.
  double residual(const DualCoordinate& c) const { return residual(rows, c); }
  template <class Rows> double residual(const Rows& typed, const DualCoordinate& c) const {
    return c.y - (typed.dot(c.sample, w.data()) + bias());
  }
  void move(DualCoordinate& c, double step) { move(rows, c, step); }
  template <class Rows> void move(const Rows& typed, DualCoordinate& c, double step) {
    c.beta += step;
    typed.add(c.sample, step, w.data());
    bias_weight += bias_scale * step;
  }

  // Without the rounding of many moves.
  void sum_up() {
    std::fill(w.begin(), w.end(), 0.0);
    bias_weight = 0.0;
    for (DualCoordinate& c : coordinates)
      if (c.beta != 0.0) move(c, std::exchange(c.beta, 0.0));
  }
};

} // namespace maxmargin::linear
