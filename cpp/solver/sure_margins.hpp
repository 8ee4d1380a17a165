#pragma once

#include "data/coded_rows.hpp"
#include "solver/lazy_weights.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

// Tells of most examples from their coded rows that they are no mistake. The rows themselves are
// read only where the estimate of a margin leaves that in doubt, so that the mistakes are theirs.
// After a pass in which too many are in doubt, all rows are read.
//
// Examples come in groups, whose products are evaluated together: again, where a mistake has
// changed the weights meanwhile.
class SureMargins {
 public:
  static constexpr std::size_t kGroup = CodedProducts::kMostRows;

  // Of no coded rows (null), nothing is sure.
  SureMargins(const CodedRows* rows, std::size_t n_examples) : rows_(rows) {
    if (rows == nullptr) return;
    products_.emplace(*rows);
    was_in_doubt_.resize(n_examples);
  }

  bool are_known() const { return products_.has_value(); }
  void fetch(index_t i) const { rows_->fetch(i); }
  // Whether row i was read when its example last had its turn: it is likely to be read again.
  bool was_in_doubt(index_t i) const { return was_in_doubt_[i] != 0; }

  // These examples come next, at most kGroup.
  void begin_group(std::span<const index_t> examples) {
    group_ = examples;
    is_estimated_ = false;
  }

  // Whether y f(x_i) is above the margin for sure, i the k-th example of the group.
  bool is_above(double margin, std::size_t k, double y, const LazyWeights& f) {
    if (!is_estimated_) estimate(f);
    const auto [value, error] = (*products_)[static_cast<index_t>(k)];
    const double b = f.offset(), slack = kSlack * (std::abs(value) + std::abs(b) + margin);
    const bool is_sure = y * (value + b) - error - slack > margin;
    was_in_doubt_[group_[k]] = is_sure ? 0 : 1;
    n_in_doubt_ += is_sure ? 0 : 1;
    return is_sure;
  }

  // The weights are others from here on.
  void note_change() { has_weights_ = is_estimated_ = false; }

  void end_pass(index_t n_examples) {
    if (static_cast<double>(n_in_doubt_) > kMostInDoubt * static_cast<double>(n_examples))
      products_.reset();
    n_in_doubt_ = 0;
  }

 private:
  static constexpr double kMostInDoubt = 0.3;
  static constexpr double kSlack = 1e-12; // for sums that are rounded in float64

  void estimate(const LazyWeights& f) {
    if (!has_weights_) products_->set_weights(f.weights());
    products_->estimate(group_);
    has_weights_ = is_estimated_ = true;
  }

  const CodedRows* rows_;
  std::optional<CodedProducts> products_;
  std::span<const index_t> group_;
  bool has_weights_ = false, is_estimated_ = false;
  std::vector<char> was_in_doubt_;
  index_t n_in_doubt_ = 0; // in this pass
};

} // namespace maxmargin
