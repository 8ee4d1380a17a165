// The inside of the core, for tests and benchmarks. No wheel has it: MAXMARGIN_TESTING builds it.
#include "tests/internal/internal.hpp"

PYBIND11_MODULE(_core_internal, m, py::mod_gil_not_used()) {
  using namespace maxmargin::tests;
  m.doc() = "The inside of the C++ core, for tests and benchmarks.";
  py::module_::import("maxmargin._core"); // has the classes of arguments
  bind_kernels(m);
  bind_second_order(m);
}
