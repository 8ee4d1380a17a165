#pragma once

#include "base/control.hpp"
#include "bindings/pybind.hpp"

namespace maxmargin::bindings {

// Whether Ctrl-C has ended the main thread, which alone gets signals. The process waits for its
// other threads then.
inline bool main_thread_was_interrupted() {
  if (py::module_::import("threading").attr("main_thread")().attr("is_alive")().cast<bool>())
    return false;
  const py::object last = py::getattr(py::module_::import("sys"), "last_value", py::none());
  return py::isinstance(last, PyExc_KeyboardInterrupt);
}

// A hook that lets Ctrl-C end a computation that has released the GIL, on whatever thread, and
// passes progress to `callback`: None, or a function of one dict that returns True to stop.
inline Control::Hook python_hook(const py::object& callback) {
  return [callback = callback.is_none() ? nullptr : callback.ptr()](const Progress& progress) {
    const py::gil_scoped_acquire gil;
    if (main_thread_was_interrupted()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (callback == nullptr) return true;
    py::dict report;
    report["n_iter"] = progress.n_iter;
    if (progress.relative_gap >= 0.0)
      report["relative_gap"] = progress.relative_gap;
    else
      report["kkt_violation"] = progress.kkt_violation;
    report["dual_objective"] = progress.dual_objective;
    if (progress.measure) report["measure"] = *progress.measure;
    report["n_free"] = progress.n_free;
    report["n_bounded"] = progress.n_bounded;
    report["seconds"] = progress.seconds;
    return !py::cast<bool>(py::bool_(py::reinterpret_borrow<py::object>(callback)(report)));
  };
}

} // namespace maxmargin::bindings
