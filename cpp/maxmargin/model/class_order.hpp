#pragma once

#include "maxmargin/model/kernel_model.hpp"

#include <vector>

namespace maxmargin {

// order[inverse[i]] = i. Requires a permutation.
std::vector<index_t> inverse_order(const std::vector<index_t>& order);

// The same decision functions with class order[i] in place i; a machine whose classes change places
// changes its sign. Requires a classifier and a permutation.
KernelModelParts with_class_order(const KernelModelParts& parts, const std::vector<index_t>& order);

} // namespace maxmargin
