#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/kernel_fit.hpp"
#include "maxmargin/svm/training_options.hpp"

#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

struct SvcOptions : TrainingOptions {
  std::optional<double> nu; // of a nu-SVC; else the machines are C-SVC
  Loss loss = Loss::hinge;  // of a C-SVC with a finite C
  // Of classes with equal votes, the first in this order wins; empty: as they first occur in y.
  std::vector<index_t> vote_order = {};
};

// A classifier for any number of classes, one machine for every pair of them.
//
// C = infinity is the hard margin, and then for all rows that are not left out.
//
// `y` holds class numbers 0 .. n_classes - 1, `C` the upper bound of every row's alpha (of a
// nu-SVC, the row's weight); a row with C = 0 is left out. Requires two classes or more, each with
// a row of positive C.
MAXMARGIN_API KernelFit train_one_vs_one(const MatrixView& X, std::span<const index_t> y,
                                         index_t n_classes, std::span<const double> C,
                                         const KernelParams& kernel, const SvcOptions& options,
                                         Control& control);

} // namespace maxmargin
