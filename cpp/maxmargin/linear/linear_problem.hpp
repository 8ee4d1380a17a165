#pragma once

#include "maxmargin/base/aligned_memory.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/optim/stop_reason.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace maxmargin::linear {

// f(x) = w.x + b.
struct LinearSeparator {
  AlignedVector<double> w;
  double b = 0.0;
};

// hinge: max(0, 1 - y f). epsilon_insensitive: max(0, |y - f| - epsilon). Or the square of either.
// logistic: log(1 + exp(-y f)).
enum class LinearLoss {
  hinge,
  squared_hinge,
  epsilon_insensitive,
  squared_epsilon_insensitive,
  logistic
};

inline bool is_insensitive(LinearLoss loss) {
  return loss == LinearLoss::epsilon_insensitive || loss == LinearLoss::squared_epsilon_insensitive;
}
inline bool is_squared(LinearLoss loss) {
  return loss == LinearLoss::squared_hinge || loss == LinearLoss::squared_epsilon_insensitive;
}

enum class Penalty { l2, l1 };

// What a linear machine minimises over w and b:
//
//   R(w, b) + sum_i C_i loss(y_i, w.x_i + b)
//
// With penalty l2, R = 1/2 ||w||^2 + 1/2 (b / s)^2, with l1, R = ||w||_1 + |b / s|, where s is the
// intercept_scaling: b / s is the weight of a further feature that is s in every sample
// (LIBLINEAR's bias). An infinite s leaves b without a penalty, and s = 0 means b = 0.
struct LinearFormulation {
  LinearLoss loss = LinearLoss::squared_hinge;
  Penalty penalty = Penalty::l2;
  double epsilon = 0.0; // of the insensitive losses
  double intercept_scaling = 1.0;
  // Of several classes, one problem of all (descent/crammer_singer.hpp), where neither loss nor
  // penalty counts.
  bool is_multiclass = false;
};

// Requires: y and C have an element for every row of X; y_i is -1 or +1 but for the
// insensitive losses; C_i
// >= 0 and finite, samples with C_i = 0 having no part in it.
struct LinearProblem : LinearFormulation {
  const MatrixView& X;
  std::span<const double> y;
  std::span<const double> C;
};

inline constexpr index_t kDefaultPasses = 10000; // of a dual descent

struct LinearOptions {
  double tol = 1e-4;     // of duality gap / primal objective
  index_t max_iter = -1; // of the solver's own kind; -1 is its default
  // Seconds: of a solver from its start, of fits of several machines from that of the Control.
  double time_limit = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 0;
  bool is_capped = false;    // by a max_iter of the caller (attempts.hpp)
  int threads = 0;           // 0: all that may be used
  index_t passes_before = 0; // what n_iter begins with, where a dual descent goes on
  // beta of a problem on the same samples, most often with another C; empty: zeros.
  std::span<const double> start;
};

// Of a primal point: its objective, and how far that is above the dual objective.
struct Bounds {
  double primal = 0.0, gap = 0.0;
};

// By weak duality the least value of the problem lies in [-dual_objective, primal_objective]; both
// are evaluated in float64 at the end.
struct LinearOutcome {
  double primal_objective = 0.0;
  double dual_objective = 0.0; // minimised, as everywhere
  index_t n_iter = 0;
  index_t n_free = 0; // what the solver still worked on: variables, or samples
  double seconds = 0.0;
  optim::StopReason stop_reason = optim::StopReason::converged;

  // A gap is never negative, but for rounding.
  void set_bounds(double primal, double gap) {
    primal_objective = primal;
    dual_objective = std::max(gap, 0.0) - primal;
  }
  double duality_gap() const { return primal_objective + dual_objective; }
  // The bounds may be of points that were not met together.
  void conclude(double tol) {
    if (duality_gap() <= tol * primal_objective) stop_reason = optim::StopReason::converged;
  }
};

struct LinearSolution : LinearOutcome {
  LinearSeparator separator;
  // The dual variables, by sample, in signed form: w = sum_i beta_i x_i with penalty l2. They serve
  // as a start for another C.
  std::vector<double> beta;
};

} // namespace maxmargin::linear
