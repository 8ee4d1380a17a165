#pragma once

#include "maxmargin/data/coded_rows.hpp"
#include "maxmargin/online/lazy_weights.hpp"

#include <bit>
#include <optional>
#include <vector>

namespace maxmargin::online {

// Tells of most examples from their coded rows that they are no mistake. The rows themselves are
// read only where the estimate of a margin leaves that in doubt, so that the mistakes are theirs.
// After a pass in which too many are in doubt, all rows are read.
//
// Examples come in groups, which are asked about together: again, where a mistake has changed the
// weights meanwhile.
class SureMargins {
 public:
  static constexpr index_t kGroup = CodedMargins::kExamples;

  // Of no coded rows (null), nothing is sure.
  SureMargins(const CodedRows* rows, double margin, std::size_t n_examples)
      : rows_(rows), margin_(margin) {
    if (rows == nullptr) return;
    margins_.emplace(*rows);
    was_in_doubt_.resize(n_examples);
  }

  bool are_known() const { return margins_.has_value(); }
  void fetch(index_t i) const { rows_->fetch(i); }
  // Whether row i was read when its example last had its turn: it is likely to be read again.
  bool was_in_doubt(index_t i) const { return was_in_doubt_[i] != 0; }

  // Example i, of label y, comes k-th in the next group.
  void set_example(index_t k, index_t i, double y) {
    margins_->set_example(k, i, y);
    was_in_doubt_[i] = 0;
    is_asked_ = false;
  }

  // The first of the group, from the k-th on, whose y f(x_i) is not above the margin for sure;
  // kGroup if there is none.
  index_t next_in_doubt(index_t k, const LazyWeights& f) {
    if (k == kGroup) return k;
    if (!is_asked_) ask(f);
    return std::countr_zero(((doubts_ >> k) << k) | (1U << kGroup));
  }
  void note_doubt(index_t i) {
    was_in_doubt_[i] = 1;
    ++n_in_doubt_;
  }
  // The weights are others from here on.
  void note_change() { has_weights_ = is_asked_ = false; }

  void end_pass(index_t n_examples) {
    if (static_cast<double>(n_in_doubt_) > kMostInDoubt * static_cast<double>(n_examples))
      margins_.reset();
    n_in_doubt_ = 0;
  }

 private:
  static constexpr double kMostInDoubt = 0.3;

  void ask(const LazyWeights& f) {
    if (!has_weights_) margins_->set_function(f.weights(), f.offset(), margin_);
    doubts_ = margins_->find_doubts();
    has_weights_ = is_asked_ = true;
  }

  const CodedRows* rows_;
  double margin_;
  std::optional<CodedMargins> margins_;
  bool has_weights_ = false, is_asked_ = false;
  unsigned doubts_ = 0; // a bit for every example of the group
  // Not bytes, whose stores could change anything, for all that the compiler knows.
  std::vector<std::int16_t> was_in_doubt_;
  index_t n_in_doubt_ = 0; // in this pass
};

} // namespace maxmargin::online
