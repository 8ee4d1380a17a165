#include "base/parallel.hpp"
#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "kernel/packed_samples.hpp"
#include "solver/kernel_perceptron.hpp"
#include "solver/perceptron.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace maxmargin::bindings {
namespace {

py::list mistakes_per_pass(std::vector<MistakeRecord>& records) {
  py::list arrays;
  for (MistakeRecord& record : records)
    arrays.append(to_numpy(std::move(record.mistakes_per_pass)));
  return arrays;
}

std::vector<bool> separated(const std::vector<MistakeRecord>& records) {
  std::vector<bool> flags;
  for (const MistakeRecord& record : records) flags.push_back(record.is_separated);
  return flags;
}

// The binary problem of one class against the rest.
std::vector<std::int8_t> signs_of(std::span<const std::int64_t> codes, std::int64_t positive) {
  std::vector<std::int8_t> y(codes.size());
  std::transform(codes.begin(), codes.end(), y.begin(), [&](std::int64_t code) {
    return code == positive ? std::int8_t{1} : std::int8_t{-1};
  });
  return y;
}

py::dict perceptron_fit(const py::object& X, const Array<std::int64_t>& y,
                        const Array<double>& weight, const Array<std::int64_t>& positive,
                        const Array<double>& coef, const Array<double>& intercept,
                        const Array<double>& rates, bool fit_intercept, index_t max_iter,
                        std::optional<double> tol, bool shuffle, std::uint64_t seed, int n_threads,
                        const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const index_t n_problems = positive.size(), d = n_cols(view);
  require(y.size() == n_rows(view), "y must have one element for every row of X");
  require(rates.size() == 2 * n_problems,
          "rates must have those of the rest and of the positive class for every problem");
  require(coef.size() == n_problems * d && intercept.size() == n_problems,
          "coef and intercept must have a row for every positive class");
  const PassOptions options{max_iter, tol, shuffle, seed};
  Control control(python_hook(callback));
  std::vector<MistakeRecord> records(static_cast<std::size_t>(n_problems));
  std::vector<double> weights(coef.data(), coef.data() + coef.size());
  std::vector<double> offsets(intercept.data(), intercept.data() + n_problems);
  {
    const py::gil_scoped_release nogil;
    parallel_for(n_problems, thread_count(n_threads), [&](index_t p, int) {
      double* w = weights.data() + p * d;
      const std::vector<std::int8_t> signs = signs_of(span_of(y), positive.data()[p]);
      const double* rate = rates.data() + 2 * p;
      const BinaryExamples examples{signs, span_of(weight), rate[1], rate[0]};
      PerceptronFit fit = train_perceptron(view, examples, fit_intercept, {{w, w + d}, offsets[p]},
                                           options, control);
      std::copy(fit.separator.w.begin(), fit.separator.w.end(), w);
      offsets[p] = fit.separator.b;
      records[p] = std::move(fit.record);
    });
  }
  py::dict result;
  result["coef"] = to_numpy(std::move(weights), {n_problems, d});
  result["intercept"] = to_numpy(std::move(offsets));
  result["is_separated"] = separated(records);
  result["mistakes_per_pass"] = mistakes_per_pass(records);
  return result;
}

Budget budget_of(const std::string& policy, std::optional<index_t> size, double eta) {
  const std::map<std::string, Budget::Policy> policies = {
      {"random", Budget::Policy::random},
      {"forgetron", Budget::Policy::forgetron},
      {"projectron", Budget::Policy::projectron}};
  const auto found = policies.find(policy);
  require(found != policies.end(), "unknown budget policy " + policy);
  const bool is_limited = size || found->second == Budget::Policy::projectron;
  return {is_limited ? found->second : Budget::Policy::none, size.value_or(Budget::kUnlimited),
          eta};
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
  const KernelPerceptronOptions options{
      {.max_iter = max_iter, .tol = tol, .shuffle = shuffle, .seed = seed},
      offset,
      average,
      budget_of(budget_policy, budget, eta)};
  const MistakeRule rule{span_of(y), span_of(positive), is_joint};
  Control control(python_hook(callback));
  KernelPerceptronFit fit;
  std::size_t kernel_rows = 0;
  {
    const py::gil_scoped_release nogil;
    // One segment, so that column i is sample i.
    const auto samples =
        pack_samples<double>(PackingPlan(view, kernel), {identity_order(n_rows(view))},
                             thread_count(n_threads), control);
    const index_t segments[] = {0};
    KernelMatrix<double> matrix(samples->rows(segments, n_threads), cache_bytes, n_threads,
                                control);
    fit = train_kernel_perceptron(matrix, rule, options, control);
    kernel_rows = matrix.rows_computed();
  }
  py::dict result;
  result["alpha"] = to_numpy(std::move(fit.alpha), {rule.n_problems(), y.size()});
  result["beta"] = to_numpy(std::move(fit.beta), {rule.n_outputs(), y.size()});
  result["is_separated"] = separated(fit.records);
  result["mistakes_per_pass"] = mistakes_per_pass(fit.records);
  result["kernel_rows"] = kernel_rows;
  return result;
}

} // namespace

void bind_perceptron(py::module_& m) {
  m.def("perceptron_fit", &perceptron_fit, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("positive"), py::arg("coef"), py::arg("intercept"), py::arg("rates"), py::kw_only(),
        py::arg("fit_intercept") = true, py::arg("max_iter") = 1000, py::arg("tol") = py::none(),
        py::arg("shuffle") = false, py::arg("seed") = 0, py::arg("n_threads") = 0,
        py::arg("callback") = py::none(),
        "Train one perceptron for each positive class against the rest, from the given weights "
        "(solver/perceptron.hpp). weight is empty or has an element for every row; rates are those "
        "of the rest and of the positive class by problem.");

  m.def("kernel_perceptron_fit", &kernel_perceptron_fit, py::arg("X"), py::arg("y"),
        py::arg("positive"), py::arg("kernel"), py::kw_only(), py::arg("is_joint") = false,
        py::arg("offset") = 1.0, py::arg("average") = false, py::arg("budget") = py::none(),
        py::arg("budget_policy") = "random", py::arg("eta") = 0.0, py::arg("max_iter") = 1000,
        py::arg("tol") = py::none(), py::arg("shuffle") = false, py::arg("seed") = 0,
        py::arg("cache_bytes") = std::size_t{200} << 20, py::arg("n_threads") = 0,
        py::arg("callback") = py::none(),
        "Train a kernel perceptron: one output for each positive class against the rest, or, if "
        "is_joint, for each class (solver/kernel_perceptron.hpp).");
}

} // namespace maxmargin::bindings
