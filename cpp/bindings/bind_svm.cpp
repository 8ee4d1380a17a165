#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/kernel/cross_kernel.hpp"
#include "maxmargin/kernel/exact_sums.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/model/decision/decision.hpp"
#include "maxmargin/svm/one_vs_one.hpp"
#include "maxmargin/svm/search/svc_search.hpp"
#include "maxmargin/svm/single_machine.hpp"

#include <algorithm>

namespace maxmargin::bindings {
namespace {

KernelParams kernel_params(const std::string& type, double gamma, double coef0, int degree) {
  const auto found = std::ranges::find(kKernelNames, type, &KernelName::name);
  const auto number = static_cast<KernelType>(found - kKernelNames.begin());
  require(found != kKernelNames.end() && number != KernelType::composed,
          "unknown kernel '" + type + "'");
  return {number, gamma, coef0, degree, {}};
}

// Those that LIBSVM knows.
py::tuple libsvm_kernels() {
  py::list names;
  for (const KernelName& kernel : kKernelNames)
    if (!kernel.libsvm.empty()) names.append(kernel.name);
  return py::tuple(names);
}

// By the number that certificates have.
py::tuple stop_reasons() {
  return py::tuple(py::cast(optim::kStopReasonNames));
}

// In postfix notation: tuples (kernel, weight), the strings "+" and "*", and "factors" after a step
// whose result is multiplied by a row of the factors.
KernelParams composed_kernel(const py::list& steps, const std::optional<Array<double>>& factors) {
  KernelParams kernel;
  kernel.type = KernelType::composed;
  const std::span<const double> given = span_of(factors);
  kernel.factors.assign(given.begin(), given.end());
  for (const py::handle step : steps) {
    const auto symbol = py::isinstance<py::str>(step) ? py::cast<std::string>(step) : "";
    if (symbol == "factors") {
      require(!kernel.steps.empty() && !kernel.steps.back().has_factors,
              "factors must follow a step, once");
      kernel.steps.back().has_factors = true;
      continue;
    }
    KernelParams::Step& to = kernel.steps.emplace_back();
    if (!symbol.empty()) {
      require(symbol == "+" || symbol == "*", "an operation must be + or *");
      to.kind = symbol == "+" ? CompositionStep::add : CompositionStep::multiply;
    } else {
      const auto pair = py::cast<std::pair<KernelParams, double>>(step);
      require(pair.first.type != KernelType::composed && pair.first.type != KernelType::precomputed,
              "a part of a composed kernel must be a function of two samples");
      to.kernel = pair.first;
      to.weight = pair.second;
    }
  }
  check_steps(kernel.steps);
  return kernel;
}

Precision precision_named(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "float64") return Precision::float64;
  require(name == "auto", "precision must be auto, float32 or float64, got '" + name + "'");
  return Precision::automatic;
}

// By field, those of all machines.
py::dict fields_of(const Certificates& certificates) {
  py::dict fields;
  certificates.share_columns([&]<class Number>(const char* name, std::shared_ptr<Number> column) {
    using Column = std::shared_ptr<Number>;
    const py::capsule owner(new Column(column), [](void* p) { delete static_cast<Column*>(p); });
    fields[name] = py::array_t<Number>(certificates.size(), column.get(), owner);
  });
  return fields;
}

// Of the KernelFit that train(control) gives: the model, and by field those of the certificates of
// its machines.
template <class Train> py::tuple fit_by(const py::object& callback, const Train& train) {
  KernelFit fit = without_gil(train, callback);
  return py::make_tuple(std::make_unique<KernelModel>(std::move(fit.model)),
                        fields_of(fit.certificates));
}

TrainingOptions training_options(double tol, index_t max_iter, std::size_t cache_bytes,
                                 bool shrinking, double time_limit, int n_threads,
                                 const std::string& precision) {
  TrainingOptions options;
  options.solver = {tol, max_iter, shrinking, time_limit};
  options.cache_bytes = cache_bytes;
  options.threads = thread_count(n_threads);
  options.precision = precision_named(precision);
  return options;
}

SvcOptions svc_options(const TrainingOptions& training, const std::optional<double>& nu,
                       bool squared_hinge, const std::optional<Array<index_t>>& vote_order) {
  const std::span<const index_t> order = span_of(vote_order);
  return {training,
          nu,
          squared_hinge ? Loss::squared_hinge : Loss::hinge,
          {order.begin(), order.end()}};
}

py::tuple svc_fit(const py::object& X, const Array<index_t>& y, index_t n_classes,
                  const Array<double>& upper, const KernelParams& kernel,
                  const TrainingOptions& training, const std::optional<double>& nu,
                  const py::object& callback, bool squared_hinge,
                  const std::optional<Array<index_t>>& vote_order) {
  const MatrixView view = matrix_view(X);
  const SvcOptions options = svc_options(training, nu, squared_hinge, vote_order);
  return fit_by(callback, [&](Control& control) {
    return train_one_vs_one(view, span_of(y), n_classes, span_of(upper), kernel, options, control);
  });
}

py::list svc_search(const py::object& X, const Array<index_t>& y, index_t n_classes,
                    const Array<double>& Cs,
                    const std::vector<std::pair<Array<double>, Array<index_t>>>& given_folds,
                    const std::vector<KernelParams>& kernels, const TrainingOptions& training,
                    bool keeps_fits, const py::object& callback, bool squared_hinge,
                    const std::optional<Array<index_t>>& vote_order) {
  const MatrixView view = matrix_view(X);
  std::vector<Fold> folds;
  for (const auto& [weight, held_out] : given_folds) {
    const std::span<const double> weights = span_of(weight);
    const std::span<const index_t> rows = span_of(held_out);
    folds.push_back({{weights.begin(), weights.end()}, {rows.begin(), rows.end()}});
  }
  const SvcOptions options = svc_options(training, std::nullopt, squared_hinge, vote_order);
  std::vector<SvcSearch> found = without_gil(
      [&](Control& control) {
        return search_svc(view, span_of(y), n_classes, span_of(Cs), folds, kernels, options,
                          keeps_fits, control);
      },
      callback);
  py::list by_kernel;
  for (SvcSearch& search : found) {
    py::list fits;
    for (KernelModel& fit : search.fits) fits.append(std::make_unique<KernelModel>(std::move(fit)));
    by_kernel.append(
        py::make_tuple(fields_of(search.certificates), to_numpy(std::move(search.classes)), fits));
  }
  return by_kernel;
}

// epsilon, or nu of a nu-SVR.
py::tuple svr_fit(const py::object& X, const Array<double>& targets, const Array<double>& upper,
                  const KernelParams& kernel, const TrainingOptions& options, double epsilon,
                  const std::optional<double>& nu, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const std::span<const double> z = span_of(targets), C = span_of(upper);
  return fit_by(callback, [&](Control& control) {
    return nu ? train_nu_svr(view, z, C, *nu, kernel, options, control)
              : train_svr(view, z, C, epsilon, kernel, options, control);
  });
}

py::tuple quantile_svr_fit(const py::object& X, const Array<double>& targets,
                           const Array<double>& upper, const KernelParams& kernel,
                           const TrainingOptions& options, const Array<double>& quantiles,
                           const py::object& callback) {
  const MatrixView view = matrix_view(X);
  return fit_by(callback, [&](Control& control) {
    return train_quantile_svr(view, span_of(targets), span_of(upper), span_of(quantiles), kernel,
                              options, control);
  });
}

py::tuple one_class_fit(const py::object& X, const Array<double>& upper, const KernelParams& kernel,
                        const TrainingOptions& options, double nu, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  return fit_by(callback, [&](Control& control) {
    return train_one_class(view, span_of(upper), nu, kernel, options, control);
  });
}

py::array_t<double> kernel_values(const py::object& A, const py::object& B,
                                  const KernelParams& kernel,
                                  const std::optional<Array<double>>& factors, int n_threads) {
  const MatrixView first = matrix_view(A), second = matrix_view(B);
  const std::span<const double> given = span_of(factors);
  py::array_t<double> values({n_rows(first), n_rows(second)});
  double* const out = values.mutable_data();
  without_gil([&](Control& control) {
    cross_values(first, given, second, kernel, out, n_threads, control);
  });
  return values;
}

py::tuple rounding_error(const py::object& X, const Array<double>& coef, const KernelParams& kernel,
                         bool sums_to_zero, double total, double tol) {
  const MatrixView view = matrix_view(X);
  require(coef.size() == n_rows(view), "coef must have one element for every row of X");
  const ExactSums::Rounding rounding = without_gil([&](Control& control) {
    const PackingPlan plan(view, kernel, sums_to_zero, 1, control);
    return ExactSums(plan, identity_order(n_rows(view)), 1, control)
        .rounding_error(span_of(coef), total, tol);
  });
  return py::make_tuple(rounding.of_sums, rounding.of_total);
}

std::unique_ptr<Decision> make_decision(const py::object& support_vectors,
                                        const Array<double>& dual_coef, const Array<double>& rho,
                                        const KernelParams& kernel) {
  const MatrixView vectors = matrix_view(support_vectors);
  Control control(interrupt_hook(1.0 * n_rows(vectors) * n_cols(vectors)));
  return std::make_unique<Decision>(vectors, span_of(dual_coef), span_of(rho), kernel, control);
}

py::array_t<double> decision_function(const Decision& decision, const py::object& X, int n_threads,
                                      const std::optional<Array<double>>& factors) {
  const MatrixView view = matrix_view(X);
  const std::span<const double> given = span_of(factors);
  std::vector<double> values(static_cast<std::size_t>(n_rows(view) * decision.n_machines()));
  const double n_products =
      1.0 * n_rows(view) * decision.n_support_vectors() * (n_cols(view) + decision.n_machines());
  without_gil(n_products, [&](Control& control) {
    decision.evaluate(view, given, values.data(), n_threads, control);
  });
  return to_numpy(std::move(values), {n_rows(view), decision.n_machines()});
}

} // namespace

