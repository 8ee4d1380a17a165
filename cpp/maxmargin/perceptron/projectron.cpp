#include "maxmargin/base/error.hpp"
#include "maxmargin/perceptron/budget_policy.hpp"
#include "maxmargin/perceptron/support_set.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::perceptron {
namespace {

// What is left of K(x, x) by rounding counts as nothing.
constexpr double kSmallestSquare = 1e-10;

// Orabona, Keshet and Caputo, "The Projectron: a bounded kernel-based perceptron", ICML 2008. A
// mistake would add phi(x) to f. Its projection on the span of the support vectors is added instead
// where the distance delta between the two is at most eta, and, beyond the paper, always when the
// budget is used up; else x becomes a support vector. With K = L L' over the support vectors and k
// their values with x: L z = k, delta^2 = K(x, x) - z'z, and L' d = z has the coefficients d of the
// projection. L grows by a row with every support vector.
class Projectron final : public BudgetPolicy {
 public:
  Projectron(index_t budget, double eta) : budget_(budget), eta_(eta) {}

  void learn(SupportSet& set, const Mistake& mistake) override {
    std::vector<double> z;
    for (const double* row : set.rows()) z.push_back(row[mistake.column]);
    solve_lower(z);
    const double square = mistake.row[mistake.column];
    const double left = square - table_.dot(z.data(), z.data(), set.size());
    if (!std::isfinite(left)) throw NumericError("kernel values overflow");
    const bool is_near = left <= (set.size() > 0 ? eta_ * eta_ : 0.0);
    if (is_near || set.size() == budget_ || !(left > kSmallestSquare * square)) {
      solve_upper(z);
      for (const Change& change : mistake.changes) set.add_combination(z, change);
      return;
    }
    z.push_back(std::sqrt(left));
    factor_.push_back(std::move(z));
    set.append(mistake.example, mistake.row);
    for (const Change& change : mistake.changes) set.add(set.size() - 1, change);
  }

 private:
  void solve_lower(std::vector<double>& z) const {
    for (std::size_t s = 0; s < z.size(); ++s)
      z[s] =
          (z[s] - table_.dot(factor_[s].data(), z.data(), static_cast<index_t>(s))) / factor_[s][s];
  }
  void solve_upper(std::vector<double>& z) const {
    for (std::size_t s = z.size(); s-- > 0;) {
      z[s] /= factor_[s][s];
      table_.axpy(-z[s], factor_[s].data(), z.data(), static_cast<index_t>(s));
    }
  }

  const simd::RealTable<double>& table_ = simd::active_table().f64;
  index_t budget_;
  double eta_;
  std::vector<std::vector<double>> factor_; // L, row by row
};

} // namespace

std::unique_ptr<BudgetPolicy> new_projectron(index_t budget, double eta) {
  return std::make_unique<Projectron>(budget, eta);
}

} // namespace maxmargin::perceptron
