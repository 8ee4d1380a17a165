// Table of contents of the extension module: one line for each part.
#include "bindings/pybind.hpp"

// Without the GIL: no binding keeps anything between calls but the functions that
// main_thread_interrupt.hpp has looked up, and what the core shares is its own to guard. With one
// for each interpreter: not supported, as by numpy.
PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  using namespace maxmargin::bindings;
  m.doc() = "The C++ core of maxmargin; use the package's public names instead.";
  bind_svm(m); // first, since the signatures of others name its classes
  bind_kernel_model(m);
  bind_arrays(m);
  bind_info(m);
  bind_io(m);
  bind_linear(m);
  bind_online(m);
  bind_perceptron(m);
}
