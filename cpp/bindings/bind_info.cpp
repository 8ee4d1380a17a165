#include "base/parallel.hpp"
#include "bindings/pybind.hpp"
#include "simd/dispatch.hpp"

namespace maxmargin::bindings {

void bind_info(py::module_& m) {
  m.attr("__version__") = MAXMARGIN_VERSION;
  m.attr("compiler") = MAXMARGIN_COMPILER;
  m.def("thread_count", &thread_count, py::arg("requested") = 0,
        "Threads that a call with n_threads=requested would use; 0 is OpenMP's default.");
  m.def(
      "simd_targets",
      [] {
        std::vector<std::string> names;
        for (const simd::KernelTable* table : simd::supported_tables())
          names.push_back(table->name);
        return names;
      },
      "Instruction-set builds that this machine can run, the fastest last.");
  m.def(
      "active_target", [] { return std::string(simd::active_table().name); },
      "The instruction-set build in use.");
}

} // namespace maxmargin::bindings
