#pragma once

#include "maxmargin/svm/certificate.hpp"
#include "maxmargin/svm/stored_pair.hpp"
#include "maxmargin/svm/training_options.hpp"

#include <cstddef>
#include <vector>

namespace maxmargin {

// How kernel values are computed and kept.
struct KernelOptions {
  std::size_t cache_bytes = std::size_t{200} << 20;
  int threads = 0;            // 0: all that may be used
  bool in_float32 = false;    // with refinement in float64, and float64 throughout where that fails
  double float32_error = 0.0; // of one value
  bool is_only_machine = false; // so that the cache is what the caller asked for
  // Where the whole kernel matrix is to be computed beforehand, room for it.
  struct Memory {
    StoredPair<float> float32;
    StoredPair<double> float64;
  };
  Memory* whole_matrix = nullptr;
};

// A trained machine: f(x) = sum_i beta_i K(x_i, x) - rho, over the columns of the kernel matrix.
struct Machine {
  std::vector<double> beta;
  double rho = 0.0;
  double equivalent = 0.0; // C or epsilon: of a nu-SVC or nu-SVR, that of the same C-SVC or SVR
  Certificate certificate;
};

} // namespace maxmargin
