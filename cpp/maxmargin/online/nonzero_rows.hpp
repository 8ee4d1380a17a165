#pragma once

#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/sample_rows.hpp"

#include <vector>

namespace maxmargin::online {

// Dense rows read as CSR rows are: their zeros are no elements, and sums are in the same order. An
// l1 penalty is taken from the elements of a row, and whether a margin is a tie is a matter of the
// last digit: so both forms of one matrix give the same weights. Not for several threads.
template <Real T> class NonzeroRows {
 public:
  explicit NonzeroRows(const DenseView<T>& X) : X_(X), dense_(X) {
    columns_.reserve(static_cast<std::size_t>(X.cols));
    values_.reserve(static_cast<std::size_t>(X.cols));
  }

  double dot(index_t i, const double* w) const {
    gather(i);
    return sum_of(std::size_t{0}, values_.size(),
                  [&](std::size_t e) { return values_[e] * w[columns_[e]]; });
  }
  void add(index_t i, double a, double* w) const {
    gather(i);
    for (std::size_t e = 0; e < values_.size(); ++e) w[columns_[e]] += a * values_[e];
  }
  template <class Visit> void for_columns(index_t i, const Visit& visit) const {
    gather(i);
    for (const index_t j : columns_) visit(j);
  }
  void fetch(index_t i) const { dense_.fetch(i); }

 private:
  void gather(index_t i) const {
    if (i == row_) return;
    row_ = i;
    columns_.clear();
    values_.clear();
    const T* x = X_.row(i);
    for (index_t j = 0; j < X_.cols; ++j) {
      if (x[j] == T{0}) continue;
      columns_.push_back(j);
      values_.push_back(static_cast<double>(x[j]));
    }
  }

  const DenseView<T>& X_;
  DenseRows<T> dense_;
  mutable index_t row_ = -1; // whose elements these are
  mutable std::vector<index_t> columns_;
  mutable std::vector<double> values_;
};

} // namespace maxmargin::online
