#include "maxmargin/kernel/exact_rbf.hpp"

#include "maxmargin/base/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// Rows for a thread to be worth waking.
constexpr index_t kGrain = 64;

// Independent sums hide the latency of the additions.
constexpr int kParts = 8;

} // namespace

ExactRbf::ExactRbf(const MatrixView& X, double gamma, int threads)
    : X_(X), gamma_(gamma), threads_(threads) {}

double ExactRbf::sum(index_t target, std::span<const index_t> rows, std::span<const double> coef) {
  values_.resize(rows.size());
  std::visit(
      [&](const auto& view) {
        spread(view, target);
        const auto evaluate = [&](index_t begin, index_t end, int) {
          for (index_t r = begin; r < end; ++r)
            values_[r] = std::exp(-gamma_ * square_distance(view, rows[r]));
        };
        parallel_ranges(static_cast<index_t>(rows.size()), kGrain, threads_, evaluate);
      },
      X_);
  double sum = 0.0;
  for (std::size_t r = 0; r < rows.size(); ++r) sum += coef[r] * values_[r];
  return sum;
}

template <Real T> void ExactRbf::spread(const DenseView<T>& view, index_t target) {
  target_.assign(view.row(target), view.row(target) + view.cols);
}

template <Real T, class I> void ExactRbf::spread(const CsrView<T, I>& view, index_t target) {
  target_.assign(static_cast<std::size_t>(view.cols), 0.0);
  const auto values = view.row_values(target);
  const auto columns = view.row_indices(target);
  square_norm_ = 0.0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double x = static_cast<double>(values[e]);
    target_[static_cast<std::size_t>(columns[e])] = x;
    square_norm_ += x * x;
  }
}

// From the differences, so that no offset of the samples swallows them.
template <Real T> double ExactRbf::square_distance(const DenseView<T>& view, index_t row) const {
  const T* x = view.row(row);
  double sum[kParts] = {};
  index_t k = 0;
  const auto add = [&](index_t at, double& to) {
    const double difference = static_cast<double>(x[at]) - target_[at];
    to += difference * difference;
  };
  for (; k + kParts <= view.cols; k += kParts)
    for (int u = 0; u < kParts; ++u) add(k + u, sum[u]);
  for (; k < view.cols; ++k) add(k, sum[0]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

// ||x||^2 - 2 x.z + ||z||^2, exactly 0 of equal rows.
template <Real T, class I>
double ExactRbf::square_distance(const CsrView<T, I>& view, index_t row) const {
  const auto values = view.row_values(row);
  const auto columns = view.row_indices(row);
  double sum = 0.0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double x = static_cast<double>(values[e]);
    sum += x * (x - 2.0 * target_[static_cast<std::size_t>(columns[e])]);
  }
  return std::max(sum + square_norm_, 0.0);
}

} // namespace maxmargin
