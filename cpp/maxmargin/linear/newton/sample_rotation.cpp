#include "maxmargin/linear/newton/sample_rotation.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::linear {
namespace {

constexpr index_t kBlock = 32; // rows that one reading of the reflections before them serves

} // namespace

SampleRotation::SampleRotation(const MatrixView& X, std::span<const index_t> rows, int threads,
                               optim::TimeLimit& time)
    : n_(std::ssize(rows)), n_features_(n_cols(X)),
      lower_(static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_)),
      factors_(static_cast<std::size_t>(n_)) {
  copy(X, rows);
  for (index_t first = 0; first < n_; first += kBlock) {
    const index_t end = std::min(n_, first + kBlock);
    const double work = static_cast<double>(first * (end - first)) * static_cast<double>(width_);
    const int team = thread_count_for(threads, 2.0 * work);
    parallel_ranges(end - first, (kBlock + team - 1) / team, team,
                    [&](index_t begin, index_t last, int) {
                      for (index_t k = 0; k < first; ++k)
                        for (index_t i = begin; i < last; ++i) reflect(k, row(first + i));
                    });
    for (index_t i = first; i < end; ++i) {
      for (index_t k = first; k < i; ++k) reflect(k, row(i));
      make_reflection(i);
    }
    is_whole_ = !time.is_up_after((first + 1) * (end - first) * width_, [] { return Progress{}; });
    if (!is_whole_) return;
  }
}

double SampleRotation::n_elements(const MatrixView& X, index_t n_rows) {
  const auto width = static_cast<double>(std::max(n_rows, std::min(n_cols(X), n_stored(X))));
  return static_cast<double>(n_rows) * width;
}

void SampleRotation::copy(const MatrixView& X, std::span<const index_t> rows) {
  std::vector<index_t> place(static_cast<std::size_t>(n_features_), 0);
  std::visit(
      [&](const auto& view) {
        for (const index_t i : rows) for_stored(view, i, [&](index_t j, auto) { place[j] = 1; });
        for (index_t j = 0; j < n_features_; ++j) {
          if (place[j] == 0) continue;
          place[j] = std::ssize(features_);
          features_.push_back(j);
        }
        width_ = std::max(n_, static_cast<index_t>(std::ssize(features_)));
        rows_.assign(static_cast<std::size_t>(n_) * static_cast<std::size_t>(width_), 0.0);
        for (index_t k = 0; k < n_; ++k)
          for_stored(view, rows[k],
                     [&](index_t j, auto x) { row(k)[place[j]] = static_cast<double>(x); });
      },
      X);
}

void SampleRotation::reflect(index_t k, double* x) const {
  if (factors_[k] == 0.0) return;
  const index_t size = width_ - k;
  const double* v = row(k) + k;
  simd::active_table().f64.axpy(-factors_[k] * simd::active_table().f64.dot(v, x + k, size), v,
                                x + k, size);
}

// Takes row k to the axis k.
void SampleRotation::make_reflection(index_t k) {
  double* v = row(k) + k;
  std::copy_n(row(k), k, &lower_[k * n_]);
  const double largest = std::abs(*std::max_element(
      v, v + width_ - k, [](double a, double b) { return std::abs(a) < std::abs(b); }));
  if (!(largest > 0.0) || !std::isfinite(largest)) return;
  for (index_t j = 0; j < width_ - k; ++j) v[j] /= largest;
  const double square = simd::active_table().f64.dot(v, v, width_ - k);
  const double length = std::copysign(std::sqrt(square), v[0]);
  lower_[k * n_ + k] = -length * largest;
  factors_[k] = 1.0 / (square + std::abs(v[0] * length)); // 2 / v'v of the v to come
  v[0] += length;
}

AlignedVector<double> SampleRotation::original(std::span<const double> u) const {
  std::vector<double> x(static_cast<std::size_t>(width_), 0.0);
  std::copy_n(u.begin(), n_, x.begin());
  for (index_t k = n_ - 1; k >= 0; --k) reflect(k, x.data());
  AlignedVector<double> w(static_cast<std::size_t>(n_features_), 0.0);
  for (std::size_t p = 0; p < features_.size(); ++p) w[features_[p]] = x[p];
  return w;
}

} // namespace maxmargin::linear
