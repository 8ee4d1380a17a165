#pragma once

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

namespace maxmargin {

// K depends on x - z only, so samples may be centred first.
inline bool is_translation_invariant(const KernelParams& kernel) {
  if (kernel.type != KernelType::composed)
    return kernel.type == KernelType::rbf || kernel.type == KernelType::laplacian ||
           kernel.type == KernelType::constant;
  return std::ranges::all_of(kernel.steps, [](const KernelParams::Step& step) {
    return step.kind != CompositionStep::value || is_translation_invariant(step.kernel);
  });
}

// Whether K is defined for numbers >= 0 alone.
inline bool takes_no_negative(const KernelParams& kernel) {
  if (kernel.type != KernelType::composed)
    return kernel.type == KernelType::chi_squared ||
           kernel.type == KernelType::histogram_intersection;
  return std::ranges::any_of(kernel.steps, [](const KernelParams::Step& step) {
    return step.kind == CompositionStep::value && takes_no_negative(step.kernel);
  });
}

// Throws InvalidArgument where the kernel is not defined for a number.
inline void check_signs(const MatrixView& X, const KernelParams& kernel) {
  if (!takes_no_negative(kernel)) return;
  std::visit(
      [](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i)
          for (const auto value : view.row_values(i))
            if (value < 0)
              throw InvalidArgument("the kernel takes numbers >= 0, row " + std::to_string(i) +
                                    " of the samples has " + std::to_string(value));
      },
      X);
}

// How samples meet under the kernel; that of a composition is the one of its first part that is not
// constant.
inline simd::Pairing pairing_of(const KernelParams& kernel) {
  switch (kernel.type) {
  case KernelType::laplacian:
  case KernelType::histogram_intersection:
    return simd::Pairing::minimum;
  case KernelType::chi_squared:
    return simd::Pairing::harmonic;
  case KernelType::composed:
    for (const KernelParams::Step& step : kernel.steps)
      if (step.kind == CompositionStep::value && step.kernel.type != KernelType::constant)
        return pairing_of(step.kernel);
    return simd::Pairing::multiply;
  default:
    return simd::Pairing::multiply;
  }
}

// Whether K is a function of a distance: of products, exponentials alone are taken.
inline bool takes_distances_only(const KernelParams& kernel) {
  if (kernel.type == KernelType::composed)
    return std::ranges::all_of(kernel.steps, [](const KernelParams::Step& step) {
      return step.kind != CompositionStep::value || takes_distances_only(step.kernel);
    });
  return is_translation_invariant(kernel) || kernel.type == KernelType::chi_squared;
}

// About how many multiplications a pair of numbers takes as long as.
inline double products_of(simd::Pairing pairing) {
  switch (pairing) {
  case simd::Pairing::multiply:
    return 1.0;
  case simd::Pairing::squares:
    return 2.0;
  case simd::Pairing::minimum:
  case simd::Pairing::magnitudes:
    return 4.0;
  default:
    return 12.0;
  }
}

// And about how many the kernel's own function takes as long as.
inline constexpr double kFunctionProducts = 16.0;

// Throws InvalidArgument unless the steps leave one value, within the bounds of an Epilogue, and
// share one pairing.
inline void check_steps(const std::vector<KernelParams::Step>& steps) {
  int depth = 0, deepest = 0;
  const simd::Pairing pairing = pairing_of({.type = KernelType::composed, .steps = steps});
  for (const KernelParams::Step& step : steps) {
    depth += step.kind == CompositionStep::value ? 1 : -1;
    require(depth >= 1, "a composition takes a value that is not there");
    require(step.kind != CompositionStep::value || step.kernel.type == KernelType::constant ||
                pairing_of(step.kernel) == pairing,
            "the parts of a composition must all be functions of the same product");
    deepest = std::max(deepest, depth);
  }
  require(depth == 1, "a composition must leave one value");
  require(steps.size() <= static_cast<std::size_t>(simd::kMostSteps) &&
              deepest <= simd::kStackDepth,
          "a composition of too many kernels");
}

inline index_t n_factors(const KernelParams& kernel) {
  return std::ranges::count_if(kernel.steps,
                               [](const KernelParams::Step& step) { return step.has_factors; });
}

