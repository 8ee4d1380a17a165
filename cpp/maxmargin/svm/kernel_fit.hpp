#pragma once

#include "maxmargin/model/kernel_model.hpp"
#include "maxmargin/svm/certificate.hpp"

namespace maxmargin {

// What training gives.
struct KernelFit {
  KernelModel model;
  Certificates certificates; // by machine
};

// The parts of a model that follow from which rows of X are its support vectors.
MAXMARGIN_API KernelModelParts parts_of(SvmType type, const MatrixView& X,
                                        const KernelParams& kernel, std::vector<index_t> support);

// Throws NumericError where a number of the solution is not finite.
MAXMARGIN_API KernelFit finished(KernelModelParts parts, Certificates certificates);

} // namespace maxmargin
