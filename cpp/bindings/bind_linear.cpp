#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"

#include <memory>
#include <string>
#include <utility>

namespace maxmargin::bindings {
namespace {

using linear::LinearOutcome;

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

// For every fold and C, the model and the outcome of every machine.
using Trained = std::vector<std::pair<std::unique_ptr<LinearModel>, std::vector<LinearOutcome>>>;

// Calls train(control) without the GIL.
template <class Train> Trained train_by(const py::object& callback, const Train& train) {
  Trained all;
  for (LinearTraining& one : without_gil(train, callback))
    all.emplace_back(std::make_unique<LinearModel>(std::move(one.model)), std::move(one.outcomes));
  return all;
}

Trained linear_svc_fit(const py::object& X, const Array<index_t>& y, const Array<double>& weight,
                       const Array<double>& class_weight, const Array<index_t>& fold_of,
                       index_t n_folds, const Array<double>& C,
                       const linear::LinearFormulation& formulation,
                       const linear::LinearOptions& options, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const linear::ClassSamples samples{
      view, span_of(y), span_of(weight), span_of(class_weight), span_of(fold_of), n_folds};
  return train_by(callback, [&](Control& control) {
    return train_linear_classifier(samples, span_of(C), formulation, options, control);
  });
}

Trained linear_svr_fit(const py::object& X, const Array<double>& targets,
                       const Array<double>& weight, const Array<double>& C,
                       const linear::LinearFormulation& formulation,
                       const linear::LinearOptions& options, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  return train_by(callback, [&](Control& control) {
    return train_linear_regression(view, span_of(targets), span_of(weight), span_of(C), formulation,
                                   options, control);
  });
}

std::unique_ptr<LinearModel> make_linear_model(const Array<double>& coef,
                                               const Array<double>& intercept, index_t n_classes) {
  require(coef.ndim() == 2 && intercept.ndim() == 1 && coef.shape(0) == intercept.shape(0),
          "coef must have a row for every element of intercept");
  const auto w = span_of(coef), b = span_of(intercept);
  return std::make_unique<LinearModel>(
      LinearModelParts{coef.shape(1), n_classes, {w.begin(), w.end()}, {b.begin(), b.end()}});
}

// Arrays of a model's memory. Users may write to them, as to those of scikit-learn's estimators.
py::array_t<double> coef_of(const py::object& self) {
  const LinearModelParts& parts = py::cast<const LinearModel&>(self).parts();
  return py::array_t<double>({parts.n_functions(), parts.n_features}, parts.coef.data(), self);
}
py::array_t<double> intercept_of(const py::object& self) {
  const LinearModelParts& parts = py::cast<const LinearModel&>(self).parts();
  return py::array_t<double>(parts.n_functions(), parts.intercept.data(), self);
}

double n_products(const LinearModel& model, const MatrixView& X) {
  return 1.0 * n_stored(X) * model.parts().n_functions();
}

void bind_model(py::module_& m) {
  const auto n_classes = [](const LinearModel& model) { return model.parts().n_classes; };
  py::class_<LinearModel>(m, "LinearModel",
                          "A trained linear machine; model/linear/linear_model.hpp.")
      .def(py::init(&make_linear_model), py::arg("coef"), py::arg("intercept"),
           py::arg("n_classes") = 0)
      .def_property_readonly("coef", &coef_of)
      .def_property_readonly("intercept", &intercept_of)
      .def_property_readonly("n_classes", n_classes)
      .def(
          "decision_values",
          [](const LinearModel& model, const py::object& X, int n_threads, bool is_mapped) {
            const MatrixView view = matrix_view(X);
            return to_numpy(without_gil(n_products(model, view),
                                        [&](Control& control) {
                                          return model.decision_values(view, n_threads, control,
                                                                       is_mapped);
                                        }),
                            {n_rows(view), model.parts().n_functions()});
          },
          py::arg("X"), py::arg("n_threads") = 0, py::arg("is_mapped") = false)
      .def(
          "predict",
          [](const LinearModel& model, const py::object& X, int n_threads) {
            const MatrixView view = matrix_view(X);
            return to_numpy(without_gil(n_products(model, view), [&](Control& control) {
              return model.predict(view, n_threads, control);
            }));
          },
          py::arg("X"), py::arg("n_threads") = 0, "Numbers of classes, or the values themselves.")
      // Unlike py::pickle, also for protocols 0 and 1.
      .def("__reduce__", [](const py::object& self) {
        return py::make_tuple(py::type::of(self), py::make_tuple(coef_of(self), intercept_of(self),
                                                                 self.attr("n_classes")));
      });

  py::class_<LinearOutcome>(m, "LinearOutcome", "What training says of a machine.")
      .def(py::init<>())
      .def_readonly("primal_objective", &LinearOutcome::primal_objective)
      .def_readonly("dual_objective", &LinearOutcome::dual_objective)
      .def_readonly("n_iter", &LinearOutcome::n_iter)
      .def_readonly("n_free", &LinearOutcome::n_free)
      .def_readonly("seconds", &LinearOutcome::seconds)
      .def_property_readonly("stop_reason", [](const LinearOutcome& outcome) {
        return optim::name_of(outcome.stop_reason);
      });
}

} // namespace

void bind_linear(py::module_& m) {
  bind_model(m);
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
           py::arg("n_threads") = 0)
      .def_readonly("n_threads", &linear::LinearOptions::threads)
      .def_readwrite("time_limit", &linear::LinearOptions::time_limit);

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
