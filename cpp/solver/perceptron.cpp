#include "solver/perceptron.hpp"

#include "base/error.hpp"
#include "data/sample_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace maxmargin {
namespace {

// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;

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
