#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace maxmargin {

enum class KernelType {
  linear,
  polynomial,
  rbf,
  sigmoid,
  precomputed,
  power_sum,
  constant,
  laplacian,
  chi_squared,
  histogram_intersection,
  composed
};

// Of every KernelType in turn, and the word of LIBSVM's model files where they know it.
struct KernelName {
  std::string_view name, libsvm;
};
inline constexpr std::array<KernelName, 11> kKernelNames = {{{"linear", "linear"},
                                                             {"poly", "polynomial"},
                                                             {"rbf", "rbf"},
                                                             {"sigmoid", "sigmoid"},
                                                             {"precomputed", "precomputed"},
                                                             {"power_sum", ""},
                                                             {"constant", ""},
                                                             {"laplacian", ""},
                                                             {"chi_squared", ""},
                                                             {"histogram_intersection", ""},
                                                             {"composed", ""}}};
constexpr const KernelName& names_of(KernelType type) {
  return kKernelNames[static_cast<std::size_t>(type)];
}

enum class CompositionStep { value, add, multiply };

// linear      x.z
// polynomial  (gamma x.z + coef0)^degree
// rbf         exp(-gamma ||x - z||^2)
// sigmoid     tanh(gamma x.z + coef0)
// laplacian   exp(-gamma sum |x_k - z_k|)
// chi_squared exp(-gamma sum (x_k - z_k)^2 / (x_k + z_k)), of numbers >= 0
// histogram_intersection sum min(x_k, z_k), of numbers >= 0
// precomputed a matrix of the values of all samples with all stands in the place of the samples
// composed    sums and products of the others but precomputed, all of one pairing, and of
//   power_sum x.z + (x.z)^2 + .. + (x.z)^degree
//   constant  1
//             each of which may be made f(x) K(x, z) f(z): weighted, or normalised by
//             f(x) = 1 / sqrt(K(x, x))
struct KernelParams {
  KernelType type = KernelType::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;

  // A composed kernel in postfix notation: the values of kernels, times weights, and operations on
  // the last two results.
  struct Step;
  std::vector<Step> steps;

  // f of all samples that the kernel goes with, for each step in turn that has factors.
  std::vector<double> factors = {};
};

struct KernelParams::Step {
  CompositionStep kind = CompositionStep::value;
  KernelParams kernel; // of a value
  double weight = 1.0;
  bool has_factors = false; // K(x, z) becomes f(x) K(x, z) f(z)
};

} // namespace maxmargin
