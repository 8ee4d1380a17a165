#pragma once

#include "data/row_codes.hpp"
#include "data/views.hpp"
#include "solver/lazy_weights.hpp"

#include <cmath>
#include <optional>

namespace maxmargin {

// Tells of most dense rows that are no mistake without reading them: the first pass copies them in
// a byte for an element, later ones read the copies, and the rows only where the bound of the error
// leaves the margin in doubt. So the mistakes are those of the rows themselves. Where too many are
// in doubt, or made a mistake in the first pass, the copies are given up.
template <class View> class CodedMargins {
 public:
  // Of other rows: none.
  CodedMargins(const View&, bool) {}
  static constexpr bool is_in_use() { return false; }
  static constexpr bool is_sure(index_t, double, double, const LazyWeights&) { return false; }
  void note_row(index_t) {}
  void note_change() {}
  void end_pass(index_t) {}
  void fetch(index_t) const {}
};

template <Real T> class CodedMargins<DenseView<T>> {
 public:
  CodedMargins(const DenseView<T>& X, bool is_wanted) : X_(X) {
    if (is_wanted && X.cols >= kFewestColumns && X.cols <= kMostColumns &&
        X.rows * X.cols >= kFewestElements)
      codes_.emplace(X.rows, X.cols);
  }

  // Whether copies tell of this pass.
  bool is_in_use() const { return is_complete_; }
  void fetch(index_t i) const { codes_->fetch(i); }

  // Whether the margin y f(x_i) is above the given one for sure.
  bool is_sure(index_t i, double y, double margin, const LazyWeights& f) {
    if (!is_complete_) return false;
    if (!has_weights_) codes_->set_weights(f.weights());
    has_weights_ = true;
    const auto [value, error] = codes_->product(i);
    const double slack = kSlack * (std::abs(value) + std::abs(f.offset()) + margin);
    return y * (value + f.offset()) - error - slack > margin;
  }

  // A row is read.
  void note_row(index_t i) {
    if (is_complete_)
      ++n_read_;
    else if (codes_)
      codes_->encode(i, X_.row(i));
  }
  // It was a mistake, and the weights are others from here on.
  void note_change() {
    has_weights_ = false;
    if (!is_complete_) ++n_read_;
  }
  void end_pass(index_t n_examples) {
    if (static_cast<double>(n_read_) > kMostRead * static_cast<double>(n_examples)) codes_.reset();
    is_complete_ = codes_.has_value();
    n_read_ = 0;
  }

 private:
  static constexpr index_t kFewestColumns = 32, kMostColumns = 1 << 16;
  static constexpr index_t kFewestElements = 1 << 18; // that are worth a copy
  static constexpr double kMostRead = 0.3;            // of the rows
  static constexpr double kSlack = 1e-12;             // for what is rounded in float64

  const DenseView<T>& X_;
  std::optional<RowCodes<T>> codes_;
  bool is_complete_ = false; // all rows are copied
  bool has_weights_ = false;
  index_t n_read_ = 0; // in this pass; in the first, mistakes
};

} // namespace maxmargin
