#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/mistakes.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/online/subgradient.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace maxmargin::bindings {
namespace {

constexpr index_t kFewPasses = 10; // that training takes, if it takes few

// All of an OnlineProblem and OnlineOptions but the data.
struct Settings {
  online::MarginLoss loss;
  online::LinearPenalty penalty;
  bool fit_intercept = true;
  online::OnlineOptions options;
  int threads = 0;
};

online::StepSize::Rule rule_named(const std::string& name) {
  if (name == "constant") return online::StepSize::Rule::constant;
  if (name == "adaptive") return online::StepSize::Rule::adaptive;
  if (name == "inverse_time") return online::StepSize::Rule::inverse_time;
  require(name == "power", "rule must be 'constant', 'adaptive', 'inverse_time' or 'power'");
  return online::StepSize::Rule::power;
}

Settings make_settings(double margin, bool is_squared, double l2, double l1, bool fit_intercept,
                       index_t max_iter, std::optional<double> tol, index_t n_iter_no_change,
                       bool shuffle, std::uint64_t seed, bool follows_loss, const std::string& rule,
                       double eta0, double lambda, double offset, double exponent,
                       index_t batch_size, double radius, index_t average_from,
                       bool records_updates, bool is_mapped, int n_threads) {
  Settings settings;
  settings.loss = {margin, is_squared};
  settings.penalty = {l2, l1};
  settings.fit_intercept = fit_intercept;
  settings.options.passes = {max_iter, tol, n_iter_no_change, shuffle, seed};
  settings.options.follows_loss = follows_loss;
  settings.options.step = {rule_named(rule), eta0, lambda, offset, exponent};
  settings.options.batch_size = batch_size;
  settings.options.radius = radius;
  settings.options.average_from = average_from;
  settings.options.records_updates = records_updates;
  settings.options.is_mapped = is_mapped;
  settings.threads = n_threads;
  return settings;
}

// For about so many passes over the rows for every problem.
int threads_for(const MatrixView& X, index_t n_problems, index_t n_passes,
                const Settings& settings) {
  return thread_count_for(settings.threads, static_cast<double>(n_problems * n_passes) *
                                                static_cast<double>(n_stored(X)));
}

// Labels as codes, the weights of examples and of classes, and which problems they make.
struct Examples {
  Array<std::int64_t> y;
  Array<double> weight, validation_weight; // empty, or one for every row
  // For every problem those of the rest and of the positive class; with all classes in one problem,
  // one for each.
  Array<double> class_weight;
  Array<std::int64_t> positive; // by problem; empty: all classes in one

