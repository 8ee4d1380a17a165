#include "maxmargin/kernel/relative_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin {
namespace {

constexpr double kMostGrowth = 0.01; // so that the squares of errors are nothing

} // namespace

template <Real T>
std::vector<double> relative_errors_of(const simd::Epilogue<T>& epilogue,
                                       std::span<const T> half_norms, const ProductSum& sum) {
  if (epilogue.transform != simd::Transform::exponential) return {};
  constexpr double u = 0.5 * std::numeric_limits<T>::epsilon();
  const double roundings = static_cast<double>(sum.in_turn + 12) * u;
  if (roundings > kMostGrowth) return {};
  const double growth = roundings / (1.0 - roundings);
  const double scale = static_cast<double>(epilogue.scale);
  const double lost = 16.0 * static_cast<double>(sum.terms + 1) *
                      static_cast<double>(std::numeric_limits<T>::denorm_min());
  std::vector<double> errors; // first, the column's share of the exponent's error
  for (const T half_norm : half_norms) {
    // The half norms that are known are off themselves.
    const double h = static_cast<double>(half_norm) * (1.0 + 2.0 * growth) + lost;
    errors.push_back(scale * (2.0 * growth * h + lost));
  }
  const double largest = errors.empty() ? 0.0 : std::ranges::max(errors);
  for (double& error : errors) error = std::expm1(error + largest) + 8.0 * u;
  return errors;
}

template std::vector<double> relative_errors_of(const simd::Epilogue<float>&,
                                                std::span<const float>, const ProductSum&);
template std::vector<double> relative_errors_of(const simd::Epilogue<double>&,
                                                std::span<const double>, const ProductSum&);

} // namespace maxmargin
