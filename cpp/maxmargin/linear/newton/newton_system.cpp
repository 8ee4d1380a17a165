#include "maxmargin/linear/newton/newton_system.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin::linear {
namespace {

// Keep dependent features from breaking the factorisation; the first that does is taken, and
// refinement makes up for it.
constexpr double kRidges[] = {1e-15, 1e-13, 1e-11, 1e-9};
// A guard: 1100 x 512 normal samples take the same with 1 and 16.
constexpr int kMostRefinements = 4;

double square_norm(const std::vector<double>& v) {
  return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}

} // namespace

NewtonSystem::NewtonSystem(std::span<const double> centre, double feature, double ridge)
    : shift_(centre.begin(), centre.end()), ridge_(ridge), has_intercept_(feature != 0.0) {
  for (double& s : shift_) s /= feature;
}

bool NewtonSystem::factor(const WeightedGram& gram) {
  n_ = gram.size();
  matrix_.resize(static_cast<std::size_t>(n_ * n_));
  for (index_t i = 0; i < n_; ++i)
    for (index_t j = 0; j <= i; ++j) at(i, j) = gram.data()[i * gram.stride() + j];
  add_penalty();
  scale_.resize(static_cast<std::size_t>(n_));
  for (index_t i = 0; i < n_; ++i) {
    const double diagonal = at(i, i);
    if (!std::isfinite(diagonal)) throw NumericError("sums of products of features overflow");
    scale_[i] = diagonal > 0.0 ? 1.0 / std::sqrt(diagonal) : 1.0;
  }
  for (index_t i = 0; i < n_; ++i)
    for (index_t j = 0; j <= i; ++j) at(i, j) *= scale_[i] * scale_[j];
  return std::ranges::any_of(
      kRidges, [&](double ridge) { return cholesky_.factor(matrix_.data(), n_, n_, ridge); });
}

// With the rows less the centre, the weights are w and v + shift.w, so that the intercept's part
// of the penalty is ridge (v - shift.w)^2.
void NewtonSystem::add_penalty() {
  const index_t bias = n_ - 1, end = has_intercept_ ? bias : n_;
  for (index_t i = 0; i < end; ++i) at(i, i) += 1.0;
  if (!has_intercept_) return;
  at(bias, bias) += ridge_;
  if (shift_.empty() || ridge_ == 0.0) return;
  for (index_t i = 0; i < end; ++i) {
    for (index_t j = 0; j <= i; ++j) at(i, j) += ridge_ * shift_[i] * shift_[j];
    at(bias, i) -= ridge_ * shift_[i];
  }
}

void NewtonSystem::solve(std::vector<double>& b) {
  for (std::size_t k = 0; k < shift_.size(); ++k) b[k] -= shift_[k] * b.back();
  for (index_t i = 0; i < n_; ++i) b[i] *= scale_[i];
  std::vector<double> x = b;
  cholesky_.solve(x);
  residual(b, x);
  for (int k = 0; k < kMostRefinements; ++k) {
    const double before = square_norm(residual_);
    std::vector<double> better = residual_;
    cholesky_.solve(better);
    for (index_t i = 0; i < n_; ++i) better[i] += x[i];
    residual(b, better);
    if (!(square_norm(residual_) < before)) break;
    x = std::move(better);
    if (square_norm(residual_) > 0.01 * before) break;
  }
  for (index_t i = 0; i < n_; ++i) b[i] = x[i] * scale_[i];
  if (!shift_.empty()) b.back() -= std::inner_product(shift_.begin(), shift_.end(), b.begin(), 0.0);
}

// b - A x.
void NewtonSystem::residual(const std::vector<double>& b, const std::vector<double>& x) {
  residual_ = b;
  for (index_t i = 0; i < n_; ++i) {
    const double* row = matrix_.data() + i * n_;
    residual_[i] -= simd::active_table().f64.dot(row, x.data(), i + 1);
    simd::active_table().f64.axpy(-x[i], row, residual_.data(), i);
  }
}

} // namespace maxmargin::linear
