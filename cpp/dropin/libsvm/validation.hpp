#pragma once

#include "dropin/libsvm/training.hpp"
#include "maxmargin/model/noise.hpp"

namespace maxmargin::dropin {

// For each sample what machines predict that were trained without its fold. The folds are
// LIBSVM's, drawn by the same sequence of rand().
std::vector<double> cross_validated(const TrainingSet& set, std::span<const double> y,
                                    const svm_parameter& param, int n_folds);

// The sigmoids of all pairs of classes, from machines trained in five folds of each pair.
std::vector<Sigmoid> calibrated(const TrainingSet& set, const Classes& classes,
                                const svm_parameter& param);

} // namespace maxmargin::dropin
