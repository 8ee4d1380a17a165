#pragma once

#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin::linear {

// The share of a measure to which any fall beyond rounding brings it.
inline constexpr double kAnyFall = 1.0 - 1e-15;

// Tests whether the steps of a second-order method stagnate, since rounding is in the way: of two
// measures, for too many steps neither has fallen to the given share of its least value.
class StepStagnation {
 public:
  StepStagnation(int most_idle, double first_share, double second_share)
      : most_idle_(most_idle), first_share_(first_share), second_share_(second_share) {}

  // Counts a step by the measures after it; returns whether it was idle.
  bool count(double first, double second) {
    const bool falls =
        first < first_share_ * least_first_ || second < second_share_ * least_second_;
    if (falls) {
      least_first_ = std::min(least_first_, first);
      least_second_ = std::min(least_second_, second);
    }
    n_idle_ = falls ? 0 : n_idle_ + 1;
    return !falls;
  }
  bool is_stalled() const { return n_idle_ >= most_idle_; }

 private:
  int most_idle_;
  double first_share_, second_share_;
  double least_first_ = std::numeric_limits<double>::infinity(), least_second_ = least_first_;
  int n_idle_ = 0; // in a row
};

// Tests whether the passes of a dual descent stagnate. A pass that lowers the objective by less
// than its rounding is lost there. But the decrease is of the second order in the steps, and the
// gap of the first: at violations of 1e-8, whose squares are lost, it still falls. So passes
// stagnate only where many in a row are lost and have not halved the gap.
class PassStagnation {
 public:
  // Counts the pass if it is lost, and returns whether it is.
  bool count(double decrease, double objective) {
    const bool is_lost = decrease <= kRounding * std::abs(objective);
    if (!is_lost) gap_ = std::numeric_limits<double>::infinity();
    n_lost_ = is_lost ? n_lost_ + 1 : 0;
    return is_lost;
  }

  // With the gap after the pass counted last.
  bool is_stalled(double gap) {
    if (gap <= 0.5 * gap_) {
      gap_ = gap;
      n_lost_ = 0;
    }
    return n_lost_ >= kMostLost;
  }

 private:
  static constexpr double kRounding = 1e-16;
  // A guard: 12 and 200 take the same time on 800 x 1500 sparse samples, the hinge, a gap of 1e-8.
  static constexpr index_t kMostLost = 50;
  index_t n_lost_ = 0; // in a row, since gap_ was halved
  double gap_ = std::numeric_limits<double>::infinity();
};

// Tests whether passes converge slowly: at the rate of the last few, so many more would be needed.
class SlowPasses {
 public:
  // With the gap that a pass has met, and its goal.
  bool count(double gap, double goal) {
    if (++n_passes_ < kPassesPerTest) return false;
    const double rate = std::log(gap / gap_) / kPassesPerTest;
    const bool is_slow = gap > goal && std::log(goal / gap) < kMostPasses * rate;
    // What steps of another kind gain is not the passes' rate.
    gap_ = is_slow ? std::numeric_limits<double>::infinity() : gap;
    n_passes_ = 0;
    return is_slow;
  }

 private:
  // 1500 x 2000 and 3000 x 2000 sparse samples, the hinge and the squared hinge, take 9, 8 and 8, and
  // 27, 26 and 31 ms with 2, 5 and 20 passes a test; 8, 8 and 13, and 25, 26 and 26 ms with 3, 10 and
  // 40 at the most.
  static constexpr index_t kPassesPerTest = 5;
  static constexpr index_t kMostPasses = 10;
  index_t n_passes_ = 0; // since gap_ was met
  double gap_ = std::numeric_limits<double>::infinity();
};

} // namespace maxmargin::linear
