#include "maxmargin/kernel/packing.hpp"

#include "maxmargin/kernel/kernel_error.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

// Of sums that exponents are differences of: with no more than 16 terms, their roundings are below
// 0.7e-12 up to here (measured at samples of 1 to 200 features, up to 1e6 from 0).
constexpr double kLargestSum = 0x1p10;
// Of exponents found from float32 magnitudes.
constexpr double kLargestExponent = 0x1p13;
// Differences u of numbers x that are rounded to float32 move an exponent by about 2 u x 2^-24, or,
// of magnitudes, by x 2^-23; u is a few units where the value counts. So far, that is no more than
// what the products below kLargestExponent lose.
constexpr double kLargestSquareInFloat32 = 0x1p20;

// Samples with more wide features than this are packed densely, unless that takes many times as
// much memory: to meet the features of two rows one by one takes ten times as long as a block does.
constexpr std::size_t kFewWide = 8;
constexpr double kDenseEnough = 0.05;

constexpr index_t kRowsPerPoll = 64;

// The largest rate of the exponentials in a kernel; 0: there are none.
double largest_rate(const KernelParams& kernel) {
  double rate = 0.0;
  for (const KernelParams::Step& step : kernel.steps)
    if (step.kind == CompositionStep::value) rate = std::max(rate, largest_rate(step.kernel));
  const bool is_exponential = kernel.type == KernelType::rbf ||
                              kernel.type == KernelType::laplacian ||
                              kernel.type == KernelType::chi_squared;
  return is_exponential ? kernel.gamma : rate;
}

// What measures rows, in the unit of a distance: the rate times squares where rows meet by
// products, else times magnitudes.
struct Measure {
  Measure(double rate, simd::Pairing pairing, const Scaling& scaling)
      : is_square(pairing == simd::Pairing::multiply),
        factor(rate * (is_square ? scaling.square_factor() : 1.0 / scaling.factor())) {}
  double operator()(double x) const {
    return x == 0.0 ? 0.0 : factor * (is_square ? x * x : std::abs(x));
  }
  bool is_square;
  double factor;
};

// The largest sum over the features of a row, of numbers that measure no more than `most`.
double largest_row(const MatrixView& X, const Scaling& scaling, const Measure& measure,
                   Control& control, double most = HUGE_VAL) {
  double largest = 0.0, zeros = 0.0;
  const bool has_zeros = is_sparse(X) && !scaling.centre.empty(); // that are not stored
  if (has_zeros)
    for (index_t k = 0; k < n_cols(X); ++k) zeros += measure(packed_zero<double>(scaling, k));
  std::visit(
      [&](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i) {
          if (i % kRowsPerPoll == kRowsPerPoll - 1) control.poll();
          double sum = zeros;
          for_each_feature<double>(view, i, scaling, [&](index_t k, double x) {
            const double size = measure(x);
            if (!(size > most)) sum += size;
            if (has_zeros) sum -= measure(packed_zero<double>(scaling, k));
          });
          if (!(sum <= largest)) largest = sum;
        }
      },
      X);
  return largest;
}

// Features that a row of sparse samples has a large number of, so that what is left of each is
// below the limit.
std::vector<index_t> wide_features(const MatrixView& X, const Scaling& scaling,
                                   const Measure& measure, double limit, Control& control) {
  double most = limit;
  while (largest_row(X, scaling, measure, control, most) > limit) most *= 0.5;
  std::vector<index_t> wide;
  std::visit(
      [&](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i)
          for_each_feature<double>(view, i, scaling, [&](index_t k, double x) {
            if (measure(x) > most) wide.push_back(k);
          });
      },
      X);
  std::ranges::sort(wide);
  const auto repeated = std::unique(wide.begin(), wide.end()); // Clang 14 rejects the other
  wide.erase(repeated, wide.end());
  return wide;
}

} // namespace

Packing::Packing(const MatrixView& X, const KernelParams& kernel, double density, bool may_centre,
                 int threads, Control& control)
    : is_sparse(packs_sparse(X, density, may_centre)),
      scaling(scaling_of(X, !is_sparse && may_centre, threads, control)) {
  const double rate = largest_rate(kernel);
  const Measure measure(rate, pairing_of(kernel), scaling);
  const double n_features = static_cast<double>(n_cols(X));
  const double limit = kLargestSum / roundings_of_sum(density * n_features);
  // No number is larger than 1 here.
  by_differences = rate > 0.0 && !(measure.factor * n_features <= limit) &&
                   !(largest_row(X, scaling, measure, control) <= limit);
  std::vector<index_t> wide;
  if (by_differences && is_sparse) {
    wide = wide_features(X, scaling, measure, limit, control);
    is_sparse = wide.size() <= kFewWide || density < kDenseEnough;
  }
  // Less a centre, numbers would lose the digits that their differences have.
  needs_float64 = by_differences;
  if (by_differences && !is_sparse) {
    scaling = scaling_of(X, false, threads, control);
    const Measure packed(rate, pairing_of(kernel), scaling);
    needs_float64 =
        !(packed.factor <= (packed.is_square ? kLargestSquareInFloat32 : kLargestExponent));
  }
  if (is_sparse) order = FeatureOrder(X, control, std::move(wide));
}

} // namespace maxmargin
