// Questions about whole arrays, before or after they are learnt from.
#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/mapped_memory.hpp"
#include "maxmargin/data/column_scan.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <tuple>

namespace maxmargin::bindings {
namespace {

template <Real T> double largest_of(const Array<T>& array) {
  const WithoutGil nogil;
  return simd::real_table<T>(simd::active_table()).largest_magnitude(array.data(), array.size());
}

double largest_magnitude(const py::array& array) {
  return holds<float>(array) ? largest_of<float>(array) : largest_of<double>(array);
}

template <class I> ColumnScan scan_of(const Array<I>& indices, const Array<I>& indptr) {
  require(indptr.size() >= 1 && indptr.at(indptr.size() - 1) <= indices.size(),
          "indices are fewer than indptr counts");
  const WithoutGil nogil;
  return scan_columns(span_of(indices), span_of(indptr));
}

std::tuple<index_t, index_t, bool> scan(const py::array& indices, const py::array& indptr) {
  const ColumnScan found = holds<std::int32_t>(indices) ? scan_of<std::int32_t>(indices, indptr)
                                                        : scan_of<std::int64_t>(indices, indptr);
  return {found.least, found.greatest, found.ascend};
}

void release(const py::array& array) {
  release_mapped(array.data(), static_cast<std::size_t>(array.nbytes()));
}

} // namespace

void bind_arrays(py::module_& m) {
  m.def("largest_magnitude", &largest_magnitude, py::arg("array"),
        "The greatest absolute value (0 of none), and infinite or NaN where an element is.");
  m.def(
      "scan_columns", &scan, py::arg("indices"), py::arg("indptr"),
      "The least and the greatest of the column indices of compressed sparse rows, and whether "
      "they ascend strictly in every row. Both arrays are int32 or both int64, and indptr ascends "
      "from 0.");
  m.def(
      "release_mapped", &release, py::arg("array"),
      "Give back the memory pages of a read-only or shared mapped file (base/mapped_memory.hpp).");
}

} // namespace maxmargin::bindings
