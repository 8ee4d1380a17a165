#pragma once

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace maxmargin::perceptron {

// What a mistake on an example adds to its coefficient in one output.
struct Change {
  index_t output;
  double sign;
};

// What counts as a mistake, and what follows from it. An example of class `codes[i]` has a value
// f[p] for every output p.
//
// One against the rest: output p is a problem of its own, whose positive class is positive[p]. It
// errs where y f[p] <= 0, and its coefficient changes by y.
//
// Joint (Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3,
// 2003; the worst rival alone is changed): output p belongs to class p, and all are one problem. It
// errs unless the example's own class has a greater value than every other; then its coefficient
// changes by 1 for its own class and by -1 for the greatest of the others, the first of several.
struct MistakeRule {
  std::span<const std::int64_t> codes;
  std::span<const std::int64_t> positive;
  bool is_joint = false;

  index_t n_outputs() const { return static_cast<index_t>(positive.size()); }
  index_t n_problems() const { return is_joint ? 1 : n_outputs(); }
  index_t problem_of(index_t output) const { return is_joint ? 0 : output; }

  // The changes of active problems that example i, of values f, brings about: none without a
  // mistake. Throws NumericError when a value is not finite.
  void find_changes(index_t i, std::span<const double> f, std::span<const char> is_active,
                    std::vector<Change>& changes) const {
    changes.clear();
    for (const double value : f)
      if (!std::isfinite(value)) throw NumericError("kernel values overflow");
    if (is_joint) return find_rival(codes[i], f, changes);
    for (index_t p = 0; p < n_outputs(); ++p) {
      const double y = codes[i] == positive[p] ? 1.0 : -1.0;
      if (is_active[p] && !(y * f[p] > 0.0)) changes.push_back({p, y});
    }
  }

 private:
  void find_rival(index_t own, std::span<const double> f, std::vector<Change>& changes) const {
    index_t rival = own == 0 ? 1 : 0;
    for (index_t p = rival + 1; p < n_outputs(); ++p)
      if (p != own && f[p] > f[rival]) rival = p;
    if (!(f[own] > f[rival])) changes.assign({{own, 1.0}, {rival, -1.0}});
  }
};

} // namespace maxmargin::perceptron
