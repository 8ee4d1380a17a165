#include "data/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

template <class View> std::vector<double> column_means(const View& X) {
  std::vector<double> mean(static_cast<std::size_t>(X.cols), 0.0);
  for (index_t i = 0; i < X.rows; ++i)
    for (index_t k = 0; k < X.cols; ++k) mean[k] += static_cast<double>(X.row(i)[k]);
  for (double& m : mean) m /= static_cast<double>(X.rows);
  return mean;
}

double largest_magnitude(const MatrixView& X, const std::vector<double>& centre) {
  double largest = 0.0;
  std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>) {
          for (index_t i = 0; i < view.rows; ++i)
            for (index_t k = 0; k < view.cols; ++k) {
              const double x = static_cast<double>(view.row(i)[k]);
              largest = std::max(largest, std::abs(centre.empty() ? x : x - centre[k]));
            }
        } else {
          for (index_t e = 0; e < view.nnz(); ++e)
            largest = std::max(largest, std::abs(static_cast<double>(view.values[e])));
        }
      },
      X);
  return largest;
}

} // namespace

double density(const MatrixView& X) {
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

double Scaling::factor() const {
  return std::ldexp(1.0, -exponent);
}
double Scaling::square_factor() const {
  return std::ldexp(1.0, 2 * exponent);
}

Scaling scaling_of(const MatrixView& X, bool centred) {
  Scaling scaling;
  if (centred)
    std::visit(
        [&](const auto& view) {
          if constexpr (is_dense<std::decay_t<decltype(view)>>) scaling.centre = column_means(view);
        },
        X);
  const double largest = largest_magnitude(X, scaling.centre);
  if (largest > 0.0 && std::isfinite(largest)) std::frexp(largest, &scaling.exponent);
  return scaling;
}

} // namespace maxmargin
