#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/svm/one_vs_one.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// A fold of a cross-validation.
struct Fold {
  std::vector<double> weight;    // by row: of its C; 0 where the row is not trained on
  std::vector<index_t> held_out; // rows
};

// What a search finds for each cell, a value of C with a fold. Where the time was up before a
// machine of a cell was trained, its certificate says so, and what stands for the cell is void.
struct SvcSearch {
  Certificates certificates;     // by C, fold and machine
  std::vector<index_t> classes;  // by C, fold and row held out: the class with most votes
  std::vector<KernelModel> fits; // by C and fold, where they are kept
};

// Trains a classifier of C-SVC machines for every kernel, C and fold, and lets it predict the rows
// held out.
//
// Kernel values depend on neither C nor fold nor pair of classes: those of all rows with all are
// computed once, where they fit the cache that the options allow. A fold is a box: rows held out
// have the bounds 0, so that the decision value of such a row is its gradient, or a sum over rows
// of the matrix. Where they do not fit, every machine computes those it asks for. In either case a
// machine begins where the one with the C before it ended.
//
// `y` holds class numbers 0 .. n_classes - 1. Requires a kernel, finite Cs > 0, ascending, and in every fold
// a row of positive weight of each class.
MAXMARGIN_INSIDE std::vector<SvcSearch> search_svc(const MatrixView& X, std::span<const index_t> y,
                                                   index_t n_classes, std::span<const double> Cs,
                                                   const std::vector<Fold>& folds,
                                                   const std::vector<KernelParams>& kernels,
                                                   const SvcOptions& options, bool keeps_fits,
                                                   Control& control);

} // namespace maxmargin
