#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/svm/linear.hpp"

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

LinearFormulation linear_formulation(const std::string& loss, const std::string& penalty,
                                     double epsilon, double intercept_scaling) {
  require(penalty == "l1" || penalty == "l2", "unknown penalty '" + penalty + "'");
  return {loss_named(loss), penalty == "l1" ? linear::Penalty::l1 : linear::Penalty::l2, epsilon,
          intercept_scaling};
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

template <class Solution, class Get>
auto column(const std::vector<Solution>& machines, const Get& get) {
  std::vector<std::decay_t<decltype(get(machines.front()))>> values;
  for (const Solution& machine : machines) values.push_back(get(machine));
  return values;
}

// An array of every field, by machine, but for the weights.
template <class Solution> py::dict outcomes(const std::vector<Solution>& machines) {
  py::dict d;
  d["primal_objective"] = to_numpy(column(machines, [](auto& m) { return m.primal_objective; }));
  d["dual_objective"] = to_numpy(column(machines, [](auto& m) { return m.dual_objective; }));
  d["n_iter"] = to_numpy(column(machines, [](auto& m) { return m.n_iter; }));
  d["n_free"] = to_numpy(column(machines, [](auto& m) { return m.n_free; }));
  d["seconds"] = to_numpy(column(machines, [](auto& m) { return m.seconds; }));
  d["stop_reason"] = column(machines, [](auto& m) { return name_of(m.stop_reason); });
  return d;
}

void append(const linear::LinearSeparator& separator, AlignedVector<double>& coef,
            std::vector<double>& intercept) {
  coef.insert(coef.end(), separator.w.begin(), separator.w.end());
  intercept.push_back(separator.b);
}

py::dict to_dict(std::vector<linear::LinearSolution> machines, index_t n_features) {
  py::dict d = outcomes(machines);
  AlignedVector<double> coef;
  std::vector<double> intercept;
  if (machines.size() == 1) { // whose memory may serve
    coef = std::move(machines.front().separator.w);
    intercept.push_back(machines.front().separator.b);
  } else {
    coef.reserve(machines.size() * static_cast<std::size_t>(n_features));
    for (const linear::LinearSolution& machine : machines)
      append(machine.separator, coef, intercept);
  }
  d["coef"] = to_numpy(std::move(coef), {static_cast<py::ssize_t>(machines.size()), n_features});
  d["intercept"] = to_numpy(std::move(intercept));
  return d;
}

py::dict to_dict(const std::vector<linear::JointSolution>& machines, index_t n_classes,
                 index_t n_features) {
  AlignedVector<double> coef;
  std::vector<double> intercept;
  coef.reserve(machines.size() * static_cast<std::size_t>(n_classes * n_features));
  for (const linear::JointSolution& machine : machines)
    for (const linear::LinearSeparator& separator : machine.separators)
      append(separator, coef, intercept);
  const auto n_machines = static_cast<py::ssize_t>(machines.size());
  py::dict d = outcomes(machines);
  d["coef"] = to_numpy(std::move(coef), {n_machines, n_classes, n_features});
  d["intercept"] = to_numpy(std::move(intercept), {n_machines, n_classes});
  return d;
}

py::dict train(const py::object& X, index_t n_tasks, const Array<double>& C,
               const LinearFormulation& formulation, const linear::LinearOptions& options,
               const py::object& callback, const std::function<LinearTask(index_t)>& make) {
  const MatrixView view = matrix_view(X);
  Control control(python_hook(callback));
  std::vector<linear::LinearSolution> machines;
  {
    const WithoutGil nogil;
    machines = train_linear(view, n_tasks, make, span_of(C), formulation, options, control);
  }
  return to_dict(std::move(machines), n_cols(view));
}

// Task (fold, p) leaves out the samples of the fold; fold -1 leaves out none.
py::dict linear_svc_fit(const py::object& X, const Array<std::int64_t>& y,
                        const Array<double>& weight, const Array<std::int64_t>& positive,
                        const Array<double>& factors, const Array<std::int64_t>& fold_of,
                        const Array<std::int64_t>& folds, const Array<double>& C,
                        const LinearFormulation& formulation, const linear::LinearOptions& options,
                        const py::object& callback) {
  const index_t n = n_rows(matrix_view(X)), n_positive = positive.size();
  require(y.size() == n && weight.size() == n && fold_of.size() == n,
          "y, weight and fold_of must have one element for every row of X");
  require(factors.size() == 2 * n_positive,
          "factors must have those of the rest and of the positive class for every problem");
  const auto make = [&](index_t t) {
    const std::int64_t fold = folds.data()[t / n_positive];
    const index_t p = t % n_positive;
    LinearTask task;
    for (index_t i = 0; i < n; ++i) {
      const bool is_positive = y.data()[i] == positive.data()[p];
      const bool is_out = fold >= 0 && fold_of.data()[i] == fold;
      task.y.push_back(is_positive ? 1.0 : -1.0);
      task.weight.push_back(
          is_out ? 0.0 : weight.data()[i] * factors.data()[2 * p + (is_positive ? 1 : 0)]);
    }
    return task;
  };
  return train(X, folds.size() * n_positive, C, formulation, options, callback, make);
}

// Task `fold` leaves out the samples of the fold; fold -1 leaves out none.
py::dict joint_svc_fit(const py::object& X, const Array<std::int64_t>& y, index_t n_classes,
                       const Array<double>& weight, const Array<std::int64_t>& fold_of,
                       const Array<std::int64_t>& folds, const Array<double>& C,
                       const LinearFormulation& formulation, const linear::LinearOptions& options,
                       const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const index_t n = n_rows(view);
  require(y.size() == n && weight.size() == n && fold_of.size() == n,
          "y, weight and fold_of must have one element for every row of X");
  for (const std::int64_t code : span_of(y))
    require(code >= 0 && code < n_classes, "y must hold classes in [0, n_classes)");
  const auto make = [&](index_t t) {
    std::vector<double> factors(weight.data(), weight.data() + n);
    const std::int64_t fold = folds.data()[t];
    for (index_t i = 0; i < n; ++i)
      if (fold >= 0 && fold_of.data()[i] == fold) factors[i] = 0.0;
    return factors;
  };
  Control control(python_hook(callback));
  std::vector<linear::JointSolution> machines;
  {
    const WithoutGil nogil;
    machines = train_joint(view, span_of(y), n_classes, folds.size(), make, span_of(C),
                           formulation.intercept_scaling, options, control);
  }
  return to_dict(machines, n_classes, n_cols(view));
}

py::dict linear_svr_fit(const py::object& X, const Array<double>& targets,
                        const Array<double>& weight, const Array<double>& C,
                        const LinearFormulation& formulation, const linear::LinearOptions& options,
                        const py::object& callback) {
  const index_t n = n_rows(matrix_view(X));
  require(targets.size() == n && weight.size() == n,
          "targets and weight must have one element for every row of X");
  const auto make = [&](index_t) {
    return LinearTask{{targets.data(), targets.data() + n}, {weight.data(), weight.data() + n}};
  };
  return train(X, 1, C, formulation, options, callback, make);
}

} // namespace

