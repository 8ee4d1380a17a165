#pragma once

#include "base/types.hpp"
#include "data/scaling.hpp"
#include "kernel/kernel_params.hpp"
#include "simd/kernel_table.hpp"

namespace maxmargin {

// K depends on x - z only, so samples may be centred first.
constexpr bool is_translation_invariant(KernelType type) {
  return type == KernelType::rbf;
}

// What dense_block and sparse_block need to turn products of packed samples into K.
template <Real T>
simd::Epilogue<T> epilogue_of(const KernelParams& kernel, const Scaling& scaling) {
  simd::Epilogue<T> e;
  const double square = scaling.square_factor();
  e.offset = static_cast<T>(kernel.coef0);
  e.degree = kernel.degree;
  switch (kernel.type) {
  case KernelType::linear:
    e.transform = simd::Transform::identity;
    e.scale = static_cast<T>(square);
    break;
  case KernelType::polynomial:
    e.transform = simd::Transform::power;
    e.scale = static_cast<T>(kernel.gamma * square);
    break;
  case KernelType::rbf:
    // ||x - z||^2 = 2 (|x|^2 / 2 + |z|^2 / 2 - x.z)
    e.transform = simd::Transform::gaussian;
    e.scale = static_cast<T>(2.0 * kernel.gamma * square);
    break;
  case KernelType::sigmoid:
    e.transform = simd::Transform::tanh;
    e.scale = static_cast<T>(kernel.gamma * square);
    break;
  }
  return e;
}

} // namespace maxmargin