void bind_svm(py::module_& m) {
  py::register_exception<Cancelled>(m, "Cancelled");
  py::register_exception<NumericError>(m, "NumericError", PyExc_ArithmeticError);

  py::class_<KernelParams>(m, "KernelParams", "A kernel's type and parameters.")
      .def(py::init(&kernel_params), py::arg("type"), py::arg("gamma") = 1.0,
           py::arg("coef0") = 0.0, py::arg("degree") = 3)
      .def_static("composed", &composed_kernel, py::arg("steps"), py::arg("factors") = py::none())
      .def_property_readonly("type", [](const KernelParams& k) { return names_of(k.type).name; })
      .def_readonly("gamma", &KernelParams::gamma)
      .def_readonly("coef0", &KernelParams::coef0)
      .def_readonly("degree", &KernelParams::degree);

  m.attr("LIBSVM_KERNELS") = libsvm_kernels();
  m.attr("STOP_REASONS") = stop_reasons();

  m.def("kernel_values", &kernel_values, py::arg("A"), py::arg("B"), py::arg("kernel"),
        py::arg("factors") = py::none(), py::arg("n_threads") = 0,
        "The values of all rows of A, of which these are the factors, with all rows of B, whose "
        "factors the kernel has, in float64.");

  m.def("rounding_error", &rounding_error, py::arg("X"), py::arg("coef"), py::arg("kernel"),
        py::arg("sums_to_zero"), py::arg("total"), py::arg("tol"),
        "By how much rounding may move the difference of two sums of coef times kernel values with "
        "the rows of X, and an offset of all values any of them; kernel/exact_sums.hpp.");

  py::class_<TrainingOptions>(m, "TrainingOptions", "How a machine is trained; svm/machine.hpp.")
      .def(py::init(&training_options), py::kw_only(), py::arg("tol") = 1e-3,
           py::arg("max_iter") = -1, py::arg("cache_bytes") = std::size_t{200} << 20,
           py::arg("shrinking") = true,
           py::arg("time_limit") = std::numeric_limits<double>::infinity(),
           py::arg("n_threads") = 0, py::arg("precision") = "auto");

  m.def(
      "svc_fit", &svc_fit, py::arg("X"), py::arg("y"), py::arg("n_classes"), py::arg("upper"),
      py::arg("kernel"), py::arg("options"), py::arg("nu") = py::none(),
      py::arg("callback") = py::none(), py::arg("squared_hinge") = false,
      py::arg("vote_order") = py::none(),
      "Train one machine for every pair of classes; see svm/one_vs_one.hpp. Returns the model, and "
      "the fields of the certificate of every machine.");
  m.def(
      "svc_search", &svc_search, py::arg("X"), py::arg("y"), py::arg("n_classes"), py::arg("Cs"),
      py::arg("folds"), py::arg("kernels"), py::arg("options"), py::arg("keeps_fits") = false,
      py::arg("callback") = py::none(), py::arg("squared_hinge") = false,
      py::arg("vote_order") = py::none(),
      "Train a classifier for every kernel, C and fold, a pair of weights and rows held out; see "
      "svm/search/svc_search.hpp. Returns by kernel the fields of the certificates by C, fold and "
      "machine, the classes predicted by C and row held out of all folds, and the models by C and "
      "fold.");
  m.def("svr_fit", &svr_fit, py::arg("X"), py::arg("targets"), py::arg("upper"), py::arg("kernel"),
        py::arg("options"), py::arg("epsilon") = 0.1, py::arg("nu") = py::none(),
        py::arg("callback") = py::none(), "Train a regression; see svm/single_machine.hpp.");
  m.def("quantile_svr_fit", &quantile_svr_fit, py::arg("X"), py::arg("targets"), py::arg("upper"),
        py::arg("kernel"), py::arg("options"), py::arg("quantiles"),
        py::arg("callback") = py::none(),
        "Train a regression of quantiles, one machine each; see svm/single_machine.hpp.");
  m.def("one_class_fit", &one_class_fit, py::arg("X"), py::arg("upper"), py::arg("kernel"),
        py::arg("options"), py::arg("nu"), py::arg("callback") = py::none(),
        "Train a one-class machine; see svm/single_machine.hpp.");

  py::class_<Decision>(m, "Decision",
                       "Machines that each have a coefficient for every support vector, packed.")
      .def(py::init(&make_decision), py::arg("support_vectors"), py::arg("dual_coef"),
           py::arg("rho"), py::arg("kernel"))
      .def("decision_function", &decision_function, py::arg("X"), py::arg("n_threads") = 0,
           py::arg("factors") = py::none());
}

} // namespace maxmargin::bindings