void bind_linear(py::module_& m) {
  py::class_<LinearFormulation>(m, "LinearFormulation",
                                "What a linear machine minimises; linear/linear_problem.hpp.")
      .def(py::init(&linear_formulation), py::kw_only(), py::arg("loss"), py::arg("penalty") = "l2",
           py::arg("epsilon") = 0.0, py::arg("intercept_scaling") = 1.0);

  py::class_<linear::LinearOptions>(m, "LinearOptions",
                                    "How a linear machine is trained; linear/linear_problem.hpp.")
      .def(py::init(&linear_options), py::kw_only(), py::arg("tol") = 1e-4,
           py::arg("max_iter") = -1,
           py::arg("time_limit") = std::numeric_limits<double>::infinity(), py::arg("seed") = 0,
           py::arg("n_threads") = 0);

  m.def("linear_svc_fit", &linear_svc_fit, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("positive"), py::arg("factors"), py::arg("fold_of"), py::arg("folds"), py::arg("C"),
        py::arg("formulation"), py::arg("options"), py::arg("callback") = py::none(),
        "Train a linear machine for every fold left out (-1: none), positive class against the "
        "rest, and C (svm/linear.hpp). factors are those of C for the rest and for the positive "
        "class, by problem.");

  m.def("joint_svc_fit", &joint_svc_fit, py::arg("X"), py::arg("y"), py::arg("n_classes"),
        py::arg("weight"), py::arg("fold_of"), py::arg("folds"), py::arg("C"),
        py::arg("formulation"), py::arg("options"), py::arg("callback") = py::none(),
        "Train a linear machine of all classes together for every fold left out (-1: none) and C "
        "(linear/crammer_singer.hpp); of the formulation, intercept_scaling counts.");

  m.def("linear_svr_fit", &linear_svr_fit, py::arg("X"), py::arg("targets"), py::arg("weight"),
        py::arg("C"), py::arg("formulation"), py::arg("options"), py::arg("callback") = py::none(),
        "Train a linear regression for every C.");
}

} // namespace maxmargin::bindings
