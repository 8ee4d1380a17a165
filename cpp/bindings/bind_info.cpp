#include "base/parallel.hpp"
#include "bindings/pybind.hpp"

namespace maxmargin::bindings {

void bind_info(py::module_& m) {
  m.attr("__version__") = MAXMARGIN_VERSION;
  m.attr("compiler") = MAXMARGIN_COMPILER;
  m.def("thread_count", &thread_count, py::arg("requested") = 0,
        "Threads that a call with n_threads=requested would use; 0 is OpenMP's default.");
}

} // namespace maxmargin::bindings
