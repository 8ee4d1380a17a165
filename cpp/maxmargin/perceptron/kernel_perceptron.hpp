#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "maxmargin/optim/mistake_passes.hpp"
#include "maxmargin/perceptron/budget_policy.hpp"
#include "maxmargin/perceptron/mistake_rule.hpp"

#include <vector>

namespace maxmargin::perceptron {

struct KernelPerceptronOptions {
  optim::PassOptions passes;
  double offset = 1.0; // added to the kernel
  // The coefficients are the mean over all examples of all passes of those that stood after each
  // (Freund and Schapire 1999). Not with a policy that removes support vectors.
  bool average = false;
  Budget budget;
  std::size_t cache_bytes = std::size_t{200} << 20; // for kernel rows
  int threads = 0;                                  // 0: all that may be used
};

struct KernelPerceptronFit {
  std::vector<std::int64_t> alpha; // mistakes by problem and example
  std::vector<double> beta;        // coefficients by output and example
  std::vector<optim::MistakeRecord> records;
  std::size_t kernel_rows = 0; // computed; parts of rows count as such
};

// The perceptron in its dual form (Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999,
// section 3): f(x) = sum_i beta_i (K(x_i, x) + offset), and beta_i += y_i on a mistake,
// y_i f(x_i) <= 0 (of several outputs: perceptron/mistake_rule.hpp). With the linear kernel and offset
// 1 it makes the mistakes of the primal perceptron with a bias. The outputs share all kernel
// values.
//
// Examples are taken in blocks, whose own kernel matrix tells how a mistake in a block changes the
// scores f(x_i) of those after. The scores of all others follow for all mistakes of the block
// together. Either at once: examples that are right cost nothing then, and rows of kernel values
// stay in the cache for later passes. Or when the turn of a block comes
// (perceptron/deferred_scores.hpp), which saves half the work of a single pass. With a budget, no
// scores are kept (perceptron/support_set_passes.hpp). None of this changes anything but the speed.
// Sums are float64, of float64 kernel values: the mistakes are those of the rule in exact
// arithmetic but where a score is as small as its rounding.
//
// RBF kernel values may be float32 ones, at half the cost, and the mistakes are still those. Each
// such value is off by no more than a known part of it (kernel/relative_errors.hpp), so a score is
// off by no more than that part of what all its terms come to, each with its magnitude. That is
// summed up beside every score. Where it leaves in doubt what the rule finds, the score is
// evaluated anew from float64 values of the samples, and counts as exact from there on. Where that
// happens so often that float32 values do not pay, the pass begins again on float64 ones.
//
// Throws NumericError when f leaves the range of float64.
KernelPerceptronFit train_kernel_perceptron(const PackingPlan& plan, const MistakeRule& rule,
                                            const KernelPerceptronOptions& options,
                                            Control& control);

} // namespace maxmargin::perceptron
