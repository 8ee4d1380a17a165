#pragma once

#include "base/control.hpp"
#include "bindings/pybind.hpp"

namespace maxmargin::bindings {

// A hook that lets Ctrl-C end a computation that has released the GIL, and passes progress to
// `callback`: None, or a function of one dict that returns True to stop.
inline Control::Hook python_hook(const py::object& callback) {
  return [callback = callback.is_none() ? nullptr : callback.ptr()](const Progress& progress) {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
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
