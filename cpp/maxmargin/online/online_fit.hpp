#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/online/subgradient.hpp"

#include <span>
#include <vector>

namespace maxmargin::online {

// The states of several problems with the same number of functions and features.
class MAXMARGIN_API OnlineStates {
 public:
  OnlineStates() = default;
  // Before any step: w = 0, b = 0.
  OnlineStates(index_t n_problems, index_t n_functions, index_t n_features);
  // From arrays of one row or element for every function (w, b, the averages and lost) or problem.
  // The averages and lost may be empty. Throws InvalidArgument unless all sizes fit and all numbers
  // are finite.
  OnlineStates(index_t n_features, std::span<const double> w, std::span<const double> b,
               std::span<const double> average_w, std::span<const double> average_b,
               std::span<const std::int64_t> n_steps, std::span<const std::int64_t> n_averaged,
               std::span<const double> lost, std::span<const double> due);

  index_t n_features() const { return n_features_; }
  index_t n_functions() const; // of all problems
  bool has_averages() const;   // of all functions, or of none
  // One part of all problems, one after the other.
  std::vector<double> joined(std::vector<double> OnlineState::* part) const;
  template <class T> std::vector<T> joined(T OnlineState::* part) const {
    std::vector<T> all;
    for (const OnlineState& state : problems) all.push_back(state.*part);
    return all;
  }
  // With other last weights.
  OnlineStates with_weights(std::span<const double> w, std::span<const double> b) const;

  std::vector<OnlineState> problems;

 private:
  index_t n_features_ = 0;
};

// The training data of all problems: one of each class of `positive` against the rest, or, where
// `positive` is empty, one of all classes together.
struct OnlineData {
  const MatrixView& X;
  std::span<const std::int64_t> y;                   // numbers of classes
  std::span<const double> weight, validation_weight; // of examples, or empty
  // One against the rest: for every problem the weights of the rest and of the positive class. All
  // together: one for every class.
  std::span<const double> class_weight;
  std::span<const std::int64_t> positive;

  index_t n_problems() const { return is_joint() ? 1 : static_cast<index_t>(positive.size()); }
  index_t n_functions() const { return is_joint() ? static_cast<index_t>(class_weight.size()) : 1; }
  bool is_joint() const { return positive.empty(); }
};

struct OnlineResult {
  OnlineStates states;
  std::vector<optim::MistakeRecord> records; // by problem
};

// Trains all problems (online/subgradient.hpp), from `start` or from weights of 0. The problems
// share the threads. Dense rows are copied as int8 rows for all problems where that is likely to
// save time.
//
// Throws NumericError when a value of X is not finite, or so large that squared distances of rows
// overflow, or when f leaves the range of float64; InvalidArgument when sizes do not fit.
MAXMARGIN_API OnlineResult fit_online(const OnlineData& data, const OnlineSettings& settings,
                                      const OnlineStates* start, Control& control);

// The objective of every problem at given weights.
MAXMARGIN_API std::vector<double> online_objectives(const OnlineData& data,
                                                    const OnlineSettings& settings,
                                                    std::span<const double> w,
                                                    std::span<const double> b, Control& control);

} // namespace maxmargin::online
