#include "solver/squared_losses.hpp"

#include "solver/dual_coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

constexpr int kMostSearchSteps = 100;
// The matrix is summed up anew when so much of its trace has been taken away, with rounding left
// behind.
constexpr double kMostCancelled = 0.9;

} // namespace

SquaredLosses::SquaredLosses(const LinearProblem& problem, RowPasses& passes)
    : problem_(problem), passes_(passes), gram_(passes.empty_gram()),
      values_(problem.y.size(), 0.0), value_steps_(problem.y.size()), beta_(problem.y.size()),
      curvature_change_(problem.y.size()), has_curvature_(problem.y.size(), 0) {}

void SquaredLosses::evaluate() {
  const auto n_parts = static_cast<std::size_t>(passes_.n_parts());
  std::vector<double> losses(n_parts);
  std::vector<index_t> n_losses(n_parts), n_changes(n_parts);
  passes_.for_parts([&](index_t begin, index_t end, index_t part) {
    for (index_t i = begin; i < end; ++i) {
      beta_[i] = curvature_change_[i] = 0.0;
      if (problem_.C[i] == 0.0) continue;
      const DualCoordinate c(problem_, i);
      const double u = c.y - values_[i];
      beta_[i] = c.maximiser(u);
      losses[part] += c.loss(u);
      const bool has_loss = beta_[i] != 0.0;
      n_losses[part] += has_loss;
      n_changes[part] += has_loss != (has_curvature_[i] != 0);
    }
  });
  sum_ = std::accumulate(losses.begin(), losses.end(), 0.0);
  count_ = std::accumulate(n_losses.begin(), n_losses.end(), index_t{0});
  if (std::accumulate(n_changes.begin(), n_changes.end(), index_t{0}) > count_) must_sum_up_ = true;
  change_matrix();
  passes_.run({.sums = {{beta_, &slopes_}}, .gram_weights = curvature_change_, .gram = &gram_});
}

// What is to be added to the matrix: everything, or the samples that have won or lost a loss.
void SquaredLosses::change_matrix() {
  if (must_sum_up_) {
    gram_.clear();
    std::fill(has_curvature_.begin(), has_curvature_.end(), std::uint8_t{0});
  }
  double removed = 0.0, total = 0.0;
  for (std::size_t i = 0; i < beta_.size(); ++i) {
    const bool has_loss = beta_[i] != 0.0, had_loss = has_curvature_[i] != 0;
    const double curvature = 2.0 * problem_.C[i];
    total += has_loss ? curvature : 0.0;
    removed += had_loss && !has_loss ? curvature : 0.0;
    curvature_change_[i] = has_loss == had_loss ? 0.0 : (has_loss ? curvature : -curvature);
    has_curvature_[i] = has_loss ? 1 : 0;
  }
  cancelled_ = must_sum_up_ ? 0.0 : cancelled_ + removed;
  must_sum_up_ = cancelled_ > kMostCancelled * total;
}

Slope SquaredLosses::slope_at(double length) const {
  std::vector<Slope> parts(static_cast<std::size_t>(passes_.n_parts()));
  passes_.for_parts([&](index_t begin, index_t end, index_t part) {
    for (index_t i = begin; i < end; ++i) {
      if (problem_.C[i] == 0.0) continue;
      const DualCoordinate c(problem_, i);
      const double by = value_steps_[i];
      const double beta = c.maximiser(c.y - (values_[i] + length * by));
      if (beta == 0.0) continue;
      parts[part].first -= beta * by;
      parts[part].second += by * by / c.ridge;
    }
  });
  Slope slope;
  for (const Slope& part : parts) {
    slope.first += part.first;
    slope.second += part.second;
  }
  return slope;
}

double
SquaredLosses::search(double fall, double share,
                      const std::function<double(Slope& slope, double length)>& least) const {
  double low = 0.0, high = std::numeric_limits<double>::infinity(), length = 1.0;
  for (int k = 0; k < kMostSearchSteps; ++k) {
    Slope slope = slope_at(length);
    double next = least(slope, length);
    const double left = std::abs(next - length) * slope.second;
    if (next == length || (slope.second > 0.0 && left <= share * fall)) break;
    (next > length ? low : high) = length;
    if (!(next > low && next < high)) next = std::isinf(high) ? 2.0 * length : 0.5 * (low + high);
    length = next;
  }
  return length;
}

void SquaredLosses::move(double length) {
  passes_.for_parts([&](index_t begin, index_t end, index_t) {
    for (index_t i = begin; i < end; ++i) values_[i] += length * value_steps_[i];
  });
}

} // namespace maxmargin
