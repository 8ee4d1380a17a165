#pragma once

#include "base/types.hpp"

#include <cmath>
#include <limits>

namespace maxmargin {

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

// Tells when passes creep: whenever so many of them have not halved what they meet of the gap.
class CreepingPasses {
 public:
  bool notes(double gap) {
    if (++n_passes_ < kPatience) return false;
    const bool creep = gap > 0.5 * gap_;
    gap_ = gap;
    n_passes_ = 0;
    return creep;
  }

 private:
  static constexpr index_t kPatience = 20;
  index_t n_passes_ = 0; // since gap_ was met
  double gap_ = std::numeric_limits<double>::infinity();
};

} // namespace maxmargin
