#include "maxmargin/linear/l1/l1_line.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin::linear {

L1Line::L1Line(std::span<const double> v, std::span<const double> p, std::span<const double> lambda)
    : v_(v), p_(p) {
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (p[j] == 0.0 || lambda[j] == 0.0) continue;
    const double steepness = lambda[j] * std::abs(p[j]);
    slope_ += v[j] != 0.0 && (v[j] > 0.0) != (p[j] > 0.0) ? -steepness : steepness;
    const double t = -v[j] / p[j];
    if (t > 0.0) bends_.push_back({t, 2.0 * steepness});
  }
  std::sort(bends_.begin(), bends_.end(), [](const Bend& a, const Bend& b) { return a.t < b.t; });
}

double L1Line::least(double a, double b) const {
  double slope = a + slope_, at = 0.0;
  if (slope >= 0.0) return 0.0;
  for (const Bend& bend : bends_) {
    const double before = slope + b * (bend.t - at);
    if (before >= 0.0) return at - slope / b;
    slope = before + bend.jump;
    at = bend.t;
    if (slope >= 0.0) return at;
  }
  return b > 0.0 ? at - slope / b : std::numeric_limits<double>::infinity();
}

void L1Line::move(double t, std::vector<double>& result) const {
  result.resize(v_.size());
  for (std::size_t j = 0; j < v_.size(); ++j)
    result[j] = v_[j] != 0.0 && -v_[j] / p_[j] == t ? 0.0 : v_[j] + t * p_[j];
}

} // namespace maxmargin::linear
