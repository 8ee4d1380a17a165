#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/mistakes.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "maxmargin/perceptron/kernel_perceptron.hpp"

#include <map>
#include <optional>
#include <string>

namespace maxmargin::bindings {
namespace {

perceptron::Budget budget_of(const std::string& policy, std::optional<index_t> size, double eta) {
  const std::map<std::string, perceptron::Budget::Policy> policies = {
      {"random", perceptron::Budget::Policy::random},
      {"forgetron", perceptron::Budget::Policy::forgetron},
      {"projectron", perceptron::Budget::Policy::projectron}};
  const auto found = policies.find(policy);
  require(found != policies.end(), "unknown budget policy " + policy);
  const bool is_limited = size || found->second == perceptron::Budget::Policy::projectron;
  return {is_limited ? found->second : perceptron::Budget::Policy::none,
          size.value_or(perceptron::Budget::kUnlimited), eta};
}

py::dict kernel_perceptron_fit(const py::object& X, const Array<std::int64_t>& y,
                               const Array<std::int64_t>& positive, const KernelParams& kernel,
                               bool is_joint, double offset, bool average,
                               std::optional<index_t> budget, const std::string& budget_policy,
                               double eta, index_t max_iter, std::optional<double> tol,
                               bool shuffle, std::uint64_t seed, std::size_t cache_bytes,
                               int n_threads, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  require(y.size() == n_rows(view) && y.size() > 0, "y must have one element for every row of X");
  const perceptron::KernelPerceptronOptions options{
      {.max_iter = max_iter, .tol = tol, .shuffle = shuffle, .seed = seed},
      offset,
      average,
      budget_of(budget_policy, budget, eta),
      cache_bytes,
      thread_count(n_threads)};
  const perceptron::MistakeRule rule{span_of(y), span_of(positive), is_joint};
  Control control(python_hook(callback));
  perceptron::KernelPerceptronFit fit;
  {
    const WithoutGil nogil;
    fit = perceptron::train_kernel_perceptron(PackingPlan(view, kernel), rule, options, control);
  }
  py::dict result;
  result["alpha"] = to_numpy(std::move(fit.alpha), {rule.n_problems(), y.size()});
  result["beta"] = to_numpy(std::move(fit.beta), {rule.n_outputs(), y.size()});
  result["is_separated"] = separated(fit.records);
  result["mistakes_per_pass"] = mistakes_per_pass(fit.records);
  result["measure"] = to_numpy(measures_of(fit.records));
  result["kernel_rows"] = fit.kernel_rows;
  return result;
}

} // namespace

void bind_perceptron(py::module_& m) {
  m.def("kernel_perceptron_fit", &kernel_perceptron_fit, py::arg("X"), py::arg("y"),
        py::arg("positive"), py::arg("kernel"), py::kw_only(), py::arg("is_joint") = false,
        py::arg("offset") = 1.0, py::arg("average") = false, py::arg("budget") = py::none(),
        py::arg("budget_policy") = "random", py::arg("eta") = 0.0, py::arg("max_iter") = 1000,
        py::arg("tol") = py::none(), py::arg("shuffle") = false, py::arg("seed") = 0,
        py::arg("cache_bytes") = std::size_t{200} << 20, py::arg("n_threads") = 0,
        py::arg("callback") = py::none(),
        "Train a kernel perceptron: one output for each positive class against the rest, or, if "
        "is_joint, for each class (perceptron/kernel_perceptron.hpp).");
}

} // namespace maxmargin::bindings
