#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace maxmargin::linear {

// The weights w_m of every class m and of its bias, the weight of a feature that is `bias_scale`
// everywhere. For sparse rows those of all classes lie together for one feature after the other, so
// that a row is read once for all of them; for dense rows, those of one class.
class MulticlassWeights {
 public:
  struct Step {
    index_t m;
    double length;
  };

  MulticlassWeights(bool are_rows_sparse, index_t n_features, index_t n_classes, double bias_scale)
      : is_by_class_(!are_rows_sparse), n_features_(n_features), n_classes_(n_classes),
        bias_scale_(bias_scale), weights_(static_cast<std::size_t>(n_features * n_classes)),
        bias_weights_(static_cast<std::size_t>(n_classes)) {}

  // f of every class at row i.
  template <class Rows> void evaluate(const Rows& rows, index_t i, std::span<double> f) const {
    for (index_t m = 0; m < n_classes_; ++m) f[m] = bias_scale_ * bias_weights_[m];
    if constexpr (!AnyRows::has_elements<Rows>) {
      for (index_t m = 0; m < n_classes_; ++m)
        f[m] += rows.dot(i, weights_.data() + m * n_features_);
    } else {
      rows.for_elements(i, [&](index_t j, double x) {
        table_.axpy_wide(x, weights_.data() + j * n_classes_, f.data(), n_classes_);
      });
    }
  }

  // Adds row i to the weights, times the step of every class.
  template <class Rows> void add(const Rows& rows, index_t i, std::span<const Step> steps) {
    for (const Step& step : steps) bias_weights_[step.m] += bias_scale_ * step.length;
    if constexpr (!AnyRows::has_elements<Rows>) {
      for (const Step& step : steps)
        rows.add(i, step.length, weights_.data() + step.m * n_features_);
    } else {
      rows.for_elements(i, [&](index_t j, double x) {
        double* w = weights_.data() + j * n_classes_;
        for (const Step& step : steps) w[step.m] += step.length * x;
      });
    }
  }

  void clear() {
    std::fill(weights_.begin(), weights_.end(), 0.0);
    std::fill(bias_weights_.begin(), bias_weights_.end(), 0.0);
  }

  double half_square_norm() const {
    const auto square = [](const std::vector<double>& w) {
      return std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
    };
    return 0.5 * (square(weights_) + square(bias_weights_));
  }

  LinearSeparator separator(index_t m) const {
    LinearSeparator separator;
    for (index_t j = 0; j < n_features_; ++j)
      separator.w.push_back(weights_[is_by_class_ ? m * n_features_ + j : j * n_classes_ + m]);
    separator.b = bias_scale_ * bias_weights_[m];
    return separator;
  }

 private:
  bool is_by_class_;
  const simd::RealTable<double>& table_ = simd::active_table().f64;
  index_t n_features_, n_classes_;
  double bias_scale_;
  std::vector<double> weights_;
  std::vector<double> bias_weights_;
};

} // namespace maxmargin::linear
