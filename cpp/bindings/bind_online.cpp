#include "bindings/arrays.hpp"
#include "bindings/control.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"

#include <memory>

namespace maxmargin::bindings {
namespace {

using namespace online;
using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

OnlineStates states_of(const Doubles& w, const Doubles& b, const Doubles& average_w,
                       const Doubles& average_b, const Integers& n_steps,
                       const Integers& n_averaged, const Doubles& lost, const Doubles& due) {
  require(w.ndim() == 2, "w must have a row for every function");
  return {w.shape(1),          span_of(w),         span_of(b),
          span_of(average_w),  span_of(average_b), span_of(n_steps),
          span_of(n_averaged), span_of(lost),      span_of(due)};
}

// A part with a row for every function, or none.
auto matrix_of(std::vector<double> OnlineState::* part) {
  return [part](const OnlineStates& states) {
    std::vector<double> values = states.joined(part);
    const index_t n_rows = values.empty() ? 0 : states.n_functions();
    return to_numpy(std::move(values), {n_rows, states.n_features()});
  };
}
auto array_of(auto OnlineState::* part) {
  return [part](const OnlineStates& states) { return to_numpy(states.joined(part)); };
}

OnlineResult online_fit(const py::object& X, const Integers& y, const Doubles& weight,
                        const Doubles& validation_weight, const Doubles& class_weight,
                        const Integers& positive, const OnlineSettings& settings,
                        const OnlineStates* start, const py::object& callback) {
  const MatrixView view = matrix_view(X);
  const OnlineData data{view,
                        span_of(y),
                        span_of(weight),
                        span_of(validation_weight),
                        span_of(class_weight),
                        span_of(positive)};
  return without_gil([&](Control& control) { return fit_online(data, settings, start, control); },
                     callback);
}

py::array_t<double> objectives(const py::object& X, const Integers& y, const Doubles& weight,
                               const Doubles& class_weight, const Integers& positive,
                               const OnlineSettings& settings, const Doubles& coef,
                               const Doubles& intercept) {
  const MatrixView view = matrix_view(X);
  const OnlineData data{
      view, span_of(y), span_of(weight), {}, span_of(class_weight), span_of(positive)};
  return to_numpy(without_gil([&](Control& control) {
    return online_objectives(data, settings, span_of(coef), span_of(intercept), control);
  }));
}

void bind_settings(py::module_& m) {
  py::class_<optim::PassOptions>(m, "PassOptions",
                                 "Passes over the examples; optim/mistake_passes.hpp.")
      .def(py::init<>())
      .def_readwrite("max_iter", &optim::PassOptions::max_iter)
      .def_readwrite("tol", &optim::PassOptions::tol)
      .def_readwrite("n_iter_no_change", &optim::PassOptions::n_iter_no_change)
      .def_readwrite("shuffle", &optim::PassOptions::shuffle)
      .def_readwrite("seed", &optim::PassOptions::seed);
  py::class_<MarginLoss>(m, "MarginLoss", "max(0, margin - m), or its square.")
      .def(py::init<double, bool>(), py::arg("margin"), py::arg("is_squared") = false);
  py::class_<LinearPenalty>(m, "LinearPenalty", "l2 / 2 ||w||^2 + l1 ||w||_1.")
      .def(py::init<double, double>(), py::arg("l2"), py::arg("l1"))
      .def_readonly("l2", &LinearPenalty::l2)
      .def_readonly("l1", &LinearPenalty::l1);
  py::class_<StepSize>(m, "StepSize", "The length of step t = 1, 2, ...")
      .def(py::init<>())
      .def_static("constant", &StepSize::constant, py::arg("eta0"), "eta0.")
      .def_static("adaptive", &StepSize::adaptive, py::arg("eta0"),
                  "eta0, divided wherever tol would end training.")
      .def_static("inverse_time", &StepSize::inverse_time, py::arg("factor"), py::arg("offset"),
                  "1 / (factor (offset + t)).")
      .def_static("power", &StepSize::power, py::arg("eta0"), py::arg("exponent"),
                  "eta0 / t^exponent.");
  py::class_<OnlineSettings>(m, "OnlineSettings", "All but the data; online/subgradient.hpp.")
      .def(py::init<>())
      .def_readwrite("loss", &OnlineSettings::loss)
      .def_readwrite("penalty", &OnlineSettings::penalty)
      .def_readwrite("fit_intercept", &OnlineSettings::fit_intercept)
      .def_readwrite("passes", &OnlineSettings::passes)
      .def_readwrite("follows_loss", &OnlineSettings::follows_loss)
      .def_readwrite("step", &OnlineSettings::step)
      .def_readwrite("batch_size", &OnlineSettings::batch_size)
      .def_readwrite("average_from", &OnlineSettings::average_from)
      .def_readwrite("is_mapped", &OnlineSettings::is_mapped)
      .def_readwrite("n_threads", &OnlineSettings::threads);
}

void bind_results(py::module_& m) {
  py::class_<optim::MistakeRecord>(m, "MistakeRecord", "The passes of one problem.")
      .def(py::init<>())
      .def_property_readonly("mistakes_per_pass",
                             [](const optim::MistakeRecord& record) {
                               return to_numpy(std::vector(record.mistakes_per_pass));
                             })
      .def_readonly("is_separated", &optim::MistakeRecord::is_separated)
      .def_readonly("is_stalled", &optim::MistakeRecord::is_stalled)
      .def_readonly("measure", &optim::MistakeRecord::measure);

  py::class_<OnlineStates>(m, "OnlineStates", "Where the training of all problems can go on.")
      .def(py::init(&states_of), py::arg("w"), py::arg("b"), py::arg("average_w"),
           py::arg("average_b"), py::arg("n_steps"), py::arg("n_averaged"), py::arg("lost"),
           py::arg("due"))
      .def_property_readonly("w", matrix_of(&OnlineState::w))
      .def_property_readonly("b", array_of(&OnlineState::b))
      .def_property_readonly("average_w", matrix_of(&OnlineState::average_w))
      .def_property_readonly("average_b", array_of(&OnlineState::average_b))
      .def_property_readonly("n_steps", array_of(&OnlineState::n_steps))
      .def_property_readonly("n_averaged", array_of(&OnlineState::n_averaged))
      .def_property_readonly("lost", matrix_of(&OnlineState::lost))
      .def_property_readonly("due", array_of(&OnlineState::due))
      .def_property_readonly("has_averages", &OnlineStates::has_averages)
      .def_property_readonly("shape",
                             [](const OnlineStates& states) {
                               return std::pair(states.n_functions(), states.n_features());
                             })
      .def(
          "model",
          [](const OnlineStates& self, index_t n_classes) {
            return std::make_unique<LinearModel>(model_of(self, n_classes));
          },
          py::arg("n_classes"), "The averages, where there are any, else the last weights.")
      .def(
          "with_weights",
          [](const OnlineStates& self, const Doubles& w, const Doubles& b) {
            return self.with_weights(span_of(w), span_of(b));
          },
          py::arg("w"), py::arg("b"), "The same with other last weights.")
      // Unlike py::pickle, also for protocols 0 and 1.
      .def("__reduce__", [](const py::object& self) {
        const py::tuple parts = py::make_tuple(
            self.attr("w"), self.attr("b"), self.attr("average_w"), self.attr("average_b"),
            self.attr("n_steps"), self.attr("n_averaged"), self.attr("lost"), self.attr("due"));
        return py::make_tuple(py::type::of(self), parts);
      });

  py::class_<OnlineResult>(m, "OnlineResult", "What online_fit finds.")
      .def(py::init<>())
      .def_readonly("states", &OnlineResult::states)
      .def_readonly("records", &OnlineResult::records);
}

} // namespace

void bind_online(py::module_& m) {
  bind_settings(m);
  bind_results(m);
  m.def("online_fit", &online_fit, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("validation_weight"), py::arg("class_weight"), py::arg("positive"),
        py::arg("settings"), py::arg("start") = py::none(), py::arg("callback") = py::none(),
        "Train one linear function for each positive class against the rest, or, where positive "
        "is empty, one for each class together (online/online_fit.hpp).");
  m.def("online_objective", &objectives, py::arg("X"), py::arg("y"), py::arg("weight"),
        py::arg("class_weight"), py::arg("positive"), py::arg("settings"), py::arg("coef"),
        py::arg("intercept"), "The objective of every problem of online_fit at given weights.");
}

} // namespace maxmargin::bindings
