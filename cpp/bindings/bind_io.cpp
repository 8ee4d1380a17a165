#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "maxmargin/model/svmlight_io.hpp"

#include <optional>
#include <string>
#include <variant>

namespace maxmargin::bindings {
namespace {

py::tuple read_svmlight_bytes(const py::bytes& data, std::optional<bool> zero_based,
                              std::optional<index_t> n_features, bool query_id, bool multilabel) {
  const auto text = static_cast<std::string_view>(data);
  const SvmlightOptions options{index_base(zero_based), n_features.value_or(-1), query_id,
                                multilabel};
  AnySvmlightData parsed =
      without_gil([&](Control& control) { return read_svmlight(text, options, control); });
  return std::visit(
      [](auto& read) {
        const py::tuple X =
            py::make_tuple(to_numpy(std::move(read.X.values)), to_numpy(std::move(read.X.indices)),
                           to_numpy(std::move(read.X.indptr)), read.X.cols);
        return py::make_tuple(X, to_numpy(std::move(read.y)), to_numpy(std::move(read.query_ids)),
                              to_numpy(std::move(read.label_ends)));
      },
      parsed);
}

py::bytes write_svmlight_rows(const py::object& X, const Array<double>& y, index_t begin,
                              index_t end, bool zero_based,
                              const std::optional<Array<index_t>>& label_ends,
                              const std::optional<Array<std::int64_t>>& query_ids) {
  const MatrixView view = matrix_view(X);
  const SvmlightTargets targets{span_of(y), span_of(label_ends), span_of(query_ids)};
  std::string text;
  {
    const WithoutGil nogil;
    write_svmlight(view, targets, begin, end, zero_based, text);
  }
  return {text.data(), text.size()};
}

} // namespace

void bind_io(py::module_& m) {
  m.def("read_svmlight", &read_svmlight_bytes, py::arg("data"), py::arg("zero_based"),
        py::arg("n_features"), py::arg("query_id"), py::arg("multilabel") = false,
        "Parse svmlight text. Returns X as a CSR tuple, y, query_id (empty unless asked for), and "
        "of multilabel data where the labels of each sample end in y.");
  m.def("write_svmlight", &write_svmlight_rows, py::arg("X"), py::arg("y"), py::arg("begin"),
        py::arg("end"), py::arg("zero_based"), py::arg("label_ends") = py::none(),
        py::arg("query_ids") = py::none(), "The rows [begin, end) as svmlight text.");
}

} // namespace maxmargin::bindings