  index_t n_problems() const { return std::max<index_t>(1, positive.size()); }
  index_t n_functions() const { return positive.size() == 0 ? class_weight.size() : 1; }
};

void require_codes(const Examples& examples) {
  if (examples.positive.size() > 0) {
    require(examples.class_weight.size() == 2 * examples.positive.size(),
            "class_weight must have those of the rest and of the positive class by problem");
    return;
  }
  require(examples.class_weight.size() >= 2, "class_weight must have one for every class");
  for (const std::int64_t code : span_of(examples.y))
    require(code >= 0 && code < examples.class_weight.size(), "y must hold numbers of classes");
}

// Problem p; `signs` is to hold its labels.
online::OnlineProblem problem_of(const MatrixView& X, const Examples& examples,
                                 const Settings& settings, index_t p,
                                 std::vector<std::int8_t>& signs) {
  online::OnlineProblem problem{
      X,
      online::ClassLabels{span_of(examples.y), span_of(examples.class_weight)},
      span_of(examples.weight),
      span_of(examples.validation_weight),
      settings.loss,
      settings.penalty,
      settings.fit_intercept};
  if (examples.positive.size() == 0) return problem;
  signs = signs_of(span_of(examples.y), examples.positive.data()[p]);
  const double* by_label = examples.class_weight.data() + 2 * p;
  problem.labels = online::BinaryLabels{signs, by_label[0], by_label[1]};
  return problem;
}

// The states of all problems, as arrays of a row or an element for every function or problem.
struct States {
  std::vector<double> w, b, average_w, average_b;
  std::vector<std::int64_t> n_steps, n_averaged;
  std::vector<double> lost, due;
};

std::vector<double> part_of(const std::vector<double>& all, index_t p, index_t size) {
  if (all.empty()) return {};
  return {all.begin() + p * size, all.begin() + (p + 1) * size};
}
void put_part(std::vector<double>& all, index_t p, const std::vector<double>& part) {
  std::copy(part.begin(), part.end(), all.begin() + p * static_cast<index_t>(part.size()));
}

States states_of(const py::dict& start, index_t n_problems, index_t n_functions, index_t d) {
  const auto values = [&](const char* name, index_t size, bool may_lack) {
    const auto array = py::cast<Array<double>>(start[name]);
    require(array.size() == size || (may_lack && array.size() == 0),
            std::string(name) + " must have an element for every function and column");
    return std::vector<double>(array.data(), array.data() + array.size());
  };
  const auto counts = [&](const char* name) {
    const auto array = py::cast<Array<std::int64_t>>(start[name]);
    require(array.size() == n_problems, std::string(name) + " must have an element by problem");
    return std::vector<std::int64_t>(array.data(), array.data() + array.size());
  };
  const index_t n = n_problems * n_functions;
  return {values("w", n * d, false),
          values("b", n, false),
          values("average_w", n * d, true),
          values("average_b", n, true),
          counts("n_steps"),
          counts("n_averaged"),
          values("lost", n * d, true),
          values("due", n_problems, false)};
}

py::dict to_dict(States&& states, index_t d) {
  const auto n = static_cast<index_t>(states.b.size());
  const auto n_averages = static_cast<index_t>(states.average_b.size());
  const index_t n_lost = states.lost.empty() ? 0 : n;
  py::dict result;
  result["w"] = to_numpy(std::move(states.w), {n, d});
  result["b"] = to_numpy(std::move(states.b));
  result["average_w"] = to_numpy(std::move(states.average_w), {n_averages, d});
  result["average_b"] = to_numpy(std::move(states.average_b));
  result["n_steps"] = to_numpy(std::move(states.n_steps));
  result["n_averaged"] = to_numpy(std::move(states.n_averaged));
  result["lost"] = to_numpy(std::move(states.lost), {n_lost, d});
  result["due"] = to_numpy(std::move(states.due));
  return result;
}

template <class T, class Get>
py::list arrays_of(std::vector<online::OnlineFit>& fits, const Get& get) {
  py::list arrays;
  for (online::OnlineFit& fit : fits) arrays.append(to_numpy<T>(std::move(get(fit))));
  return arrays;
}

py::dict online_fit(const py::object& X, const Array<std::int64_t>& y, const Array<double>& weight,
                    const Array<double>& validation_weight, const Array<double>& class_weight,
                    const Array<std::int64_t>& positive, const py::dict& start,
                    const Settings& settings, const py::object& callback, const CodedRows* coded) {
  const MatrixView view = matrix_view(X);
  const Examples examples{y, weight, validation_weight, class_weight, positive};
  require(coded == nullptr || (coded->n_rows() == n_rows(view) && coded->n_cols() == n_cols(view)),
          "coded must be the rows of X");
  require(y.size() == n_rows(view), "y must have one element for every row of X");
  require_codes(examples);
  const index_t d = n_cols(view), n_problems = examples.n_problems(), k = examples.n_functions();
  States states = states_of(start, n_problems, k, d);
  Control control(python_hook(callback));
  const index_t passes = std::min(settings.options.passes.max_iter, kFewPasses);
  std::vector<online::OnlineFit> fits(static_cast<std::size_t>(n_problems));
  {
    const WithoutGil nogil;
    parallel_for(n_problems, threads_for(view, n_problems, passes, settings), [&](index_t p, int) {
      std::vector<std::int8_t> signs;
      online::OnlineProblem problem = problem_of(view, examples, settings, p, signs);
      problem.coded = coded;
      fits[p] = online::train_online(
          problem, settings.options,
          {part_of(states.w, p, k * d), part_of(states.b, p, k),
           part_of(states.average_w, p, k * d), part_of(states.average_b, p, k), states.n_steps[p],
           states.n_averaged[p], part_of(states.lost, p, k * d), states.due[p]},
          control);
    });
  }
  const bool averages = settings.options.average_from > 0;
  states.average_w.resize(averages ? states.w.size() : 0);
  states.average_b.resize(averages ? states.b.size() : 0);
  states.lost.resize(settings.penalty.l1 > 0.0 ? states.w.size() : 0);
  std::vector<optim::MistakeRecord> records;
  std::vector<bool> is_stalled;
  for (index_t p = 0; p < n_problems; ++p) {
    const online::OnlineState& state = fits[p].state;
    put_part(states.w, p, state.w);
    put_part(states.b, p, state.b);
    put_part(states.average_w, p, state.average_w);
    put_part(states.average_b, p, state.average_b);
    states.n_steps[p] = state.n_steps;
    states.n_averaged[p] = state.n_averaged;
    put_part(states.lost, p, state.lost);
    states.due[p] = state.due;
    is_stalled.push_back(fits[p].record.is_stalled);
    records.push_back(std::move(fits[p].record));
  }
  py::dict result;
  result["state"] = to_dict(std::move(states), d);
  result["is_separated"] = separated(records);
  result["is_stalled"] = is_stalled;
  result["measure"] = to_numpy(measures_of(records));
  result["mistakes_per_pass"] = mistakes_per_pass(records);
  result["update_rows"] =
      arrays_of<index_t>(fits, [](online::OnlineFit& fit) -> auto& { return fit.update_rows; });
  result["update_steps"] =
      arrays_of<index_t>(fits, [](online::OnlineFit& fit) -> auto& { return fit.update_steps; });
  return result;
}

CodedRows coded_rows(const py::object& X, int n_threads) {
  const MatrixView view = matrix_view(X);
  Control control(python_hook(py::none()));
  const WithoutGil nogil;
  return std::visit(
      [&](const auto& rows) -> CodedRows {
        if constexpr (is_dense<std::decay_t<decltype(rows)>>)
          return CodedRows(rows, n_threads, control);
        else
          throw InvalidArgument("X must be dense");
      },
      view);
}

bool may_code(const py::object& X, const Settings& settings) {
  return online::pays_to_code(matrix_view(X), settings.penalty, settings.options);
}

py::array_t<double> objectives(const py::object& X, const Array<std::int64_t>& y,
                               const Array<double>& weight, const Array<double>& class_weight,
                               const Array<std::int64_t>& positive, const Array<double>& coef,
                               const Array<double>& intercept, const Settings& settings) {
  const MatrixView view = matrix_view(X);
  const Examples examples{y, weight, Array<double>(0), class_weight, positive};
  require(y.size() == n_rows(view), "y must have one element for every row of X");
  require_codes(examples);
  const index_t d = n_cols(view), n_problems = examples.n_problems(), k = examples.n_functions();
  require(coef.size() == n_problems * k * d && intercept.size() == n_problems * k,
          "coef and intercept must have a row for every function");
  Control control(python_hook(py::none()));
  std::vector<double> values(static_cast<std::size_t>(n_problems));
  {
    const WithoutGil nogil;
    parallel_for(n_problems, threads_for(view, n_problems, 1, settings), [&](index_t p, int) {
      std::vector<std::int8_t> signs;
      const online::OnlineProblem problem = problem_of(view, examples, settings, p, signs);
      const double* w = coef.data() + p * k * d;
      const double* b = intercept.data() + p * k;
      values[p] = online::online_objective(problem, {w, w + k * d}, {b, b + k},
                                           settings.options.is_mapped, control);
    });
  }
  return to_numpy(std::move(values));
}

} // namespace