// `by_differences`: exponentials are taken of differences, not of products less half norms.
template <Real T>
simd::Leaf<T> leaf_of(const KernelParams& kernel, const Scaling& scaling, bool by_differences) {
  simd::Leaf<T> leaf;
  const double whole = by_differences ? 1.0 : 2.0; // distance of one unit of them
  const double square = scaling.square_factor(), unit = 1.0 / scaling.factor();
  leaf.offset = static_cast<T>(kernel.coef0);
  leaf.degree = kernel.degree;
  switch (kernel.type) {
  case KernelType::linear:
    leaf = {.transform = simd::Transform::identity, .scale = static_cast<T>(square)};
    break;
  case KernelType::polynomial:
    leaf.transform = simd::Transform::power;
    leaf.scale = static_cast<T>(kernel.gamma * square);
    break;
  case KernelType::rbf:
    // ||x - z||^2 = 2 (|x|^2 / 2 + |z|^2 / 2 - x.z)
    leaf.transform = simd::Transform::exponential;
    leaf.scale = static_cast<T>(whole * kernel.gamma * square);
    break;
  case KernelType::sigmoid:
    leaf.transform = simd::Transform::tanh;
    leaf.scale = static_cast<T>(kernel.gamma * square);
    break;
  case KernelType::power_sum:
    leaf.transform = simd::Transform::power_sum;
    leaf.scale = static_cast<T>(square);
    break;
  case KernelType::laplacian:
    // sum |x - z| = 2 (sum |x| / 2 + sum |z| / 2 - product)
    leaf.transform = simd::Transform::exponential;
    leaf.scale = static_cast<T>(whole * kernel.gamma * unit);
    break;
  case KernelType::chi_squared:
    // Half norms are sums of x / 4.
    leaf.transform = simd::Transform::exponential;
    leaf.scale = static_cast<T>(whole * whole * kernel.gamma * unit);
    break;
  case KernelType::histogram_intersection:
    leaf = {.transform = simd::Transform::identity, .scale = static_cast<T>(unit)};
    break;
  case KernelType::constant:
    leaf.transform = simd::Transform::power;
    leaf.degree = 0;
    break;
  case KernelType::precomputed: // there are no products
  case KernelType::composed:
    break;
  }
  return leaf;
}

// The weight of a value, or 1 where it goes into the base of a power.
template <Real T> double fold_weight(const KernelParams::Step& step, simd::Leaf<T>& leaf) {
  if (leaf.transform != simd::Transform::power || leaf.degree < 1 || !(step.weight > 0.0))
    return step.weight;
  const double root = std::pow(step.weight, 1.0 / leaf.degree);
  leaf.scale = static_cast<T>(leaf.scale * root);
  leaf.offset = static_cast<T>(leaf.offset * root);
  return 1.0;
}

// What dense_block and sparse_block need to turn products of packed samples into K.
// `by_differences`: dense_block forms differences for exponentials.
template <Real T>
simd::Epilogue<T> epilogue_of(const KernelParams& kernel, const Scaling& scaling,
                              bool by_differences = false) {
  simd::Epilogue<T> e;
  static_cast<simd::Leaf<T>&>(e) = leaf_of<T>(kernel, scaling, by_differences);
  e.pairing = e.of_exponentials = pairing_of(kernel);
  if (by_differences) e.of_exponentials = simd::differences_of(e.pairing);
  if (takes_distances_only(kernel)) e.pairing = e.of_exponentials;
  if (kernel.type != KernelType::composed) return e;
  check_steps(kernel.steps);
  e.transform = simd::Transform::composed;
  int n_factors = 0;
  for (const KernelParams::Step& step : kernel.steps) {
    simd::Step<T>& to = e.steps[e.n_steps++];
    to.kind = static_cast<simd::StepKind>(step.kind);
    to.leaf = leaf_of<T>(step.kernel, scaling, by_differences);
    to.weight = static_cast<T>(fold_weight(step, to.leaf));
    if (step.has_factors) to.factor = n_factors++;
  }
  return e;
}

} // namespace maxmargin
