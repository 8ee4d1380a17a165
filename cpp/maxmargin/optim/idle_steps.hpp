#pragma once

#include <algorithm>
#include <limits>

namespace maxmargin::optim {

// Tells when the steps of a Newton's method have become idle: for some of them neither the
// objective nor the gap has fallen, since rounding is in the way. At the end the gap falls on when
// the objective cannot.
class IdleSteps {
 public:
  // Where the gap should fall to that share of itself within so many steps.
  explicit IdleSteps(int most = 3, double share = 0.5) : most_(most), share_(share) {}

  // Counts one more step, with what it has led to; returns whether there are too many idle ones.
  bool count(double objective, double gap) {
    if (objective < least_objective_ * (1.0 - kRounding) || gap < share_ * least_gap_) n_idle_ = 0;
    least_objective_ = std::min(least_objective_, objective);
    least_gap_ = std::min(least_gap_, gap);
    is_last_idle_ = n_idle_ > 0;
    return n_idle_++ > most_;
  }
  bool is_last_idle() const { return is_last_idle_; }

 private:
  static constexpr double kRounding = 1e-15; // a decrease below this share of the objective is none
  int most_;
  double share_;
  double least_objective_ = std::numeric_limits<double>::infinity();
  double least_gap_ = least_objective_;
  int n_idle_ = 0;
  bool is_last_idle_ = false;
};

} // namespace maxmargin::optim
