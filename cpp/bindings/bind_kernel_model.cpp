#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "maxmargin/model/kernel_model.hpp"
#include "maxmargin/model/model_io.hpp"
#include "maxmargin/model/noise.hpp"
#include "maxmargin/model/votes.hpp"

#include <optional>
#include <string>

namespace maxmargin::bindings {
namespace {

template <class T> std::vector<T> vector_of(const std::optional<Array<T>>& array) {
  const std::span<const T> values = span_of(array);
  return {values.begin(), values.end()};
}

std::unique_ptr<KernelModel> make_model(
    const std::string& type, const KernelParams& kernel, index_t n_features,
    const py::object& support_vectors, const Array<double>& dual_coef, const Array<double>& rho,
    const std::optional<Array<index_t>>& n_support, const std::optional<Array<index_t>>& vote_order,
    const std::optional<Array<double>>& labels, const std::optional<Array<index_t>>& support,
    const std::optional<Array<double>>& equivalent, const std::optional<Array<double>>& sigmoids,
    std::optional<double> noise_scale, const std::optional<Array<double>>& density_marks) {
  KernelModelParts parts;
  parts.type = type_named(type);
  parts.kernel = kernel;
  parts.n_features = n_features;
  parts.support_vectors = copy_of(matrix_view(support_vectors));
  parts.dual_coef = vector_of<double>(dual_coef);
  parts.rho = vector_of<double>(rho);
  parts.n_support = vector_of(n_support);
  parts.vote_order = vector_of(vote_order);
  parts.labels = vector_of(labels);
  parts.support = vector_of(support);
  parts.equivalent = vector_of(equivalent);
  const std::span<const double> both = span_of(sigmoids);
  require(both.size() % 2 == 0, "sigmoids must have two rows");
  parts.prob_a.assign(both.begin(), both.begin() + std::ssize(both) / 2);
  parts.prob_b.assign(both.begin() + std::ssize(both) / 2, both.end());
  parts.noise_scale = noise_scale;
  parts.density_marks = vector_of(density_marks);
  return std::make_unique<KernelModel>(std::move(parts));
}

// Products that the values of all machines take, at most.
double n_products(const KernelModelParts& parts, const MatrixView& X) {
  return 1.0 * n_rows(X) * parts.n_support_vectors() * (n_cols(X) + parts.n_machines());
}

py::array_t<double> decision_values(const KernelModel& model, const py::object& X, int n_threads,
                                    const std::optional<Array<double>>& factors) {
  const MatrixView view = matrix_view(X);
  const std::span<const double> given = span_of(factors);
  py::array_t<double> values({n_rows(view), model.parts().n_machines()});
  double* const out = values.mutable_data();
  without_gil(n_products(model.parts(), view), [&](Control& control) {
    model.decision_values(view, given, out, n_threads, control);
  });
  return values;
}

py::array_t<double> predict(const KernelModel& model, const py::object& X, int n_threads) {
  const MatrixView view = matrix_view(X);
  return to_numpy(without_gil(n_products(model.parts(), view), [&](Control& control) {
    return model.predict(view, n_threads, control);
  }));
}

py::tuple expansion(const KernelModel& model, index_t machine) {
  KernelModel::Expansion expansion = model.expansion(machine);
  return py::make_tuple(to_numpy(std::move(expansion.places)), to_numpy(std::move(expansion.beta)));
}

// n_classes values for every sample, two of a one-class model.
py::array_t<double> by_class(const KernelModel& model, std::vector<double>&& values) {
  const index_t n_classes = std::max<index_t>(2, model.parts().n_classes());
  return to_numpy(std::move(values), {std::ssize(values) / n_classes, n_classes});
}

py::bytes to_libsvm(const KernelModel& model, const std::optional<Array<double>>& labels) {
  std::vector<double> numbers = vector_of(labels);
  const std::string text = without_gil(
      [&](Control& control) { return write_model(model, std::move(numbers), control); });
  return {text.data(), text.size()};
}

std::unique_ptr<KernelModel> from_libsvm(const py::bytes& data, std::optional<bool> zero_based,
                                         std::optional<index_t> n_features) {
  const auto text = static_cast<std::string_view>(data);
  const IndexBase base = index_base(zero_based);
  Control control(python_hook(py::none()));
  const WithoutGil nogil;
  return std::make_unique<KernelModel>(read_model(text, base, n_features.value_or(-1), control));
}

// A property that shows a vector of the parts without a copy.
template <class T> auto shown(std::vector<T> KernelModelParts::* member) {
  return [member](const py::object& self) {
    const std::vector<T>& values = py::cast<const KernelModel&>(self).parts().*member;
    return view_in(values, {std::ssize(values)}, self);
  };
}

} // namespace

void bind_kernel_model(py::module_& m) {
  using Parts = KernelModelParts;
  const auto parts_of = [](const py::object& self) -> const Parts& {
    return py::cast<const KernelModel&>(self).parts();
  };
  py::class_<KernelModel>(m, "KernelModel", "A trained kernel machine; model/kernel_model.hpp.")
      .def(py::init(&make_model), py::arg("type"), py::arg("kernel"), py::arg("n_features"),
           py::arg("support_vectors"), py::arg("dual_coef"), py::arg("rho"),
           py::arg("n_support") = py::none(), py::arg("vote_order") = py::none(),
           py::arg("labels") = py::none(), py::arg("support") = py::none(),
           py::arg("equivalent") = py::none(), py::arg("sigmoids") = py::none(),
           py::arg("noise_scale") = py::none(), py::arg("density_marks") = py::none())
      .def_property_readonly(
          "type", [](const KernelModel& model) { return std::string(name_of(model.parts().type)); })
      .def_property_readonly("kernel",
                             [](const KernelModel& model) { return model.parts().kernel; })
      .def_property_readonly("n_features",
                             [](const KernelModel& model) { return model.parts().n_features; })
      .def_property_readonly(
          "support_vectors",
          [=](const py::object& self) { return matrix_in(parts_of(self).support_vectors, self); })
      .def_property_readonly(
          "dual_coef",
          [=](const py::object& self) {
            const Parts& parts = parts_of(self);
            return view_in(parts.dual_coef, {parts.n_coef_rows(), parts.n_support_vectors()}, self);
          })
      .def_property_readonly("rho", shown(&Parts::rho))
      .def_property_readonly("n_support", shown(&Parts::n_support))
      .def_property_readonly("vote_order", shown(&Parts::vote_order))
      .def_property_readonly("labels", shown(&Parts::labels))
      .def_property_readonly("support", shown(&Parts::support))
      .def_property_readonly("equivalent", shown(&Parts::equivalent))
      .def_property_readonly("sigmoids",
                             [](const KernelModel& model) {
                               const Parts& parts = model.parts();
                               std::vector<double> both = parts.prob_a;
                               both.insert(both.end(), parts.prob_b.begin(), parts.prob_b.end());
                               return to_numpy(std::move(both), {2, std::ssize(parts.prob_a)});
                             })
      .def_property_readonly("noise_scale",
                             [](const KernelModel& model) { return model.parts().noise_scale; })
      .def_property_readonly("density_marks", shown(&Parts::density_marks))
      .def_property_readonly("is_calibrated", &KernelModel::is_calibrated)
      .def_property_readonly("n_machines",
                             [](const KernelModel& model) { return model.parts().n_machines(); })
      .def("expansion", &expansion, py::arg("machine"),
           "Which support vectors the machine uses, and their coefficients.")
      .def("decision_values", &decision_values, py::arg("X"), py::arg("n_threads") = 0,
           py::arg("factors") = py::none())
      .def("predict", &predict, py::arg("X"), py::arg("n_threads") = 0,
           "What it says of every sample, in numbers, for a kernel without factors.")
      .def(
          "vote_winners",
          [](const KernelModel& model, const Array<double>& values) {
            return to_numpy(model.vote_winners(span_of(values)));
          },
          py::arg("values"))
      .def(
          "class_scores",
          [](const KernelModel& model, const Array<double>& values) {
            return by_class(model, model.class_scores(span_of(values)));
          },
          py::arg("values"))
      .def(
          "probabilities",
          [](const KernelModel& model, const Array<double>& values) {
            return by_class(model, model.probabilities(span_of(values)));
          },
          py::arg("values"))
      .def("to_libsvm", &to_libsvm, py::arg("labels") = py::none(),
           "The text of LIBSVM's model file, its classes in the order of votes.")
      .def_static("from_libsvm", &from_libsvm, py::arg("data"), py::arg("zero_based") = py::none(),
                  py::arg("n_features") = py::none(),
                  "The model of such a text, its classes in ascending order.");
  m.def(
      "density_marks",
      [](const Array<double>& values, const Array<double>& counts) {
        return to_numpy(density_marks(span_of(values), span_of(counts)));
      },
      py::arg("values"), py::arg("counts"),
      "The marks of a one-class model's probabilities; empty where too few values count.");
  m.def(
      "fit_sigmoid",
      [](const Array<double>& values, const Array<bool>& is_first, const Array<double>& counts) {
        const Sigmoid found = without_gil([&](Control& control) {
          return fit_sigmoid(span_of(values), span_of(is_first), span_of(counts), control);
        });
        return std::pair(found.a, found.b);
      },
      py::arg("values"), py::arg("is_first"), py::arg("counts"),
      "A and B of the sigmoid 1 / (1 + exp(A f + B)) of greatest likelihood.");
  m.def(
      "noise_scale", [](const Array<double>& errors) { return noise_scale(span_of(errors)); },
      py::arg("errors"), "The scale of the Laplace distribution of a regression's errors.");
}

} // namespace maxmargin::bindings
