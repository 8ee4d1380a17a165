#pragma once

#include "maxmargin/dual/dual_problem.hpp"

#include <cstddef>

namespace maxmargin {

// What a loss makes of u: max(0, u), max(0, u)^2, or 0 where u <= 0 and infinity elsewhere. The
// last is the limit of the others for C = infinity.
enum class Loss { hinge, squared_hinge, hard_margin };

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

} // namespace maxmargin
