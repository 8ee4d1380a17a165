#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/perceptron/kernel_perceptron.hpp"

#include <algorithm>

namespace maxmargin::bindings {
namespace {

perceptron::KernelPerceptronFit
kernel_perceptron_fit(const py::object& X, const Array<std::int64_t>& y,
                      const Array<std::int64_t>& positive, const KernelParams& kernel,
                      const optim::PassOptions& passes, bool is_joint, double offset, bool average,
                      std::size_t cache_bytes, int n_threads, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const perceptron::KernelPerceptronOptions options{passes, offset, average, cache_bytes,
                                                    thread_count(n_threads)};
  const perceptron::MistakeRule rule{span_of(y), span_of(positive), is_joint};
  return without_gil(
      [&](Control& control) {
        return perceptron::train_kernel_perceptron(view, kernel, rule, options, control);
      },
      callback);
}

// A row for every problem, or output, and a column for every example.
template <class T> auto matrix_of(std::vector<T> perceptron::KernelPerceptronFit::* part) {
  return [part](const perceptron::KernelPerceptronFit& fit) {
    std::vector<T> values = fit.*part;
    const auto n_rows =
        static_cast<index_t>(values.size()) / std::max<index_t>(1, fit.n_examples());
    return to_numpy(std::move(values), {n_rows, fit.n_examples()});
  };
}

} // namespace

void bind_perceptron(py::module_& m) {
  py::class_<perceptron::KernelPerceptronFit>(m, "KernelPerceptronFit",
                                              "What kernel_perceptron_fit finds.")
      .def(py::init<>())
      .def_property_readonly("alpha", matrix_of(&perceptron::KernelPerceptronFit::alpha))
      .def_property_readonly("beta", matrix_of(&perceptron::KernelPerceptronFit::beta))
      .def_readonly("records", &perceptron::KernelPerceptronFit::records)
      .def_readonly("kernel_rows", &perceptron::KernelPerceptronFit::kernel_rows);
  m.def("kernel_perceptron_fit", &kernel_perceptron_fit, py::arg("X"), py::arg("y"),
        py::arg("positive"), py::arg("kernel"), py::arg("passes"), py::kw_only(),
        py::arg("is_joint") = false, py::arg("offset") = 1.0, py::arg("average") = false,
        py::arg("cache_bytes") = std::size_t{200} << 20, py::arg("n_threads") = 0,
        py::arg("callback") = py::none(),
        "Train a kernel perceptron: one output for each positive class against the rest, or, if "
        "is_joint, for each class (perceptron/kernel_perceptron.hpp).");
}

} // namespace maxmargin::bindings
