#pragma once

#include "dropin/classes.hpp"
#include "dropin/libsvm/library.hpp"
#include "dropin/nodes.hpp"
#include "maxmargin/svm/kernel_fit.hpp"

#include <optional>
#include <vector>

namespace maxmargin::dropin {

KernelParams kernel_of(const svm_parameter& param);
// C of each class.
std::vector<double> bounds_of(const Classes& classes, const svm_parameter& param);

// The samples of a problem, or the values of its precomputed kernel.
class TrainingSet {
 public:
  TrainingSet(const svm_problem& problem, const svm_parameter& param);

  MatrixView view() const { return view_of(X_); }
  TrainingSet subset(std::span<const index_t> rows) const;
  // What a model that was trained on the subset `basis` predicts rows from.
  SampleMatrix queries(std::span<const index_t> rows, std::span<const index_t> basis) const;

 private:
  explicit TrainingSet(SampleMatrix X, bool is_precomputed)
      : X_(std::move(X)), is_precomputed_(is_precomputed) {}

  SampleMatrix X_;
  bool is_precomputed_;
};

// A trained machine, and its classes in LIBSVM's order; without a model where there is one class.
struct Machines {
  Classes classes;
  std::optional<KernelModel> model;

  // As svm_predict_values has them, row after row.
  std::vector<double> values(const MatrixView& X) const;
};

// Says of each solution what LIBSVM does.
Machines train(const TrainingSet& set, std::span<const double> y, const svm_parameter& param);

} // namespace maxmargin::dropin
