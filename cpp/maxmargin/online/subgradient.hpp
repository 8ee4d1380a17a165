#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/online/lazy_weights.hpp"
#include "maxmargin/optim/mistake_passes.hpp"

#include <cmath>
#include <span>
#include <variant>
#include <vector>

namespace maxmargin {
class Int8Rows;
}

namespace maxmargin::online {

// max(0, margin - m), or its square, of an example whose functional margin is m: the perceptron's
// loss has margin 0, the hinge losses have margin 1.
struct MarginLoss {
  double margin = 0.0;
  bool is_squared = false;

  double value(double m) const {
    const double short_by = margin - m;
    if (short_by <= 0.0) return 0.0;
    return is_squared ? short_by * short_by : short_by;
  }
  // Minus a subgradient at m <= margin. It is 0 above; m = margin counts as a mistake.
  double pull(double m) const { return is_squared ? 2.0 * (margin - m) : 1.0; }
};

// l2 / 2 ||w||^2 + l1 ||w||_1; b has no penalty.
struct LinearPenalty {
  double l2 = 0.0, l1 = 0.0;
  bool is_none() const { return l2 == 0.0 && l1 == 0.0; }
};

// The length of step t = 1, 2, ...
struct StepSize {
  enum class Rule {
    constant,     // eta0
    adaptive,     // eta0, which slow_down() divides
    inverse_time, // 1 / (lambda (offset + t)): Pegasos where offset = 0 and lambda = l2
    power,        // eta0 / t^exponent
  };
  Rule rule = Rule::constant;
  double eta0 = 1.0;
  double lambda = 1.0, offset = 0.0;
  double exponent = 0.5;

  static StepSize constant(double eta0) { return {.rule = Rule::constant, .eta0 = eta0}; }
  static StepSize adaptive(double eta0) { return {.rule = Rule::adaptive, .eta0 = eta0}; }
  static StepSize inverse_time(double lambda, double offset) {
    return {.rule = Rule::inverse_time, .lambda = lambda, .offset = offset};
  }
  static StepSize power(double eta0, double exponent) {
    return {.rule = Rule::power, .eta0 = eta0, .exponent = exponent};
  }

  double at(index_t step) const {
    const double t = static_cast<double>(step);
    switch (rule) {
    case Rule::inverse_time:
      return 1.0 / (lambda * (offset + t));
    case Rule::power:
      return eta0 / std::pow(t, exponent);
    case Rule::constant:
    case Rule::adaptive:
      break;
    }
    return eta0;
  }

  // Returns whether further steps are shorter. (The numbers are scikit-learn's.)
  bool slow_down() {
    if (rule != Rule::adaptive || eta0 <= 1e-6) return false;
    eta0 /= 5.0;
    return true;
  }
};

// One function f; m = y f.
struct BinaryLabels {
  std::span<const std::int8_t> y;                      // -1 or +1
  double negative_weight = 1.0, positive_weight = 1.0; // by label
};

// One function for each class; m = f_y - max of the others (Crammer and Singer 2001). A step adds
// to the weights of y and takes from those of the first class that attains the maximum.
struct ClassLabels {
  std::span<const std::int64_t> y; // in [0, number of classes)
  std::span<const double> class_weight;
};

// c_i is the weight of example i times that of its class; examples with c_i = 0 are left out.
struct OnlineProblem {
  const MatrixView& X;
  std::variant<BinaryLabels, ClassLabels> labels;
  std::span<const double> weight;            // none: 1 each
  std::span<const double> validation_weight; // none: no validation
  const Int8Rows* int8_rows = nullptr;       // of X, or none
};

// All of a problem but the data.
struct OnlineSettings {
  MarginLoss loss;
  LinearPenalty penalty;
  bool fit_intercept = true;
  optim::PassOptions passes;
  // The measure of a pass: the number of mistakes, or the mean loss met and the penalty at the end.
  // With a validation_weight it is the share of that weight that is misclassified.
  bool follows_loss = false;
  StepSize step;
  index_t batch_size = 1;   // 0: all examples
  index_t average_from = 0; // the first step that the average counts; 0: no average
  bool is_mapped = false;   // X lies in a mapped file, whose pages are given back once read
  int threads = 0;

  // Whether examples that are no mistake change nothing.
  bool waits_for_mistakes() const {
    return penalty.is_none() && average_from == 0 && batch_size == 1;
  }
};

struct OnlineFit {
  OnlineState state;
  optim::MistakeRecord record; // a mistake: an example whose margin is not above the loss's
};

// Subgradient descent, one example or one batch B at a time, on
//
//   F(w, b) = l2 / 2 ||w||^2 + l1 ||w||_1 + 1/n sum_i c_i loss(m_i)
//
// Step t, of length eta: w = (1 - eta l2) w + eta / |B| sum over B of c_i pull(m_i) dm_i/dw, b
// likewise without the shrinking, and the l1 penalty taken off by truncation, before the average
// counts w; from the features that are 0 in B, when they are next met. Zeros of dense rows are like
// those that sparse rows leave out (nonzero_rows.hpp).
// With the perceptron's loss, a constant step and no penalty this is the perceptron (Rosenblatt
// 1958), which stops at a pass without a mistake. With the hinge loss, an l2 penalty and steps
// 1 / (l2 t) it is Pegasos (Shalev-Shwartz, Singer, Srebro and Cotter 2011).
//
// Weights are float64 whatever the type of X. Requires: labels and weights have an element for
// every row of X, or are empty where they may; start.b has an element for every function and
// start.w one for every function and column, the averages and start.lost too or none. Throws
// NumericError when f leaves the range of float64.
//
// A binary problem that waits for mistakes reads the int8 rows, if there are, and X itself only
// where they do not decide. The result is the same.
MAXMARGIN_API OnlineFit train_online(const OnlineProblem& problem, const OnlineSettings& settings,
                                     OnlineState start, Control& control);

// F at the given weights, in float64.
MAXMARGIN_API double online_objective(const OnlineProblem& problem, const OnlineSettings& settings,
                                      const std::vector<double>& w, const std::vector<double>& b,
                                      Control& control);

} // namespace maxmargin::online
