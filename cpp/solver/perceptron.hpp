#pragma once

#include "base/control.hpp"
#include "data/views.hpp"
#include "solver/mistake_passes.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// f(x) = w.x + b.
struct LinearSeparator {
  std::vector<double> w;
  double b = 0.0;
};

struct BinaryExamples {
  std::span<const std::int8_t> y; // -1 or +1
  double eta0 = 1.0;              // learning rate
  std::span<const double> weight; // factors of the learning rate; none: 1 each
};

struct PerceptronFit {
  LinearSeparator separator;
  MistakeRecord record;
};

// The perceptron (Rosenblatt 1958): examples are taken one at a time, and on a mistake,
// y_i (w.x_i + b) <= 0, w += eta0 y_i x_i and b += eta0 y_i. If some unit (w*, b*) separates the
// data with margin gamma, it makes at most R^2 / gamma^2 mistakes from w = 0 and b = 0,
// R = max ||(x_i, 1)|| (Novikoff 1962).
//
// Examples of weight 0 are left out. w is float64 whatever the type of X. Requires: y has an
// element for every row of X, weight too or none, and start.w one for every column. Throws
// NumericError when f leaves the range of float64.
PerceptronFit train_perceptron(const MatrixView& X, const BinaryExamples& examples,
                               bool fit_intercept, LinearSeparator start,
                               const PassOptions& options, Control& control);

} // namespace maxmargin
