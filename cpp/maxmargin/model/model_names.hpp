#pragma once

#include "maxmargin/model/kernel_model.hpp"

#include <array>
#include <string_view>

namespace maxmargin {

// The words of LIBSVM's model files.
inline constexpr std::array<std::string_view, 5> kTypeNames = {
    "c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"}; // by SvmType

inline bool uses_gamma(KernelType type) {
  return type != KernelType::linear && type != KernelType::precomputed;
}
inline bool uses_coef0(KernelType type) {
  return type == KernelType::polynomial || type == KernelType::sigmoid;
}
inline bool uses_degree(KernelType type) {
  return type == KernelType::polynomial;
}

} // namespace maxmargin
