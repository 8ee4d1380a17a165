#pragma once

#include "data/views.hpp"
#include "kernel/kernel_params.hpp"
#include "svm/c_svc.hpp"

namespace maxmargin {

// The type of the kernel values that the solver works on. `automatic` is float32 where that leads
// to the tolerance at less cost.
enum class Precision { automatic, float32, float64 };

struct SvcOptions {
  SolverOptions solver;
  std::size_t cache_bytes = std::size_t{200} << 20;
  int threads = 0; // 0: OpenMP's default
  Precision precision = Precision::automatic;
};

// A C-SVC for any number of classes, one machine for every pair of them, in LIBSVM's order and
// layout (model/svc_model.hpp describes dual_coef).
struct SvcFit {
  std::vector<std::int64_t> support; // rows of X, grouped by class, ascending inside a class
  std::vector<std::int64_t> n_support;
  std::vector<double> dual_coef; // (n_classes - 1) x support.size()
  std::vector<double> rho;
  std::vector<Certificate> certificates; // by machine
};

// `y` holds class numbers 0 .. n_classes - 1, `C` the upper bound of every row's alpha; a row with
// C = 0 is left out. Requires two classes or more, each with a row of positive C.
SvcFit train_one_vs_one(const MatrixView& X, std::span<const std::int64_t> y, index_t n_classes,
                        std::span<const double> C, const KernelParams& kernel,
                        const SvcOptions& options, Control& control);

} // namespace maxmargin
