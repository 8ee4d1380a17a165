#pragma once

#include "maxmargin/perceptron/kernel_perceptron.hpp"

namespace maxmargin::perceptron {

// The kernel perceptron (perceptron/kernel_perceptron.hpp) by passes that keep nothing but the support
// vectors of every problem. A block of examples is scored by them when its turn comes, and what a
// mistake changes is followed up within the block: kernel values of the block with the support
// vectors, and with itself, are all that it takes.
KernelPerceptronFit train_by_support_sets(const PackingPlan& plan, const MistakeRule& rule,
                                          const KernelPerceptronOptions& options, Control& control);

} // namespace maxmargin::perceptron
