// Questions about whole arrays, before or after they are learnt from.
#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/mapped_memory.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/column_scan.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <cmath>
#include <tuple>

namespace maxmargin::bindings {
namespace {

// Calls part(begin, end) for parts of [0, n), in which there are so many elements.
template <class Part> void in_parts(index_t n, index_t n_elements, const Part& part) {
  const index_t n_parts = n_elements / static_cast<index_t>(kPolled) + 1;
  Control control(interrupt_hook(static_cast<double>(n_elements)));
  const WithoutGil nogil;
  parallel_ranges(n, n / n_parts + 1, 1, control,
                  [&](index_t begin, index_t end, int) { part(begin, end); });
}

template <Real T> double largest_of(const Array<T>& array) {
  const auto& table = simd::real_table<T>();
  double largest = 0.0;
  in_parts(array.size(), array.size(), [&](index_t begin, index_t end) {
    const double part = table.largest_magnitude(array.data() + begin, end - begin);
    if (!(part <= largest)) largest = std::isnan(largest) ? largest : part;
  });
  return largest;
}

double largest_magnitude(const py::array& array) {
  return holds<float>(array) ? largest_of<float>(array) : largest_of<double>(array);
}

template <class I> ColumnScan scan_of(const Array<I>& indices, const Array<I>& indptr) {
  require(indptr.size() >= 1 && indptr.at(indptr.size() - 1) <= indices.size(),
          "indices are fewer than indptr counts");
  ColumnScan all;
  in_parts(indptr.size() - 1, indices.size(), [&](index_t begin, index_t end) {
    all.add(scan_columns(span_of(indices), span_of(indptr).subspan(begin, end - begin + 1)));
  });
  return all;
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
