#pragma once

#include "bindings/gil.hpp"
#include "bindings/main_thread_interrupt.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/base/control.hpp"

namespace maxmargin::bindings {

inline py::dict report_of(const Progress& progress) {
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
  if (progress.share_done >= 0.0) report["share_done"] = progress.share_done;
  report["seconds"] = progress.seconds;
  return report;
}

// A hook that lets Ctrl-C end a computation that has released the GIL, on whatever thread, and
// passes progress to `callback`: None, or a function of one dict that returns True to stop.
inline Control::Hook python_hook(const py::object& callback) {
  return
      [callback = callback.is_none() ? nullptr : callback.ptr(), interrupt = MainThreadInterrupt(),
       is_of_end = is_interpreter_ending()](const Progress& progress) mutable {
        return with_gil(is_of_end, [&] {
          if (interrupt.ends_computation()) PyErr_SetNone(PyExc_KeyboardInterrupt);
          if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0)
            throw py::error_already_set();
          if (callback == nullptr) return true;
          const auto call = py::reinterpret_borrow<py::object>(callback);
          return !py::cast<bool>(py::bool_(call(report_of(progress))));
        });
      };
}

// What work(control) returns, without the GIL.
template <class Work> auto without_gil(const Work& work, const py::object& callback = py::none()) {
  Control control(python_hook(callback));
  const WithoutGil nogil;
  return work(control);
}

// Numbers read, or products added: so many take less time than passes before a hook is asked. To
// make one takes as long as some thousand, and stops all threads of a free-threaded CPython, where
// two threads that predict single rows took four times the processor time for each.
constexpr double kPolled = 1 << 22;

// A hook that lets Ctrl-C end a computation of so many of these.
inline Control::Hook interrupt_hook(double n_steps) {
  return n_steps < kPolled ? Control::Hook() : python_hook(py::none());
}

// As above, of a computation of so many of these.
template <class Work> auto without_gil(double n_steps, const Work& work) {
  Control control(interrupt_hook(n_steps));
  const WithoutGil nogil;
  return work(control);
}

} // namespace maxmargin::bindings
