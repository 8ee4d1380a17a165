#pragma once

#include "base/error.hpp"
#include "base/types.hpp"
#include "data/scaling.hpp"
#include "kernel/kernel_params.hpp"
#include "simd/kernel_table.hpp"

#include <algorithm>

namespace maxmargin {

// K depends on x - z only, so samples may be centred first.
inline bool is_translation_invariant(const KernelParams& kernel) {
  if (kernel.type != KernelType::composed)
    return kernel.type == KernelType::rbf || kernel.type == KernelType::constant;
  return std::ranges::all_of(kernel.steps, [](const KernelParams::Step& step) {
    return step.kind != CompositionStep::value || is_translation_invariant(step.kernel);
  });
}

// Throws InvalidArgument unless the steps leave one value, within the bounds of an Epilogue.
inline void check_steps(const std::vector<KernelParams::Step>& steps) {
  int depth = 0, deepest = 0;
  for (const KernelParams::Step& step : steps) {
    depth += step.kind == CompositionStep::value ? 1 : -1;
    require(depth >= 1, "a composition takes a value that is not there");
    deepest = std::max(deepest, depth);
  }
  require(depth == 1, "a composition must leave one value");
  require(steps.size() <= static_cast<std::size_t>(simd::kMostSteps) &&
              deepest <= simd::kStackDepth,
          "a composition of too many kernels");
}

template <Real T> simd::Leaf<T> leaf_of(const KernelParams& kernel, const Scaling& scaling) {
  simd::Leaf<T> leaf;
  const double square = scaling.square_factor();
  leaf.offset = static_cast<T>(kernel.coef0);
  leaf.degree = kernel.degree;
  switch (kernel.type) {
  case KernelType::linear:
    leaf.transform = simd::Transform::identity;
    leaf.scale = static_cast<T>(square);
    break;
  case KernelType::polynomial:
    leaf.transform = simd::Transform::power;
    leaf.scale = static_cast<T>(kernel.gamma * square);
    break;
  case KernelType::rbf:
    // ||x - z||^2 = 2 (|x|^2 / 2 + |z|^2 / 2 - x.z)
    leaf.transform = simd::Transform::gaussian;
    leaf.scale = static_cast<T>(2.0 * kernel.gamma * square);
    break;
  case KernelType::sigmoid:
    leaf.transform = simd::Transform::tanh;
    leaf.scale = static_cast<T>(kernel.gamma * square);
    break;
  case KernelType::power_sum:
    leaf.transform = simd::Transform::power_sum;
    leaf.scale = static_cast<T>(square);
    break;
  case KernelType::constant:
    leaf.transform = simd::Transform::constant;
    break;
  case KernelType::precomputed: // there are no products
  case KernelType::composed:
    break;
  }
  return leaf;
}

// What dense_block and sparse_block need to turn products of packed samples into K.
template <Real T>
simd::Epilogue<T> epilogue_of(const KernelParams& kernel, const Scaling& scaling) {
  simd::Epilogue<T> e;
  static_cast<simd::Leaf<T>&>(e) = leaf_of<T>(kernel, scaling);
  if (kernel.type != KernelType::composed) return e;
  check_steps(kernel.steps);
  e.transform = simd::Transform::composed;
  for (const KernelParams::Step& step : kernel.steps) {
    simd::Step<T>& to = e.steps[e.n_steps++];
    to.kind = static_cast<simd::StepKind>(step.kind);
    to.leaf = leaf_of<T>(step.kernel, scaling);
    to.weight = static_cast<T>(step.weight);
  }
  return e;
}

} // namespace maxmargin
