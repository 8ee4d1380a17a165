#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/linear/linear_fit.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace maxmargin::bindings {
namespace {

linear::LinearLoss loss_named(const std::string& name) {
  if (name == "hinge") return linear::LinearLoss::hinge;
  if (name == "squared_hinge") return linear::LinearLoss::squared_hinge;
  if (name == "epsilon_insensitive") return linear::LinearLoss::epsilon_insensitive;
  require(name == "squared_epsilon_insensitive", "unknown loss '" + name + "'");
  return linear::LinearLoss::squared_epsilon_insensitive;
}

linear::LinearFormulation linear_formulation(const std::string& loss, const std::string& penalty,
                                             double epsilon, double intercept_scaling,
                                             bool is_multiclass) {
  require(penalty == "l1" || penalty == "l2", "unknown penalty '" + penalty + "'");
  return {loss_named(loss), penalty == "l1" ? linear::Penalty::l1 : linear::Penalty::l2, epsilon,
          intercept_scaling, is_multiclass};
}

linear::LinearOptions linear_options(double tol, index_t max_iter, double time_limit,
                                     std::uint64_t seed, int n_threads) {
  linear::LinearOptions options;
  options.tol = tol;
  options.max_iter = max_iter;
  options.time_limit = time_limit;
  options.seed = seed;
  options.threads = n_threads;
  return options;
}

template <class Get>
auto column(const std::vector<linear::LinearOutcome>& outcomes, const Get& get) {
  std::vector<std::decay_t<decltype(get(outcomes.front()))>> values;
  for (const linear::LinearOutcome& outcome : outcomes) values.push_back(get(outcome));
  return values;
}

py::dict to_dict(linear::LinearFit fit, index_t n_features) {
  const std::vector<linear::LinearOutcome>& all = fit.outcomes;
  const index_t n_functions = fit.n_functions, n_fits = std::ssize(fit.intercept) / n_functions;
  py::dict d;
  d["primal_objective"] = to_numpy(column(all, [](auto& m) { return m.primal_objective; }));
  d["dual_objective"] = to_numpy(column(all, [](auto& m) { return m.dual_objective; }));
  d["n_iter"] = to_numpy(column(all, [](auto& m) { return m.n_iter; }));
  d["n_free"] = to_numpy(column(all, [](auto& m) { return m.n_free; }));
  d["seconds"] = to_numpy(column(all, [](auto& m) { return m.seconds; }));
  d["stop_reason"] = column(all, [](auto& m) { return name_of(m.stop_reason); });
  d["coef"] = to_numpy(std::move(fit.coef), {n_fits, n_functions, n_features});
  d["intercept"] = to_numpy(std::move(fit.intercept), {n_fits, n_functions});
  return d;
}

// Calls fit(control) without the GIL.
template <class Fit> py::dict run(const MatrixView& X, const py::object& callback, const Fit& fit) {
  Control control(python_hook(callback));
  linear::LinearFit found;
  {
    const WithoutGil nogil;
    found = fit(control);
  }
  return to_dict(std::move(found), n_cols(X));
}

py::dict linear_svc_fit(const py::object& X, const Array<std::int64_t>& y,
                        const Array<double>& weight, const Array<double>& class_weight,
                        const Array<std::int64_t>& fold_of, index_t n_folds, const Array<double>& C,
                        const linear::LinearFormulation& formulation,
                        const linear::LinearOptions& options, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const linear::ClassSamples samples{
      view, span_of(y), span_of(weight), span_of(class_weight), span_of(fold_of), n_folds};
  return run(view, callback, [&](Control& control) {
    return linear::fit_linear_classifier(samples, span_of(C), formulation, options, control);
  });
}

py::dict linear_svr_fit(const py::object& X, const Array<double>& targets,
                        const Array<double>& weight, const Array<double>& C,
                        const linear::LinearFormulation& formulation,
                        const linear::LinearOptions& options, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  return run(view, callback, [&](Control& control) {
    return linear::fit_linear_regression(view, span_of(targets), span_of(weight), span_of(C),
                                         formulation, options, control);
  });
}

} // namespace

void bind_linear(py::module_& m) {
  py::class_<linear::LinearFormulation>(
      m, "LinearFormulation", "What a linear machine minimises; linear/linear_problem.hpp.")
      .def(py::init(&linear_formulation), py::kw_only(), py::arg("loss"), py::arg("penalty") = "l2",
           py::arg("epsilon") = 0.0, py::arg("intercept_scaling") = 1.0,
           py::arg("is_multiclass") = false);

  py::class_<linear::LinearOptions>(m, "LinearOptions",
                                    "How a linear machine is trained; linear/linear_problem.hpp.")
      .def(py::init(&linear_options), py::kw_only(), py::arg("tol") = 1e-4,
           py::arg("max_iter") = -1,
           py::arg("time_limit") = std::numeric_limits<double>::infinity(), py::arg("seed") = 0,
           py::arg("n_threads") = 0);

  m.def("linear_svc_fit", &linear_svc_fit, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("class_weight"), py::arg("fold_of"), py::arg("n_folds"), py::arg("C"),
        py::arg("formulation"), py::arg("options"), py::arg("callback") = py::none(),
        "Train linear classifiers for every fold left out (fold_of empty: none) and C "
        "(linear/linear_fit.hpp).");

  m.def("linear_svr_fit", &linear_svr_fit, py::arg("X"), py::arg("targets"), py::arg("weight"),
        py::arg("C"), py::arg("formulation"), py::arg("options"), py::arg("callback") = py::none(),
        "Train a linear regression for every C.");
}

} // namespace maxmargin::bindings
