#pragma once

#include "maxmargin/kernel/cross_kernel.hpp"
#include "maxmargin/model/decision/machine_sums.hpp"

namespace maxmargin {

// What the decision values of one sample after the other are made in. Whatever needs a part of it
// keeps its memory, so that none is taken when samples do not grow.
struct RowWorkspace {
  CrossKernel<double>::Workspace in_float64;
  CrossKernel<float>::Workspace in_float32;
  MachineSums::Workspace sums;
  AlignedBuffer<double> values; // of the kernel, with the support vectors
};

} // namespace maxmargin