void bind_online(py::module_& m) {
  py::class_<Settings>(m, "OnlineSettings",
                       "How linear functions are trained; online/subgradient.hpp.")
      .def(py::init(&make_settings), py::kw_only(), py::arg("margin") = 0.0,
           py::arg("is_squared") = false, py::arg("l2") = 0.0, py::arg("l1") = 0.0,
           py::arg("fit_intercept") = true, py::arg("max_iter") = 1000, py::arg("tol") = py::none(),
           py::arg("n_iter_no_change") = 5, py::arg("shuffle") = false, py::arg("seed") = 0,
           py::arg("follows_loss") = false, py::arg("rule") = "constant", py::arg("eta0") = 1.0,
           py::arg("lambda_") = 1.0, py::arg("offset") = 0.0, py::arg("exponent") = 0.5,
           py::arg("batch_size") = 1, py::arg("radius") = std::numeric_limits<double>::infinity(),
           py::arg("average_from") = 0, py::arg("records_updates") = false,
           py::arg("is_mapped") = false, py::arg("n_threads") = 0);

  py::class_<CodedRows>(m, "CodedRows", "Dense samples once more, in a byte for an element.")
      .def(py::init(&coded_rows), py::arg("X"), py::arg("n_threads") = 0)
      .def_property_readonly("are_bounded", &CodedRows::are_bounded,
                             "Whether all elements are numbers, of at most 1e30 in magnitude.");
  m.def("pays_to_code", &may_code, py::arg("X"), py::arg("settings"),
        "Whether binary problems of online_fit are likely to gain by coded rows.");
  m.def("online_fit", &online_fit, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("validation_weight"), py::arg("class_weight"), py::arg("positive"),
        py::arg("start"), py::arg("settings"), py::arg("callback") = py::none(),
        py::arg("coded") = py::none(),
        "Train one linear function for each positive class against the rest, or, where positive "
        "is empty, one for each class together (online/subgradient.hpp), from the state `start`.");
  m.def("online_objective", &objectives, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("class_weight"), py::arg("positive"), py::arg("coef"), py::arg("intercept"),
        py::arg("settings"), "The objective of every problem of online_fit at given weights.");
}

} // namespace maxmargin::bindings
