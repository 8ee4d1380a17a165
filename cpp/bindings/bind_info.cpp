#include "bindings/pybind.hpp"
#include "maxmargin/base/cpu_limits.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/simd/dispatch.hpp"

// The name by which threadpoolctl distinguishes this library from others that are called _core.
extern "C" PYBIND11_EXPORT void maxmargin_core() {}

namespace maxmargin::bindings {

void bind_info(py::module_& m) {
  m.attr("__version__") = MAXMARGIN_VERSION;
  m.attr("compiler") = MAXMARGIN_COMPILER;
  m.def(
      "thread_count", &thread_count, py::arg("requested") = 0,
      "Threads that a call with n_threads=requested would use; 0 asks for as many as may be used.");
  py::class_<CpuLimits>(m, "CpuLimits",
                        "What limits the threads of the calling thread now; base/cpu_limits.hpp.")
      .def(py::init(&cpu_limits))
      .def_readonly("in_mask", &CpuLimits::in_mask)
      .def_readonly("quota", &CpuLimits::quota)
      .def_readonly("by_variable", &CpuLimits::by_variable)
      .def_readonly("variable", &CpuLimits::variable)
      .def_readonly("by_call", &CpuLimits::by_call);
  m.def("cpu_quota", &cpu_quota, py::arg("root") = "",
        "Processors by the quotas of control groups, from the files below root; 0 for none.");
  m.def("limit_threads", &limit_threads, py::arg("limit"),
        "Limits what the calling thread starts to so many threads; 0 takes the limit away.");
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
