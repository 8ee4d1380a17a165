#pragma once

#include "bindings/pybind.hpp"

#include <chrono>
#include <thread>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

// The GIL of computations, which may be on a thread that the interpreter does not wait for when it
// ends. Such a thread never gets the GIL again: it must wait for the process to end, as CPython
// itself sees to from 3.14 on. Before, the thread is ended where it asks, by an unwinding that
// would abort the process at the first destructor that asks as well.

namespace maxmargin::bindings {

[[noreturn]] inline void wait_for_exit() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Calls `act`, during which the interpreter may end the thread; it then waits.
template <class Act> decltype(auto) waiting_if_ended(const Act& act) {
#ifdef __GLIBCXX__
  try {
    return act();
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  }
#else
  return act();
#endif
}

// Whether this is a time at which the interpreter runs nothing but what it ends with.
inline bool is_interpreter_ending() {
  return Py_IsInitialized() == 0;
}

// Lets other threads have the GIL during its life.
class WithoutGil {
 public:
  WithoutGil() = default;
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  ~WithoutGil() {
    if (!is_of_end_ && is_interpreter_ending()) wait_for_exit();
    waiting_if_ended([&] { PyEval_RestoreThread(state_); });
  }

 private:
  const bool is_of_end_ = is_interpreter_ending(); // this thread is the one that ends it, then
  PyThreadState* state_ = PyEval_SaveThread();
};

// Calls `act` with the GIL; `is_of_end`: the computation began on the thread that ends the
// interpreter.
template <class Act> decltype(auto) with_gil(bool is_of_end, const Act& act) {
  if (!is_of_end && is_interpreter_ending()) wait_for_exit();
  return waiting_if_ended([&]() -> decltype(auto) {
    const py::gil_scoped_acquire gil;
    return waiting_if_ended(act); // before the GIL that is lost would be given back
  });
}

} // namespace maxmargin::bindings
