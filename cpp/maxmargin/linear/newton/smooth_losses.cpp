#include "maxmargin/linear/newton/smooth_losses.hpp"

#include "maxmargin/linear/logistic_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace maxmargin::linear {
namespace {

constexpr double kSquaredWidth = 0.5;
constexpr int kMostSearchSteps = 100;
// The matrix is summed up anew when so much of its trace has been taken away, with rounding left
// behind.
constexpr double kMostCancelled = 0.9;

} // namespace

SmoothLosses::SmoothLosses(const LinearProblem& problem, RowPasses& passes)
    : problem_(problem), passes_(passes), is_squared_(is_squared(problem.loss)),
      is_logistic_(problem.loss == LinearLoss::logistic),
      epsilon_(is_insensitive(problem.loss) ? problem.epsilon : 0.0), width_(kSquaredWidth),
      inverse_width_(1.0 / width_), dead_(epsilon_ / width_), gram_(passes.empty_gram()),
      values_(problem.y.size(), 0.0), value_steps_(problem.y.size()), beta_(problem.y.size()),
      curvature_change_(problem.y.size()), lower_(problem.y.size(), 0.0),
      upper_(problem.y.size(), 0.0), centre_(problem.y.size(), 0.0), moves_(problem.y.size(), 0),
      has_curvature_(problem.y.size(), 0) {
  const double top = is_squared_ ? std::numeric_limits<double>::infinity() : 1.0;
  const bool has_both_sides = is_insensitive(problem.loss);
  for (std::size_t i = 0; i < problem.y.size(); ++i) {
    if (has_both_sides || problem.y[i] < 0.0) lower_[i] = -top;
    if (has_both_sides || problem.y[i] > 0.0) upper_[i] = top;
  }
}

void SmoothLosses::set_centres(std::span<const double> beta) {
  for (std::size_t i = 0; i < beta.size(); ++i)
    centre_[i] = problem_.C[i] > 0.0 ? std::clamp(beta[i] / problem_.C[i], -1.0, 1.0) : 0.0;
}

void SmoothLosses::set_width(double width) {
  set_centres(beta_);
  gram_.scale(width_ / width);
  cancelled_ *= width_ / width;
  width_ = width;
  inverse_width_ = 1.0 / width;
  dead_ = epsilon_ / width;
}

void SmoothLosses::evaluate_logistic() {
  std::vector<double> sums(static_cast<std::size_t>(passes_.n_parts()));
  passes_.for_parts([&](index_t begin, index_t end, index_t part) {
    for (index_t i = begin; i < end; ++i) {
      const double C = problem_.C[i], margin = problem_.y[i] * values_[i];
      const double share = logistic_share(margin);
      beta_[i] = C * problem_.y[i] * share;
      curvature_change_[i] = C * share * (1.0 - share);
      sums[part] += C * logistic_loss(margin);
    }
  });
  sum_ = std::accumulate(sums.begin(), sums.end(), 0.0);
  count_ = static_cast<index_t>(values_.size());
  gram_.clear();
  passes_.run({.sums = {{beta_, &slopes_}}, .gram_weights = curvature_change_, .gram = &gram_});
}

void SmoothLosses::evaluate() {
  if (is_logistic_) return evaluate_logistic();
  struct Sums {
    double loss = 0.0, gap = 0.0;
    index_t n_moving = 0, n_changes = 0;
  };
  std::vector<Sums> parts(static_cast<std::size_t>(passes_.n_parts()));
  passes_.for_parts([&](index_t begin, index_t end, index_t part) {
    Sums sums;
    for (index_t i = begin; i < end; ++i) {
      const double C = problem_.C[i], u = problem_.y[i] - values_[i];
      const double share = best_share(i, u);
      const double excess = std::max(std::abs(u) - epsilon_, 0.0);
      const bool has_loss = u > 0.0 ? upper_[i] > 0.0 : lower_[i] < 0.0;
      const double loss = has_loss ? (is_squared_ ? excess * excess : excess) : 0.0;
      beta_[i] = C * share;
      sums.loss += C * loss;
      sums.gap += is_squared_ ? 0.0 : C * (loss - share * u + epsilon_ * std::abs(share));
      moves_[i] = (C > 0.0) & moves(i, share) ? 1 : 0;
      sums.n_moving += moves_[i];
      sums.n_changes += moves_[i] != has_curvature_[i];
    }
    parts[part] = sums;
  });
  Sums all;
  for (const Sums& sums : parts) {
    all.loss += sums.loss;
    all.gap += sums.gap;
    all.n_moving += sums.n_moving;
    all.n_changes += sums.n_changes;
  }
  sum_ = all.loss;
  gap_ = all.gap;
  count_ = all.n_moving;
  if (all.n_changes > count_) must_sum_up_ = true;
  change_matrix();
  passes_.run({.sums = {{beta_, &slopes_}}, .gram_weights = curvature_change_, .gram = &gram_});
}

// What is to be added to the matrix: everything, or the samples that have joined or left.
void SmoothLosses::change_matrix() {
  if (must_sum_up_) {
    gram_.clear();
    std::fill(has_curvature_.begin(), has_curvature_.end(), std::uint8_t{0});
  }
  double removed = 0.0, total = 0.0;
  for (std::size_t i = 0; i < beta_.size(); ++i) {
    const bool moves = moves_[i] != 0, moved = has_curvature_[i] != 0;
    const double curvature = problem_.C[i] / width_;
    total += moves ? curvature : 0.0;
    removed += moved && !moves ? curvature : 0.0;
    curvature_change_[i] = moves == moved ? 0.0 : (moves ? curvature : -curvature);
    has_curvature_[i] = moves_[i];
  }
  cancelled_ = must_sum_up_ ? 0.0 : cancelled_ + removed;
  must_sum_up_ = cancelled_ > kMostCancelled * total;
}

Slope SmoothLosses::slope_at(double length) const {
  std::vector<Slope> parts(static_cast<std::size_t>(passes_.n_parts()));
  passes_.for_parts([&](index_t begin, index_t end, index_t part) {
    Slope sum;
    for (index_t i = begin; i < end; ++i) {
      const double C = problem_.C[i], by = value_steps_[i];
      if (is_logistic_) {
        const double logistic = logistic_share(problem_.y[i] * (values_[i] + length * by));
        sum.first -= C * problem_.y[i] * logistic * by;
        sum.second += C * logistic * (1.0 - logistic) * by * by * width_;
        continue;
      }
      const double share = best_share(i, problem_.y[i] - (values_[i] + length * by));
      sum.first -= C * share * by;
      sum.second += static_cast<double>(moves(i, share)) * C * by * by;
    }
    parts[part] = {sum.first, sum.second / width_};
  });
  Slope slope;
  for (const Slope& part : parts) {
    slope.first += part.first;
    slope.second += part.second;
  }
  return slope;
}

double SmoothLosses::search(double fall, double share,
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

void SmoothLosses::move(double length) {
  passes_.for_parts([&](index_t begin, index_t end, index_t) {
    for (index_t i = begin; i < end; ++i) values_[i] += length * value_steps_[i];
  });
}

} // namespace maxmargin::linear
