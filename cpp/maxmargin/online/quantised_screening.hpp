#pragma once

#include "maxmargin/data/int8_rows.hpp"
#include "maxmargin/online/lazy_weights.hpp"

#include <bit>
#include <optional>
#include <vector>

namespace maxmargin::online {

// Screens examples by their int8 rows: most are decided to be no mistake. The rows themselves are
// read only for those that are undecided, so that the mistakes are those of the rows. After a pass
// with too many undecided, all rows are read.
//
// Examples come in groups, which are decided together: again, after a mistake has changed the
// weights.
class QuantisedScreening {
 public:
  static constexpr index_t kGroup = Int8Margins::kExamples;

  // Without int8 rows (null), nothing is decided.
  QuantisedScreening(const Int8Rows* rows, double margin, std::size_t n_examples)
      : rows_(rows), margin_(margin) {
    if (rows == nullptr) return;
    margins_.emplace(*rows);
    was_undecided_.resize(n_examples);
  }

  bool is_on() const { return margins_.has_value(); }
  void fetch(index_t i) const { rows_->fetch(i); }
  // Whether row i was read in the last turn of its example: it is likely to be read again.
  bool was_undecided(index_t i) const { return was_undecided_[i] != 0; }

  // Example i, of label y, comes k-th in the next group.
  void set_example(index_t k, index_t i, double y) {
    margins_->set_example(k, i, y);
    was_undecided_[i] = 0;
    has_mask_ = false;
  }

  // The first of the group, from the k-th on, that is not decided to have y f(x_i) above the
  // margin; kGroup if there is none.
  index_t next_undecided(index_t k, const LazyWeights& f) {
    if (k == kGroup) return k;
    if (!has_mask_) decide(f);
    return std::countr_zero(((mask_ >> k) << k) | (1U << kGroup));
  }
  void note_undecided(index_t i) {
    was_undecided_[i] = 1;
    ++n_undecided_;
  }
  // The weights are others from here on.
  void note_change() { has_weights_ = has_mask_ = false; }

  void end_pass(index_t n_examples) {
    if (static_cast<double>(n_undecided_) > kMostUndecided * static_cast<double>(n_examples))
      margins_.reset();
    n_undecided_ = 0;
  }

 private:
  static constexpr double kMostUndecided = 0.3;

  void decide(const LazyWeights& f) {
    if (!has_weights_) margins_->set_function(f.weights(), f.offset(), margin_);
    mask_ = margins_->undecided();
    has_weights_ = has_mask_ = true;
  }

  const Int8Rows* rows_;
  double margin_;
  std::optional<Int8Margins> margins_;
  bool has_weights_ = false, has_mask_ = false;
  unsigned mask_ = 0; // a bit for every undecided example of the group
  // Not bytes, which may alias anything, so that the compiler would reload all after each store.
  std::vector<std::int16_t> was_undecided_;
  index_t n_undecided_ = 0; // in this pass
};

} // namespace maxmargin::online
