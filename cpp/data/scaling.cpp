#include "data/scaling.hpp"

#include "simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace maxmargin {
namespace {

constexpr index_t kProbes = 255;

template <class View> std::vector<double> medians_of(const View& X) {
  const index_t n = std::min(kProbes, X.rows);
  std::vector<double> values(static_cast<std::size_t>(n * X.cols), 0.0); // by column
  for (index_t p = 0; p < n; ++p)
    for_each_feature<double>(X, p * X.rows / n, Scaling{},
                             [&](index_t k, double x) { values[k * n + p] = x; });
  std::vector<double> medians;
  for (index_t k = 0; k < X.cols; ++k) {
    double* column = values.data() + k * n;
    std::nth_element(column, column + n / 2, column + n);
    medians.push_back(column[n / 2]);
  }
  return medians;
}

template <Real T> std::span<const T> values_of(const DenseView<T>& X) {
  return {X.data, static_cast<std::size_t>(X.rows * X.cols)};
}
template <Real T, class I> std::span<const T> values_of(const CsrView<T, I>& X) {
  return {X.values, static_cast<std::size_t>(X.nnz())};
}

template <Real T> double largest_of(std::span<const T> values) {
  const auto& table = simd::real_table<T>(simd::active_table());
  return static_cast<double>(
      table.largest_magnitude(values.data(), static_cast<index_t>(values.size())));
}

double largest_magnitude(const MatrixView& X, const Scaling& scaling) {
  if (scaling.centre.empty())
    return std::visit([](const auto& view) { return largest_of(values_of(view)); }, X);
  double largest = 0.0;
  std::visit(
      [&](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i)
          for_each_feature<double>(view, i, scaling, [&](index_t, double x) {
            largest = std::max(largest, std::abs(x));
          });
      },
      X);
  // The zeros that a sparse matrix does not store.
  if (is_sparse(X))
    for (const double c : scaling.centre) largest = std::max(largest, std::abs(c));
  return largest;
}

// A product of sparse samples costs a load, but their zeros cost nothing. A dense copy of denser
// sparse samples is no larger than they are.
constexpr double kDenseAsSparse = 0.4;
constexpr double kSparseAsDense = 2.0 / 3.0;

} // namespace

std::vector<double> column_medians(const MatrixView& X) {
  return std::visit([](const auto& view) { return medians_of(view); }, X);
}

double density_of(const MatrixView& X) {
  index_t nnz = 0;
  std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>) {
          for (index_t e = 0; e < view.rows * view.cols; ++e) nnz += view.data[e] != 0;
        } else {
          nnz = view.nnz();
        }
      },
      X);
  const double size = static_cast<double>(n_rows(X)) * static_cast<double>(n_cols(X));
  return size > 0 ? static_cast<double>(nnz) / size : 1.0;
}

bool packs_sparse(const MatrixView& X, double density) {
  return density < (is_sparse(X) ? kSparseAsDense : kDenseAsSparse);
}

double Scaling::factor() const {
  return std::ldexp(1.0, -exponent);
}
double Scaling::square_factor() const {
  return std::ldexp(1.0, 2 * exponent);
}

Scaling scaling_of(const MatrixView& X, bool centred) {
  Scaling scaling;
  if (centred) scaling.centre = column_medians(X);
  const double largest = largest_magnitude(X, scaling);
  if (largest > 0.0 && std::isfinite(largest)) std::frexp(largest, &scaling.exponent);
  return scaling;
}

} // namespace maxmargin
