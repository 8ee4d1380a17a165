// Questions about whole arrays, before or after they are learnt from.
#include "base/mapped_memory.hpp"
#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/pybind.hpp"
#include "simd/dispatch.hpp"

namespace maxmargin::bindings {
namespace {

template <Real T> double largest_of(const Array<T>& array) {
  const WithoutGil nogil;
  return simd::real_table<T>(simd::active_table()).largest_magnitude(array.data(), array.size());
}

double largest_magnitude(const py::array& array) {
  return holds<float>(array) ? largest_of<float>(array) : largest_of<double>(array);
}

void release(const py::array& array) {
  release_mapped(array.data(), static_cast<std::size_t>(array.nbytes()));
}

} // namespace

void bind_arrays(py::module_& m) {
  m.def("largest_magnitude", &largest_magnitude, py::arg("array"),
        "The greatest absolute value (0 of none), and infinite or NaN where an element is.");
  m.def(
      "release_mapped", &release, py::arg("array"),
      "Give back the memory pages of a read-only or shared mapped file (base/mapped_memory.hpp).");
}

} // namespace maxmargin::bindings
