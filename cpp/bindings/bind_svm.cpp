#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "model/decision.hpp"
#include "svm/one_vs_one.hpp"

namespace maxmargin::bindings {
namespace {

KernelParams kernel_params(const std::string& type, double gamma, double coef0, int degree) {
  KernelParams kernel{KernelType::rbf, gamma, coef0, degree};
  if (type == "linear")
    kernel.type = KernelType::linear;
  else if (type == "poly")
    kernel.type = KernelType::polynomial;
  else if (type == "sigmoid")
    kernel.type = KernelType::sigmoid;
  else
    require(type == "rbf", "kernel must be linear, poly, rbf or sigmoid, got '" + type + "'");
  return kernel;
}

std::string type_name(const KernelParams& kernel) {
  switch (kernel.type) {
  case KernelType::linear:
    return "linear";
  case KernelType::polynomial:
    return "poly";
  case KernelType::rbf:
    return "rbf";
  case KernelType::sigmoid:
    return "sigmoid";
  }
  return "";
}

Precision precision_named(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "float64") return Precision::float64;
  require(name == "auto", "precision must be auto, float32 or float64, got '" + name + "'");
  return Precision::automatic;
}

template <class Get> auto column(const std::vector<Certificate>& certificates, const Get& get) {
  std::vector<std::decay_t<decltype(get(certificates.front()))>> values;
  for (const Certificate& c : certificates) values.push_back(get(c));
  return values;
}

py::dict to_dict(SvcFit&& fit) {
  const auto n_support = static_cast<py::ssize_t>(fit.support.size());
  const auto lines = static_cast<py::ssize_t>(fit.n_support.size()) - 1;
  const auto& machines = fit.certificates;
  py::dict d;
  d["dual_objective"] = to_numpy(column(machines, [](auto& c) { return c.dual_objective; }));
  d["primal_objective"] = to_numpy(column(machines, [](auto& c) { return c.primal_objective; }));
  d["kkt_violation"] = to_numpy(column(machines, [](auto& c) { return c.kkt_violation; }));
  d["n_iter"] = to_numpy(column(machines, [](auto& c) { return c.n_iter; }));
  d["kernel_rows"] = to_numpy(column(machines, [](auto& c) { return c.kernel_rows; }));
  d["cache_hits"] = to_numpy(column(machines, [](auto& c) { return c.cache_hits; }));
  d["cache_misses"] = to_numpy(column(machines, [](auto& c) { return c.cache_misses; }));
  d["seconds"] = to_numpy(column(machines, [](auto& c) { return c.seconds; }));
  d["stop_reason"] = column(machines, [](auto& c) { return name_of(c.stop_reason); });
  d["support"] = to_numpy(std::move(fit.support));
  d["n_support"] = to_numpy(std::move(fit.n_support));
  d["dual_coef"] = to_numpy(std::move(fit.dual_coef), {lines, n_support});
  d["rho"] = to_numpy(std::move(fit.rho));
  return d;
}

py::dict svc_fit(const py::object& X, const Array<std::int64_t>& y, index_t n_classes,
                 const Array<double>& upper, const KernelParams& kernel, double tol,
                 index_t max_iter, std::size_t cache_bytes, bool shrinking, double time_limit,
                 int n_threads, const py::object& callback, const std::string& precision) {
  const MatrixView view = matrix_view(X);
  require(y.size() == n_rows(view) && upper.size() == n_rows(view),
          "y and upper must have one element for every row of X");
  require(n_classes >= 2, "n_classes must be at least 2");
  for (const std::int64_t label : span_of(y))
    require(label >= 0 && label < n_classes, "y must hold numbers from 0 to n_classes - 1");
  SvcOptions options;
  options.solver = {tol, max_iter, shrinking, time_limit};
  options.cache_bytes = cache_bytes;
  options.threads = n_threads;
  options.precision = precision_named(precision);
  Control control(python_hook(callback));
  SvcFit fit;
  {
    const py::gil_scoped_release nogil;
    fit = train_one_vs_one(view, span_of(y), n_classes, span_of(upper), kernel, options, control);
  }
  return to_dict(std::move(fit));
}

std::unique_ptr<Decision> make_decision(const py::object& support_vectors,
                                        const Array<std::int64_t>& n_support,
                                        const Array<double>& dual_coef, const Array<double>& rho,
                                        const KernelParams& kernel) {
  return std::make_unique<Decision>(matrix_view(support_vectors), span_of(n_support),
                                    span_of(dual_coef), span_of(rho), kernel);
}

std::unique_ptr<Decision> make_one_vs_rest(const py::object& support_vectors,
                                           const Array<double>& dual_coef, const Array<double>& rho,
                                           const KernelParams& kernel) {
  return std::unique_ptr<Decision>(new Decision(Decision::one_vs_rest(
      matrix_view(support_vectors), span_of(dual_coef), span_of(rho), kernel)));
}

py::array_t<double> decision_function(const Decision& decision, const py::object& X,
                                      int n_threads) {
  const MatrixView view = matrix_view(X);
  std::vector<double> values(static_cast<std::size_t>(n_rows(view) * decision.n_machines()));
  Control control(python_hook(py::none()));
  {
    const py::gil_scoped_release nogil;
    decision.evaluate(view, values.data(), n_threads, control);
  }
  return to_numpy(std::move(values), {n_rows(view), decision.n_machines()});
}

} // namespace

void bind_svm(py::module_& m) {
  py::register_exception<Cancelled>(m, "Cancelled");
  py::register_exception<NumericError>(m, "NumericError", PyExc_ArithmeticError);

  py::class_<KernelParams>(m, "KernelParams", "A kernel's type and parameters.")
      .def(py::init(&kernel_params), py::arg("type"), py::arg("gamma") = 1.0,
           py::arg("coef0") = 0.0, py::arg("degree") = 3)
      .def_property_readonly("type", &type_name)
      .def_readonly("gamma", &KernelParams::gamma)
      .def_readonly("coef0", &KernelParams::coef0)
      .def_readonly("degree", &KernelParams::degree);

  m.def("svc_fit", &svc_fit, py::arg("X"), py::arg("y"), py::arg("n_classes"), py::arg("upper"),
        py::arg("kernel"), py::kw_only(), py::arg("tol") = 1e-3, py::arg("max_iter") = -1,
        py::arg("cache_bytes") = std::size_t{200} << 20, py::arg("shrinking") = true,
        py::arg("time_limit") = std::numeric_limits<double>::infinity(), py::arg("n_threads") = 0,
        py::arg("callback") = py::none(), py::arg("precision") = "auto",
        "Train one C-SVC for every pair of classes; see svm/one_vs_one.hpp.");

  py::class_<Decision>(m, "Decision", "Decision functions of trained machines, packed for reuse.")
      .def(py::init(&make_decision), py::arg("support_vectors"), py::arg("n_support"),
           py::arg("dual_coef"), py::arg("rho"), py::arg("kernel"))
      .def_static("one_vs_rest", &make_one_vs_rest, py::arg("support_vectors"),
                  py::arg("dual_coef"), py::arg("rho"), py::arg("kernel"))
      .def("decision_function", &decision_function, py::arg("X"), py::arg("n_threads") = 0);
}

} // namespace maxmargin::bindings
