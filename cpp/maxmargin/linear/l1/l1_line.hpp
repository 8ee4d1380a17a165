#pragma once

#include "maxmargin/base/types.hpp"

#include <span>
#include <vector>

namespace maxmargin::linear {

// sum_j lambda_j |v_j + t p_j| as a function of t: a line that bends up wherever a term passes 0.
class L1Line {
 public:
  // The vectors must outlive this.
  L1Line(std::span<const double> v, std::span<const double> p, std::span<const double> lambda);

  // The derivative at 0, towards greater t.
  double slope() const { return slope_; }
  // The t >= 0 at which this and a t + b / 2 t^2 are least together, b >= 0; infinity where they
  // fall for ever.
  double least(double a, double b) const;
  // v + t p, where terms that pass 0 at t are 0.
  void move(double t, std::vector<double>& result) const;

 private:
  struct Bend {
    double t, jump; // of the slope
  };

  std::span<const double> v_, p_;
  std::vector<Bend> bends_; // by t
  double slope_ = 0.0;
};

} // namespace maxmargin::linear
