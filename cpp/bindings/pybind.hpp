#pragma once

// Every binding file includes pybind11 through here, so that all see the same type casters.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace maxmargin::bindings {

void bind_arrays(py::module_& m);
void bind_info(py::module_& m);
void bind_io(py::module_& m);
void bind_kernel_model(py::module_& m);
void bind_linear(py::module_& m);
void bind_online(py::module_& m);
void bind_perceptron(py::module_& m);
void bind_svm(py::module_& m);

} // namespace maxmargin::bindings
