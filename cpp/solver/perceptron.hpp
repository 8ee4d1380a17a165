#pragma once

#include "base/control.hpp"
#include "data/views.hpp"
#include "solver/linear_problem.hpp"
#include "solver/mistake_passes.hpp"

#include <span>
#include <vector>

namespace maxmargin {

struct BinaryExamples {
  std::span<const std::int8_t> y;                  // -1 or +1
  std::span<const double> weight;                  // none: 1 each
  double positive_rate = 1.0, negative_rate = 1.0; // by label

  // The learning rate of example i.
  double rate(index_t i) const {
    return (y[i] > 0 ? positive_rate : negative_rate) * (weight.empty() ? 1.0 : weight[i]);
  }
};

struct PerceptronFit {
  LinearSeparator separator;
  MistakeRecord record;
};

// The perceptron (Rosenblatt 1958): examples are taken one at a time, and on a mistake,
// y_i (w.x_i + b) <= 0, w += rate_i y_i x_i and b += rate_i y_i. If some unit (w*, b*) separates
// the data with margin gamma and all rates are equal, it makes at most R^2 / gamma^2 mistakes from
// w = 0 and b = 0, R = max ||(x_i, 1)|| (Novikoff 1962).
//
// Examples of rate 0 are left out. w is float64 whatever the type of X. Requires: y has an
// element for every row of X, weight too or none, and start.w one for every column. Throws
// NumericError when f leaves the range of float64.
PerceptronFit train_perceptron(const MatrixView& X, const BinaryExamples& examples,
                               bool fit_intercept, LinearSeparator start,
                               const PassOptions& options, Control& control);

} // namespace maxmargin
