#include "solver/perceptron.hpp"

#include "base/error.hpp"
#include "simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace maxmargin {
namespace {

// In an order that the processor cannot guess, the row this many examples ahead is fetched; a long
// row only as far as it takes the processor to see where it goes.
constexpr std::size_t kRowsAhead = 16;
constexpr std::size_t kFetchedBytes = 1024;
// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;

void prefetch(const void* data, std::size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  for (std::size_t k = 0; k < std::min(bytes, kFetchedBytes); k += kAlignment)
    __builtin_prefetch(begin + k);
}

// The three things that a pass does with a row.
template <Real T> class DenseRows {
 public:
  explicit DenseRows(const DenseView<T>& X) : X_(X) {}
  double dot(index_t i, const double* w) const { return table_.dot_wide(X_.row(i), w, X_.cols); }
  void add(index_t i, double a, double* w) const { table_.axpy_wide(a, X_.row(i), w, X_.cols); }
  void fetch(index_t i) const {
    prefetch(X_.row(i), static_cast<std::size_t>(X_.cols) * sizeof(T));
  }

 private:
  const DenseView<T>& X_;
  const simd::RealTable<T>& table_ = simd::real_table<T>(simd::active_table());
};

template <Real T, class I> class SparseRows {
 public:
  explicit SparseRows(const CsrView<T, I>& X) : X_(X) {}

  double dot(index_t i, const double* w) const {
    const auto values = X_.row_values(i);
    const auto columns = X_.row_indices(i);
    // Independent sums hide the latency of the additions.
    double sum[4] = {};
    std::size_t e = 0;
    for (; e + 4 <= values.size(); e += 4)
      for (std::size_t u = 0; u < 4; ++u)
        sum[u] += static_cast<double>(values[e + u]) * w[columns[e + u]];
    for (; e < values.size(); ++e) sum[0] += static_cast<double>(values[e]) * w[columns[e]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  void add(index_t i, double a, double* w) const {
    const auto values = X_.row_values(i);
    const auto columns = X_.row_indices(i);
    for (std::size_t e = 0; e < values.size(); ++e)
      w[columns[e]] += a * static_cast<double>(values[e]);
  }

  void fetch(index_t i) const {
    prefetch(X_.row_values(i).data(), X_.row_values(i).size_bytes());
    prefetch(X_.row_indices(i).data(), X_.row_indices(i).size_bytes());
  }

 private:
  const CsrView<T, I>& X_;
};

template <Real T> DenseRows<T> rows_of(const DenseView<T>& X) {
  return DenseRows<T>(X);
}
template <Real T, class I> SparseRows<T, I> rows_of(const CsrView<T, I>& X) {
  return SparseRows<T, I>(X);
}

template <Real T> index_t n_stored(const DenseView<T>& X) {
  return X.rows * X.cols;
}
template <Real T, class I> index_t n_stored(const CsrView<T, I>& X) {
  return X.nnz();
}

template <class Rows> class Perceptron {
 public:
  Perceptron(const Rows& rows, const BinaryExamples& examples, bool fit_intercept,
             LinearSeparator start, index_t rows_per_poll, Control& control)
      : rows_(rows), examples_(examples), fit_intercept_(fit_intercept), f_(std::move(start)),
        rows_per_poll_(rows_per_poll), control_(control) {}

  PerceptronFit run(const PassOptions& options) {
    const index_t n = static_cast<index_t>(examples_.y.size());
    index_t n_examples = 0;
    for (index_t i = 0; i < n; ++i) n_examples += examples_.rate(i) != 0.0 ? 1 : 0;
    // The given order needs no list, which would cost as much memory traffic as short rows.
    std::vector<index_t> order;
    if (options.shuffle) {
      order.reserve(static_cast<std::size_t>(n_examples));
      for (index_t i = 0; i < n; ++i)
        if (examples_.rate(i) != 0.0) order.push_back(i);
    }
    PerceptronFit fit;
    fit.record =
        run_passes(n_examples, std::move(order), options, [&](std::span<const index_t> shuffled) {
          ++n_iter_;
          return options.shuffle ? pass(shuffled) : pass();
        });
    for (const double w : f_.w) require_finite(w);
    require_finite(f_.b);
    fit.separator = std::move(f_);
    return fit;
  }

 private:
  index_t pass() {
    index_t mistakes = 0;
    for (index_t i = 0; i < static_cast<index_t>(examples_.y.size()); ++i)
      mistakes += visit(i) ? 1 : 0;
    return mistakes;
  }

  index_t pass(std::span<const index_t> order) {
    index_t mistakes = 0;
    for (std::size_t t = 0; t < order.size(); ++t) {
      if (t + kRowsAhead < order.size()) rows_.fetch(order[t + kRowsAhead]);
      mistakes += visit(order[t]) ? 1 : 0;
    }
    return mistakes;
  }

  // Returns whether the example was a mistake.
  bool visit(index_t i) {
    if (--until_poll_ <= 0) poll();
    const double rate = examples_.rate(i);
    if (rate == 0.0) return false;
    const double y = examples_.y[i];
    const double margin = y * (rows_.dot(i, f_.w.data()) + f_.b);
    require_finite(margin);
    if (margin > 0.0) return false;
    rows_.add(i, rate * y, f_.w.data());
    if (fit_intercept_) f_.b += rate * y;
    return true;
  }

  void poll() {
    until_poll_ = rows_per_poll_;
    control_.poll([&] { return Progress{n_iter_, 0.0, 0, 0, 0.0}; });
  }

  static void require_finite(double value) {
    if (!std::isfinite(value)) throw NumericError("the perceptron's weights overflow");
  }

  const Rows rows_;
  const BinaryExamples& examples_;
  bool fit_intercept_;
  LinearSeparator f_;
  index_t n_iter_ = 0;
  index_t rows_per_poll_;
  index_t until_poll_ = 0;
  Control& control_;
};

} // namespace

PerceptronFit train_perceptron(const MatrixView& X, const BinaryExamples& examples,
                               bool fit_intercept, LinearSeparator start,
                               const PassOptions& options, Control& control) {
  require(static_cast<index_t>(examples.y.size()) == n_rows(X) &&
              (examples.weight.empty() || examples.weight.size() == examples.y.size()),
          "y and weight must have an element for every row");
  require(static_cast<index_t>(start.w.size()) == n_cols(X),
          "the weights must have an element for every column");
  return std::visit(
      [&](const auto& view) {
        const index_t row_elements = n_stored(view) / std::max<index_t>(1, view.rows);
        const index_t rows_per_poll = 1 + kPollElements / (16 + row_elements);
        return Perceptron(rows_of(view), examples, fit_intercept, std::move(start), rows_per_poll,
                          control)
            .run(options);
      },
      X);
}

} // namespace maxmargin
