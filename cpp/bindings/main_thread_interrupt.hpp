#pragma once

#include "bindings/pybind.hpp"

#include <chrono>

namespace maxmargin::bindings {

// Ctrl-C for a computation on another thread: Python gives it to the main thread alone.
//
// It is to end where the main thread has ended by it, and the process waits for its other threads;
// and where the main thread has been handling it for a while, as in the `with` of a pool, whose
// exit waits for the fits. A shell handles it in less time and goes on. What the main thread was
// handling already when the computation began is not meant for that: it may be a last fit, from
// within `except KeyboardInterrupt`.
class MainThreadInterrupt {
 public:
  bool ends_computation() {
    if (has_ended_main_thread()) return true;
    const py::object handled = handled_by_main_thread();
    const auto now = Clock::now();
    if (!handled.is(handled_)) {
      handled_ = handled;
      since_ = now;
    }
    return !handled.is_none() && !handled.is(known_) && now - since_ >= kWhile;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kWhile = std::chrono::milliseconds(400);
  static constexpr int kMostContexts = 100; // they may be a ring, if somebody has set them

  static bool has_ended_main_thread() {
    const py::module_ threading = py::module_::import("threading");
    // The workers of a pool are waited for just before the main thread counts as ended.
    const bool is_ending =
        py::getattr(threading, "_SHUTTING_DOWN", py::bool_(false)).cast<bool>() ||
        !threading.attr("main_thread")().attr("is_alive")().cast<bool>();
    if (!is_ending) return false;
    const py::object last = py::getattr(py::module_::import("sys"), "last_value", py::none());
    return py::isinstance(last, PyExc_KeyboardInterrupt);
  }

  struct Functions {
    py::object main_thread = py::module_::import("threading").attr("main_thread");
    py::object current_exceptions = py::module_::import("sys").attr("_current_exceptions");
  };
  // Looked up once: the prediction of one sample takes little longer.
  static const Functions& functions() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Functions> storage;
    return storage.call_once_and_store_result([] { return Functions(); }).get_stored();
  }

  // The KeyboardInterrupt that the main thread is handling, or from which arose what it handles;
  // else None.
  static py::object handled_by_main_thread() {
    const py::dict by_thread = functions().current_exceptions();
    const py::object main = functions().main_thread().attr("ident");
    if (!by_thread.contains(main)) return py::none();
    py::object handled = by_thread[main];
    if (py::isinstance<py::tuple>(handled)) handled = handled[py::int_(1)]; // before CPython 3.12
    for (int k = 0; k < kMostContexts && !handled.is_none(); ++k) {
      if (py::isinstance(handled, PyExc_KeyboardInterrupt)) return handled;
      handled = handled.attr("__context__");
    }
    return py::none();
  }

  py::object known_ = handled_by_main_thread(); // when the computation began
  py::object handled_ = known_;                 // when last read, and since when
  Clock::time_point since_ = Clock::now();
};

} // namespace maxmargin::bindings
