#include "maxmargin/linear/l1/l1_quadratic.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/linear/l1/l1_line.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::linear {
namespace {

constexpr int kMostRounds = 1000; // ends those that rounding keeps from the tolerance
// Sweeps before the steps on a face: at least so many, and as many as take about as long as one.
// The problems of l1_newton.cpp take 47, 45 and 41 of its steps with 1, 4 and 16 sweeps, in the
// same time, and as many with 4, 16 and 64 steps in a round.
constexpr index_t kSweeps = 4;
constexpr index_t kSweepsOfStep = 4; // face^2 / n / this
constexpr index_t kStepsPerRound = 16;
// Keep dependent features from breaking the factorisation; the first that does is taken.
constexpr double kRidges[] = {1e-13, 1e-11, 1e-9};

int sign(double v) {
  return (v > 0.0) - (v < 0.0);
}

double missed(double v, double gradient, double lambda) {
  return v == 0.0 ? std::abs(gradient) - lambda : std::abs(gradient + std::copysign(lambda, v));
}

} // namespace

L1Quadratic::L1Quadratic(index_t n_weights)
    : n_(n_weights), lambda_(static_cast<std::size_t>(n_weights)),
      matrix_(lambda_.size() * lambda_.size()), scale_(lambda_.size()),
      scaled_lambda_(lambda_.size()), v_(lambda_.size()), gradient_(lambda_.size()) {}

void L1Quadratic::set(const WeightedGram& gram, std::span<const double> lambda) {
  lambda_.assign(lambda.begin(), lambda.end());
  const auto at = [&](index_t i, index_t j) { return gram.data()[i * gram.stride() + j]; };
  for (index_t i = 0; i < n_; ++i) {
    if (!std::isfinite(at(i, i))) throw NumericError("sums of products of features overflow");
    scale_[i] = at(i, i) > 0.0 ? 1.0 / std::sqrt(at(i, i)) : 0.0;
    scaled_lambda_[i] = scale_[i] * lambda_[i];
    for (index_t j = 0; j < i; ++j)
      matrix_[i * n_ + j] = matrix_[j * n_ + i] = scale_[i] * at(i, j) * scale_[j];
    matrix_[i * n_ + i] = scale_[i] > 0.0 ? 1.0 : 0.0;
  }
}

double L1Quadratic::violation(std::span<const double> v, std::span<const double> gradient) const {
  double most = 0.0;
  for (std::size_t j = 0; j < v.size(); ++j)
    most = std::max(most, missed(v[j], gradient[j], lambda_[j]));
  return most;
}

void L1Quadratic::minimise(std::vector<double>& v, std::span<const double> gradient, double tol,
                           const std::function<bool()>& goes_on) {
  for (index_t j = 0; j < n_; ++j) {
    v_[j] = scale_[j] > 0.0 ? v[j] / scale_[j] : 0.0;
    gradient_[j] = scale_[j] * gradient[j];
  }
  const auto is_solved = [&] {
    for (index_t j = 0; j < n_; ++j)
      if (missed(v_[j], gradient_[j], scaled_lambda_[j]) > tol * scale_[j]) return false;
    return true;
  };
  for (int round = 0; round < kMostRounds; ++round) {
    for (int k = 0; k < kSweeps; ++k) sweep();
    const index_t n_nonzero = std::ranges::count_if(v_, [](double x) { return x != 0.0; });
    const index_t more = n_nonzero * n_nonzero / n_ / kSweepsOfStep;
    bool solved = is_solved();
    for (index_t k = kSweeps; k < more && !solved; ++k) {
      sweep();
      solved = is_solved();
    }
    if (solved) break;
    bool may_go_on = goes_on();
    for (index_t k = 0; k < kStepsPerRound && may_go_on && step_on_face(); ++k)
      may_go_on = goes_on();
    if (!may_go_on) break;
  }
  for (index_t j = 0; j < n_; ++j)
    if (scale_[j] > 0.0 || lambda_[j] > 0.0) v[j] = v_[j] * scale_[j];
}

void L1Quadratic::sweep() {
  for (index_t j = 0; j < n_; ++j) {
    if (scale_[j] == 0.0) continue;
    const double lambda = scaled_lambda_[j], target = v_[j] - gradient_[j];
    const double next =
        target > lambda ? target - lambda : (target < -lambda ? target + lambda : 0.0);
    if (next == v_[j]) continue;
    simd::active_table().f64.axpy(next - v_[j], matrix_.data() + j * n_, gradient_.data(), n_);
    v_[j] = next;
    n_products_ += static_cast<double>(n_);
  }
}

// Towards the least value while the signs are what they are; false where rounding keeps it away.
bool L1Quadratic::find_direction() {
  face_.clear();
  right_side_.clear();
  for (index_t j = 0; j < n_; ++j) {
    const bool is_free = scale_[j] > 0.0 && lambda_[j] == 0.0;
    if (v_[j] == 0.0 && !is_free) continue;
    face_.push_back(j);
    right_side_.push_back(-gradient_[j] - std::copysign(scaled_lambda_[j], v_[j]));
  }
  const auto size = static_cast<index_t>(face_.size());
  if (size == 0) return false;
  n_products_ += static_cast<double>(size) * static_cast<double>(size * size / 6 + n_);
  face_matrix_.resize(face_.size() * face_.size());
  for (index_t i = 0; i < size; ++i)
    for (index_t j = 0; j <= i; ++j) face_matrix_[i * size + j] = matrix_[face_[i] * n_ + face_[j]];
  if (std::ranges::none_of(kRidges, [&](double ridge) {
        return cholesky_.factor(face_matrix_.data(), size, size, ridge);
      }))
    return false;
  cholesky_.solve(right_side_);
  direction_.assign(lambda_.size(), 0.0);
  gradient_change_.assign(lambda_.size(), 0.0);
  for (index_t k = 0; k < size; ++k) {
    direction_[face_[k]] = right_side_[k];
    simd::active_table().f64.axpy(right_side_[k], matrix_.data() + face_[k] * n_,
                                  gradient_change_.data(), n_);
  }
  return true;
}

// Returns whether signs have changed.
bool L1Quadratic::step_on_face() {
  if (!find_direction()) return false;
  const double slope = simd::active_table().f64.dot(gradient_.data(), direction_.data(), n_);
  const double curvature =
      simd::active_table().f64.dot(gradient_change_.data(), direction_.data(), n_);
  const L1Line line(v_, direction_, scaled_lambda_);
  const double length = line.least(slope, std::max(curvature, 0.0));
  if (!std::isfinite(length) || length == 0.0) return false;
  const std::vector<double> before = v_;
  line.move(length, v_);
  simd::active_table().f64.axpy(length, gradient_change_.data(), gradient_.data(), n_);
  return !std::ranges::equal(before, v_, [](double a, double b) { return sign(a) == sign(b); });
}

} // namespace maxmargin::linear
