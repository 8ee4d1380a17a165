#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "maxmargin/model/model_io.hpp"
#include "maxmargin/model/svmlight_io.hpp"

#include <optional>
#include <string>
#include <type_traits>

namespace maxmargin::bindings {
namespace {

// None is automatic.
IndexBase index_base(std::optional<bool> zero_based) {
  if (!zero_based) return IndexBase::automatic;
  return *zero_based ? IndexBase::zero : IndexBase::one;
}

std::string_view view_of(const py::bytes& text) {
  return static_cast<std::string_view>(text);
}

py::bytes to_bytes(const std::string& text) {
  return {text.data(), text.size()};
}

template <class I> py::dict to_dict(SvmlightData<I>&& data) {
  py::dict result;
  const index_t cols = data.X.cols;
  result["X"] =
      py::make_tuple(to_numpy(std::move(data.X.values)), to_numpy(std::move(data.X.indices)),
                     to_numpy(std::move(data.X.indptr)), cols);
  result["y"] = to_numpy(std::move(data.y));
  result["query_id"] = to_numpy(std::move(data.query_ids));
  return result;
}

py::dict read_svmlight_bytes(const py::bytes& data, std::optional<bool> zero_based,
                             std::optional<index_t> n_features, bool query_id) {
  const std::string_view text = view_of(data);
  const SvmlightOptions options{index_base(zero_based), n_features.value_or(-1), query_id};
  AnySvmlightData parsed = [&] {
    Control control(python_hook(py::none()));
    const WithoutGil nogil;
    return read_svmlight(text, options, control);
  }();
  return std::visit([](auto& any) { return to_dict(std::move(any)); }, parsed);
}

py::bytes write_svmlight_rows(const py::object& X, const Array<double>& y, index_t begin,
                              index_t end, bool zero_based) {
  const MatrixView view = matrix_view(X);
  const auto labels = span_of(y);
  std::string text;
  {
    const WithoutGil nogil;
    write_svmlight(view, labels, begin, end, zero_based, text);
  }
  return to_bytes(text);
}

py::dict to_dict(SvmModel&& model) {
  const auto rows = static_cast<py::ssize_t>(model.n_coef_rows());
  SupportVectors& vectors = model.support_vectors;
  py::dict result;
  result["type"] = std::string(name_of(model.type));
  result["kernel"] = model.kernel;
  result["labels"] = to_numpy(std::move(model.labels));
  result["n_support"] = to_numpy(std::move(model.n_support));
  result["dual_coef"] = to_numpy(std::move(model.dual_coef), {rows, vectors.rows});
  result["rho"] = to_numpy(std::move(model.rho));
  const auto n_sigmoids = static_cast<py::ssize_t>(model.prob_a.size());
  std::vector<double> sigmoids = std::move(model.prob_a);
  sigmoids.insert(sigmoids.end(), model.prob_b.begin(), model.prob_b.end());
  result["sigmoids"] = to_numpy(std::move(sigmoids), {2, n_sigmoids});
  result["noise_scale"] = model.noise_scale;
  result["support_vectors"] =
      py::make_tuple(to_numpy(std::move(vectors.values)), to_numpy(std::move(vectors.indices)),
                     to_numpy(std::move(vectors.indptr)), vectors.cols);
  return result;
}

py::dict read_model_bytes(const py::bytes& data, std::optional<bool> zero_based,
                          std::optional<index_t> n_features) {
  const std::string_view text = view_of(data);
  SvmModel model;
  std::vector<index_t> vote_order; // the classes, by ascending label, in the order of the file
  {
    const WithoutGil nogil;
    const SvmModel in_file = read_model(text, index_base(zero_based), n_features.value_or(-1));
    const std::vector<index_t> ascending = ascending_order(in_file);
    model = is_classifier(in_file.type) ? with_class_order(in_file, ascending) : in_file;
    vote_order = inverse_order(ascending, in_file.n_classes());
  }
  py::dict result = to_dict(std::move(model));
  result["vote_order"] = to_numpy(std::move(vote_order));
  return result;
}

template <class T> std::vector<T> to_vector(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

SupportVectors to_support_vectors(const MatrixView& X) {
  SupportVectors vectors;
  vectors.cols = n_cols(X);
  const auto append = [&](index_t column, double value) {
    vectors.indices.push_back(column);
    vectors.values.push_back(value);
  };
  std::visit(
      [&](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i) {
          if constexpr (is_dense<std::decay_t<decltype(view)>>) {
            for (index_t j = 0; j < view.cols; ++j) append(j, static_cast<double>(view.row(i)[j]));
          } else {
            const auto values = view.row_values(i);
            for (std::size_t p = 0; p < values.size(); ++p)
              append(static_cast<index_t>(view.row_indices(i)[p]), static_cast<double>(values[p]));
          }
          vectors.indptr.push_back(static_cast<std::int64_t>(vectors.values.size()));
        }
        vectors.rows = view.rows;
      },
      X);
  return vectors;
}

py::bytes write_model_bytes(const KernelParams& kernel, const Array<double>& labels,
                            const Array<index_t>& n_support, const Array<double>& dual_coef,
                            const Array<double>& rho, const py::object& support_vectors,
                            const Array<index_t>& vote_order, const std::string& type,
                            const Array<double>& sigmoids, std::optional<double> noise_scale) {
  SvmModel model;
  model.type = type_named(type);
  model.kernel = kernel;
  model.labels = to_vector(labels);
  model.n_support = to_vector(n_support);
  model.dual_coef = to_vector(dual_coef);
  model.rho = to_vector(rho);
  const auto n_sigmoids = sigmoids.size() / 2;
  model.prob_a.assign(sigmoids.data(), sigmoids.data() + n_sigmoids);
  model.prob_b.assign(sigmoids.data() + n_sigmoids, sigmoids.data() + 2 * n_sigmoids);
  model.noise_scale = noise_scale;
  const MatrixView view = matrix_view(support_vectors);
  const std::vector<index_t> order = to_vector(vote_order);
  std::string text;
  {
    const WithoutGil nogil;
    model.support_vectors = to_support_vectors(view);
    text = write_model(model, order);
  }
  return to_bytes(text);
}

} // namespace

void bind_io(py::module_& m) {
  m.def("read_svmlight", &read_svmlight_bytes, py::arg("data"), py::arg("zero_based"),
        py::arg("n_features"), py::arg("query_id"),
        "Parse svmlight text. Returns X as a CSR tuple, y, and query_id (empty unless asked for).");
  m.def("write_svmlight", &write_svmlight_rows, py::arg("X"), py::arg("y"), py::arg("begin"),
        py::arg("end"), py::arg("zero_based"), "The rows [begin, end) as svmlight text.");
  m.def("read_model", &read_model_bytes, py::arg("data"), py::arg("zero_based") = py::none(),
        py::arg("n_features") = py::none(),
        "Parse a LIBSVM model, its classes put in ascending order.");
  m.def("write_model", &write_model_bytes, py::arg("kernel"), py::arg("labels"),
        py::arg("n_support"), py::arg("dual_coef"), py::arg("rho"), py::arg("support_vectors"),
        py::arg("vote_order"), py::arg("type") = "c_svc",
        py::arg("sigmoids") = Array<double>(std::vector<py::ssize_t>{2, 0}),
        py::arg("noise_scale") = py::none(),
        "The text of a LIBSVM model, its classes in the order vote_order.");
}

} // namespace maxmargin::bindings
