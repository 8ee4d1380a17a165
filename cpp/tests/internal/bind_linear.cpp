// The second-order solvers of linear machines, and the kernels of coded rows, for tests and
// benchmarks.
#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/linear/descent/coordinate_descent.hpp"
#include "maxmargin/linear/l1/l1_newton.hpp"
#include "maxmargin/linear/linear_fit.hpp"
#include "maxmargin/linear/newton/interior_point.hpp"
#include "maxmargin/linear/newton/primal_newton.hpp"
#include "maxmargin/linear/newton/row_passes.hpp"
#include "maxmargin/simd/dispatch.hpp"
#include "tests/internal/internal.hpp"

#include <string>

namespace maxmargin::tests {
namespace {

py::dict second_order_fit(const py::object& X, const Array<double>& y, const Array<double>& C,
                          const linear::LinearFormulation& formulation,
                          linear::LinearOptions options, const Array<double>& start,
                          const std::string& method, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  require(y.size() == n_rows(view) && C.size() == n_rows(view) &&
              (start.size() == 0 || start.size() == n_rows(view)),
          "y, C and start must have an element for every row of X");
  const linear::LinearProblem problem{formulation, view, span_of(y), span_of(C)};
  options.start = span_of(start);
  Control control(python_hook(callback));
  linear::LinearSolution solution;
  {
    const WithoutGil nogil;
    if (problem.penalty == linear::Penalty::l1)
      solution = linear::solve_l1_newton(problem, options, control);
    else if (method == "coordinate descent")
      solution = linear::solve_coordinate_descent(CompactSamples(view, options.threads, control),
                                                  problem, options, control);
    else if (method == "interior point")
      solution = linear::solve_interior_point(problem, options, control);
    else
      solution = linear::solve_primal_newton(problem, options, control);
  }
  py::dict result;
  result["w"] = to_numpy(std::move(solution.separator.w));
  result["b"] = solution.separator.b;
  result["beta"] = to_numpy(std::move(solution.beta));
  result["primal_objective"] = solution.primal_objective;
  result["dual_objective"] = solution.dual_objective;
  result["n_iter"] = solution.n_iter;
  result["seconds"] = solution.seconds;
  result["stop_reason"] = name_of(solution.stop_reason);
  return result;
}

py::tuple weighted_gram(const py::object& X, const Array<double>& weights, double feature,
                        int n_threads) {
  const MatrixView view = matrix_view(X);
  require(weights.size() == n_rows(view), "weights must have an element for every row of X");
  Control control;
  linear::RowPasses passes(view, {feature, 0.0}, n_threads, control);
  WeightedGram gram = passes.empty_gram();
  passes.run({.gram_weights = span_of(weights), .gram = &gram});
  std::vector<double> lower;
  for (index_t i = 0; i < gram.size(); ++i)
    for (index_t j = 0; j <= i; ++j) lower.push_back(gram.data()[i * gram.stride() + j]);
  return py::make_tuple(to_numpy(std::move(lower)), passes.centre());
}

void def_codes(py::module_& internal) {
  internal.def("encode", [](const std::string& target, const py::array& x) {
    const simd::KernelTable& table = simd::table_named(target);
    std::vector<std::int8_t> codes(static_cast<std::size_t>(x.size()));
    const float step =
        holds<float>(x)
            ? table.f32.encode(py::cast<Array<float>>(x).data(), codes.data(), x.size())
            : table.f64.encode(py::cast<Array<double>>(x).data(), codes.data(), x.size());
    return py::make_tuple(to_numpy(std::move(codes)), step);
  });
  internal.def("sum_of_magnitudes", [](const std::string& target, const Array<double>& x) {
    return simd::table_named(target).sum_of_magnitudes(x.data(), x.size());
  });
  internal.def("round_weights",
               [](const std::string& target, const Array<double>& w, double scale) {
                 std::vector<std::int16_t> rounded(static_cast<std::size_t>(w.size()));
                 simd::table_named(target).round_weights(w.data(), scale, rounded.data(), w.size());
                 return to_numpy(std::move(rounded));
               });
  internal.def("find_undecided", [](const std::string& target, const Array<std::int8_t>& rows,
                                    const Array<float>& steps, const Array<float>& labels,
                                    const Array<std::int16_t>& w, float offset, float error,
                                    float least) {
    simd::CodedExamples examples;
    for (index_t r = 0; r < simd::kCodeRows; ++r) {
      examples.rows[r] = rows.data(r, 0);
      examples.steps[r] = steps.at(r);
      examples.labels[r] = labels.at(r);
    }
    return simd::table_named(target).find_undecided(examples,
                                                    {w.data(), w.size(), offset, error, least});
  });
}

} // namespace

void bind_second_order(py::module_& internal) {
  internal.def(
      "second_order_fit", &second_order_fit, py::arg("X"), py::arg("y"), py::arg("C"),
      py::arg("formulation"), py::arg("options"), py::arg("start"), py::arg("method"),
      py::arg("callback") = py::none(),
      "A linear machine by the interior point method, if that is the method, else by Newton's in "
      "the primal, or by proximal Newton for penalty l1.");
  internal.def(
      "weighted_gram", &weighted_gram, py::arg("X"), py::arg("weights"), py::arg("feature") = 0.0,
      py::arg("n_threads") = 0,
      "(lower triangle row by row, centre of the rows) of the Gram matrix of centred rows.");
  def_codes(internal);
}

} // namespace maxmargin::tests
