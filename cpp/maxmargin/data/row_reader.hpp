#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/mapped_memory.hpp"
#include "maxmargin/data/views.hpp"

#include <algorithm>
#include <optional>

namespace maxmargin {

// Counts the rows that are read: polls the control now and then, and gives back the pages of a
// mapped file.
template <class View> class RowReader {
 public:
  RowReader(const View& X, bool is_mapped, bool is_shuffled, Control& control)
      : X_(X), control_(control), row_elements_(16 + n_stored(X) / std::max<index_t>(1, X.rows)),
        is_mapped_(is_mapped) {
    if (is_mapped && is_shuffled) row_elements_ = std::max(row_elements_, kFaultElements);
    rows_per_poll_ = 1 + kPollElements / row_elements_;
  }
  ~RowReader() {
    if (is_mapped_) release(X_);
  }
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  index_t rows_per_poll() const { return rows_per_poll_; }

  // To be called for every row, or for a few at once.
  void note(index_t n_iter, index_t n_rows = 1) {
    if ((until_poll_ -= n_rows) <= 0) poll(n_iter);
  }
  // The measure of the last pass, for reports.
  void note_measure(double measure) { measure_ = measure; }

 private:
  static constexpr index_t kPollElements = 1 << 20; // read between two polls
  static constexpr index_t kHeldElements = 1 << 23; // of a mapped file, in memory at a time
  // The system maps up to about this much (2 MB) around a row that is read in random order.
  static constexpr index_t kFaultElements = 1 << 18;

  void poll(index_t n_iter) {
    until_poll_ = rows_per_poll_;
    control_.poll([&] { return Progress{.n_iter = n_iter, .measure = measure_}; });
    held_ += rows_per_poll_ * row_elements_;
    if (!is_mapped_ || held_ < kHeldElements) return;
    release(X_);
    held_ = 0;
  }

  static void release(const View& X) {
    if (X.rows == 0) return;
    if constexpr (is_dense<View>) {
      release_mapped(X.data, static_cast<std::size_t>(X.rows * X.stride) * sizeof(*X.data));
    } else {
      const auto n = static_cast<std::size_t>(X.nnz());
      release_mapped(X.values + X.indptr[0], n * sizeof(*X.values));
      release_mapped(X.indices + X.indptr[0], n * sizeof(*X.indices));
    }
  }

  const View& X_;
  Control& control_;
  index_t row_elements_, rows_per_poll_ = 1;
  index_t until_poll_ = 0, held_ = 0;
  std::optional<double> measure_;
  bool is_mapped_;
};

} // namespace maxmargin
