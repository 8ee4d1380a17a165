#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/optim/mistake_passes.hpp"
#include "maxmargin/perceptron/mistake_rule.hpp"

#include <vector>

namespace maxmargin::perceptron {

struct KernelPerceptronOptions {
  optim::PassOptions passes;
  double offset = 1.0; // added to the kernel
  // The coefficients are the mean over all examples of all passes of those that stood after each
  // (Freund and Schapire 1999).
  bool average = false;
  std::size_t cache_bytes = std::size_t{200} << 20; // for kernel rows
  int threads = 0;                                  // 0: all that may be used
};

struct KernelPerceptronFit {
  std::vector<std::int64_t> alpha;           // mistakes by problem and example
  std::vector<double> beta;                  // coefficients by output and example
  std::vector<optim::MistakeRecord> records; // by problem
  std::size_t kernel_rows = 0;               // computed

  index_t n_examples() const {
    return records.empty() ? 0 : static_cast<index_t>(alpha.size() / records.size());
  }
};

// The perceptron in its dual form (Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999,
// section 3): f(x) = sum_i beta_i (K(x_i, x) + offset), and beta_i += y_i on a mistake, y_i f(x_i)
// <= 0 (of several outputs: perceptron/mistake_rule.hpp). With the linear kernel and offset 1 it
// makes the mistakes of the primal perceptron with a bias. The outputs share all kernel values.
//
// Examples are taken in blocks, whose own kernel matrix gives the change that a mistake makes to
// the scores f(x_i) of the rest of the block. The scores of all examples then change for all
// mistakes of the block together: an example that is no mistake needs no kernel values, and rows
// stay in the cache for later passes. The blocks do not change the result. Kernel values and sums
// are float64: the mistakes are those of the rule in exact arithmetic except where |f| is as small
// as the rounding of its sum.
//
// Throws NumericError when f leaves the range of float64.
MAXMARGIN_API KernelPerceptronFit train_kernel_perceptron(const MatrixView& X,
                                                          const KernelParams& kernel,
                                                          const MistakeRule& rule,
                                                          const KernelPerceptronOptions& options,
                                                          Control& control);

} // namespace maxmargin::perceptron
