// Table of contents of the extension module: one line for each part.
#include "bindings/pybind.hpp"

PYBIND11_MODULE(_core, m) {
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
