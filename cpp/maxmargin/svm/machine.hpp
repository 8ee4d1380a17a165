#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/dual/dual_problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxmargin {

// The type of the kernel values that the solver works on. `automatic` is float32 where that leads
// to the tolerance at less cost.
enum class Precision { automatic, float32, float64 };

// How a machine is trained, whatever its formulation.
struct TrainingOptions {
  dual::SolverOptions solver;
  std::size_t cache_bytes = std::size_t{200} << 20;
  int threads = 0; // 0: all that may be used
  Precision precision = Precision::automatic;
};

// How kernel values are computed and kept.
struct KernelOptions {
  std::size_t cache_bytes = std::size_t{200} << 20;
  int threads = 0;            // 0: all that may be used
  bool in_float32 = false;    // with refinement in float64, and float64 throughout where that fails
  double float32_error = 0.0; // of one value
  bool is_only_machine = false; // so that the cache is what the caller asked for
  // Where the whole kernel matrix is to be computed beforehand, room for it.
  struct Memory {
    AlignedBuffer<float> narrow;
    AlignedBuffer<double> wide;
  };
  Memory* whole_matrix = nullptr;
};

// What was reached by one fit, by float64 kernel values. Where the solver worked on float32 ones,
// the dual objective may show their rounding up to 1e-6 of it, and the primal objective up to a
// tenth of the gap or of the hundredth part of tol sum alpha. Both are those that the formulation's
// own file states; the dual one is minimised, in LIBSVM's sign and scale.
struct Certificate {
  double dual_objective = 0.0;
  double primal_objective = 0.0; // at the model's rho
  double kkt_violation = 0.0;
  index_t n_iter = 0;
  index_t n_free = 0;    // samples whose beta is between its bounds
  index_t n_bounded = 0; // samples whose beta is at one that is not 0
  index_t kernel_rows = 0;
  index_t kernel_values = 0; // what several machines share counts with the first of them
  index_t cache_hits = 0;
  index_t cache_misses = 0;
  double seconds = 0.0;
  optim::StopReason stop_reason = optim::StopReason::converged;

  // Takes the state that a further fit reached, and counts its work in.
  void add(Certificate further) {
    further.n_iter += n_iter;
    further.kernel_rows += kernel_rows;
    further.kernel_values += kernel_values;
    further.cache_hits += cache_hits;
    further.cache_misses += cache_misses;
    further.seconds += seconds;
    *this = further;
  }
};

// A trained machine: f(x) = sum_i beta_i K(x_i, x) - rho, over the columns of the kernel matrix.
struct Machine {
  std::vector<double> beta;
  double rho = 0.0;
  double counterpart = 0.0; // of nu: the C of the same C-SVC, the epsilon of the same epsilon-SVR
  Certificate certificate;
};

// A model of one machine on a whole training set.
struct SingleFit {
  std::vector<std::int64_t> support; // rows of X, ascending
  std::vector<double> dual_coef;     // by support vector
  double rho = 0.0;
  double counterpart = 0.0;
  Certificate certificate;
};

} // namespace maxmargin
