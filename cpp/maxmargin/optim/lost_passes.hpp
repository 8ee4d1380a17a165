#pragma once

#include "maxmargin/base/types.hpp"

#include <cmath>
#include <limits>

namespace maxmargin::optim {

// Tells when the passes of a dual descent are in vain. A pass that lowers the objective by less
// than its rounding is lost there. But the decrease is of the second order in the steps, and the
// gap of the first: at violations of 1e-8, whose squares are lost, it still falls. So passes are in
// vain only where many in a row are lost and have not halved the gap.
class LostPasses {
 public:
  // Counts the pass if it is lost, and returns whether it is.
  bool count(double decrease, double objective) {
    const bool is_lost = decrease <= kRounding * std::abs(objective);
    if (!is_lost) gap_ = std::numeric_limits<double>::infinity();
    n_passes_ = is_lost ? n_passes_ + 1 : 0;
    return is_lost;
  }

  // With the gap after the pass counted last.
  bool are_in_vain(double gap) {
    if (gap <= 0.5 * gap_) {
      gap_ = gap;
      n_passes_ = 0;
    }
    return n_passes_ >= kPatience;
  }

 private:
  static constexpr double kRounding = 1e-16;
  static constexpr index_t kPatience = 50;
  index_t n_passes_ = 0; // lost in a row, since gap_ was halved
  double gap_ = std::numeric_limits<double>::infinity();
};

// Tells when passes creep: at the rate of the last few, so many more would be needed.
class CreepingPasses {
 public:
  // With what a pass has met of the gap, and what it should come down to.
  bool notes(double gap, double goal) {
    if (++n_passes_ < kPassesPerLook) return false;
    const double rate = std::log(gap / gap_) / kPassesPerLook;
    const bool creep = gap > goal && std::log(goal / gap) < kMostPasses * rate;
    // What steps of another kind gain is not the passes' rate.
    gap_ = creep ? std::numeric_limits<double>::infinity() : gap;
    n_passes_ = 0;
    return creep;
  }

 private:
  static constexpr index_t kPassesPerLook = 5;
  static constexpr index_t kMostPasses = 10;
  index_t n_passes_ = 0; // since gap_ was met
  double gap_ = std::numeric_limits<double>::infinity();
};

} // namespace maxmargin::optim
