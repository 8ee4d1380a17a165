#include "maxmargin/kernel/kernel_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace maxmargin {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

// A bounded function of terms of this size.
ValueBound bounded(double rounding, double terms) {
  return {1.0, std::min(1.0, rounding * (1.0 + terms))};
}

ValueBound power(double rounding, double base, int degree) {
  const double value = std::pow(base, degree);
  return {value, rounding * (degree + 1) * value};
}

ValueBound composed(const KernelParams& kernel, double product, index_t n_terms,
                    std::span<const double> factors, bool by_differences) {
  std::vector<ValueBound> stack;
  std::size_t n_factors = 0;
  for (const KernelParams::Step& step : kernel.steps) {
    if (step.kind == CompositionStep::value) {
      const double factor =
          step.has_factors && n_factors < factors.size() ? factors[n_factors++] : 1.0;
      const double weight = std::abs(step.weight) * factor * factor;
      const ValueBound part = kernel_error(step.kernel, product, n_terms, {}, by_differences);
      stack.push_back({weight * part.value, weight * part.error});
      continue;
    }
    const ValueBound b = stack.back();
    stack.pop_back();
    ValueBound& a = stack.back();
    a = step.kind == CompositionStep::add
            ? ValueBound{a.value + b.value, a.error + b.error}
            : ValueBound{a.value * b.value, a.value * b.error + b.value * a.error};
    a.error += kRounding * a.value;
  }
  return stack.back();
}

} // namespace

ValueBound kernel_error(const KernelParams& kernel, double product, index_t n_terms,
                        std::span<const double> factors, bool by_differences) {
  const double rounding = kRounding * roundings_of_sum(static_cast<double>(n_terms));
  const double argument = std::abs(kernel.gamma) * product + std::abs(kernel.coef0);
  switch (kernel.type) {
  case KernelType::linear:
  case KernelType::histogram_intersection:
    return {product, rounding * product};
  case KernelType::polynomial:
    return power(rounding, argument, kernel.degree);
  case KernelType::power_sum:
    return power(rounding, 1.0 + product, kernel.degree); // no less than the sum
  case KernelType::sigmoid:
    return bounded(rounding, argument);
  case KernelType::rbf: // half norms less a product
  case KernelType::laplacian:
  case KernelType::chi_squared:
    return bounded(rounding, by_differences ? 1.0 : std::abs(kernel.gamma) * product);
  case KernelType::composed:
    return composed(kernel, product, n_terms, factors, by_differences);
  case KernelType::precomputed:
    return {product, 0.0};
  case KernelType::constant:
    break;
  }
  return {1.0, 0.0};
}

} // namespace maxmargin
