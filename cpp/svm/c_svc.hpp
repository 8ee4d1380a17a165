#pragma once

#include "base/control.hpp"
#include "solver/dual_problem.hpp"
#include "svm/training_samples.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace maxmargin {

// How kernel values are computed and kept.
struct KernelOptions {
  std::size_t cache_bytes = std::size_t{200} << 20;
  int threads = 0;            // 0: OpenMP's default
  bool in_float32 = false;    // with refinement in float64, and float64 throughout where that fails
  double float32_error = 0.0; // of one value
  // Where the whole kernel matrix is to be computed beforehand, room for it.
  struct Memory {
    AlignedBuffer<float> narrow;
    AlignedBuffer<double> wide;
  };
  Memory* whole_matrix = nullptr;
};

// What was reached by one fit, by float64 kernel values. Where the solver worked on float32 ones,
// the dual objective may show their rounding up to 1e-6 of it, and the primal objective up to a
// tenth of the gap or of the hundredth part of tol sum alpha.
struct Certificate {
  double dual_objective = 0.0;   // 1/2 alpha' Q alpha - sum alpha (LIBSVM's sign)
  double primal_objective = 0.0; // 1/2 ||w||^2 + sum C_i max(0, 1 - y_i f(x_i)), at the model's rho
  double kkt_violation = 0.0;
  index_t n_iter = 0;
  index_t kernel_rows = 0;
  index_t cache_hits = 0;
  index_t cache_misses = 0;
  double seconds = 0.0;
  StopReason stop_reason = StopReason::converged;
};

// A trained machine: f(x) = sum_i beta_i K(x_i, x) - rho, over the columns of the kernel matrix.
struct BinarySvc {
  std::vector<double> beta;
  double rho = 0.0;
  Certificate certificate;
};

// C-support vector classification (Cortes and Vapnik 1995):
//
//   minimise  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) - rho))
//
// through its dual in signed form, beta_i = y_i alpha_i: linear term -y_i, box [0, C_i] for y_i = 1
// and [-C_i, 0] for y_i = -1, sum beta = 0. The columns are those of the segments; y and C have one
// element for each, and a column with C_i = 0 takes no part.
BinarySvc train_c_svc(const TrainingSamples& samples, std::span<const index_t> segments,
                      std::span<const double> y, std::span<const double> C,
                      const KernelOptions& kernel, const SolverOptions& options, Control& control);

} // namespace maxmargin
