#pragma once

namespace maxmargin {

enum class KernelType { linear, polynomial, rbf, sigmoid };

// linear      x.z
// polynomial  (gamma x.z + coef0)^degree
// rbf         exp(-gamma ||x - z||^2)
// sigmoid     tanh(gamma x.z + coef0)
struct KernelParams {
  KernelType type = KernelType::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;
};

} // namespace maxmargin
