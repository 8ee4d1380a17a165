#include "maxmargin/base/error.hpp"
#include "maxmargin/perceptron/budget_policy.hpp"
#include "maxmargin/perceptron/support_set.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::perceptron {
namespace {

// Dekel, Shalev-Shwartz and Singer, "The Forgetron: a kernel-based perceptron on a budget", SIAM
// Journal on Computing 37 (2008), section 6, self-tuned. Where a mistake leaves more support
// vectors than the budget, all coefficients are scaled by phi <= 1 and the oldest support vector is
// removed. It has the coefficient y sigma and the margin mu = y f(x) by then. Its removal costs at
// most
//
//   Psi(phi) = (phi sigma)^2 + 2 phi sigma (1 - phi mu)
//
// of what mistakes gain. phi is the greatest for which the costs so far stay within 15/32 of the
// number of mistakes so far: the root of a quadratic.
//
// The paper has K(x, x) <= 1; here K is taken relative to the greatest K(x, x), which divides mu. A
// mistake on a support vector raises its coefficient and makes it the newest.
class Forgetron final : public BudgetPolicy {
 public:
  Forgetron(index_t budget, double largest_square)
      : budget_(budget), unit_(largest_square > 0.0 ? largest_square : 1.0) {}

  bool watches_oldest() const override { return true; }

  void learn(SupportSet& set, const Mistake& mistake) override {
    require(mistake.changes.size() == 1 && set.n_outputs() == 1, "the Forgetron is binary");
    ++n_mistakes_;
    const index_t known = set.find(mistake.example);
    if (known >= 0)
      set.make_newest(known);
    else
      set.append(mistake.example, mistake.row);
    set.add(set.size() - 1, mistake.changes[0]);
    if (set.size() > budget_) remove_oldest(set);
  }

 private:
  void remove_oldest(SupportSet& set) {
    const double coef = set.coef(0, 0), sigma = std::abs(coef);
    const double mu = std::copysign(1.0, coef) * set.score(0, set.watched(0)) / unit_;
    const double square = sigma * sigma - 2.0 * sigma * mu, slope = 2.0 * sigma;
    const double phi = greatest_scale(square, slope, kShare * n_mistakes_ - cost_);
    cost_ += phi * (phi * square + slope);
    set.scale(phi);
    set.remove(0);
  }

  // The greatest phi in [0, 1] with square phi^2 + slope phi <= left, where slope > 0, left >= 0.
  // The root is written so that nothing cancels.
  static double greatest_scale(double square, double slope, double left) {
    if (square + slope <= left) return 1.0;
    left = std::max(left, 0.0);
    const double root = std::sqrt(std::max(slope * slope + 4.0 * square * left, 0.0));
    return std::min(1.0, 2.0 * left / (slope + root));
  }

  static constexpr double kShare = 15.0 / 32.0;
  index_t budget_;
  double unit_;
  double n_mistakes_ = 0.0;
  double cost_ = 0.0;
};

} // namespace

std::unique_ptr<BudgetPolicy> new_forgetron(index_t budget, double largest_square) {
  return std::make_unique<Forgetron>(budget, largest_square);
}

} // namespace maxmargin::perceptron
