#pragma once

#include "bindings/pybind.hpp"

namespace maxmargin::tests {

using namespace bindings;

void bind_kernels(py::module_& internal);
void bind_second_order(py::module_& internal);

} // namespace maxmargin::tests
