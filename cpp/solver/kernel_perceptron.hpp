#pragma once

#include "base/control.hpp"
#include "kernel/kernel_matrix.hpp"
#include "solver/mistake_passes.hpp"

#include <span>
#include <vector>

namespace maxmargin {

struct KernelPerceptronFit {
  std::vector<std::int64_t> alpha; // mistakes made on every example
  MistakeRecord record;
};

// The perceptron in its dual form (Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999,
// section 3): f(x) = sum_i alpha_i y_i (K(x_i, x) + offset), and alpha_i += 1 on a mistake,
// y_i f(x_i) <= 0. With the linear kernel and offset 1 it makes the mistakes of the primal
// perceptron with a bias.
//
// The scores f(x_i) of all examples are kept up to date. Examples are taken in blocks: the kernel
// matrix of a block tells how a mistake in it changes the scores of those after, and the rest of
// the scores follow for all mistakes of the block together. Blocks change nothing but the speed.
//
// Requires: example i, of label y_i in {-1, +1}, is column i of `kernel`; further columns are
// padding. Throws NumericError when f leaves the range of float64.
KernelPerceptronFit train_kernel_perceptron(KernelMatrix<double>& kernel,
                                            std::span<const std::int8_t> y, double offset,
                                            const PassOptions& options, Control& control);

} // namespace maxmargin
