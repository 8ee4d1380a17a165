#include "maxmargin/kernel/packed_samples.hpp"

#include "maxmargin/base/sums.hpp"
#include "maxmargin/kernel/rows/dense_kernel_rows.hpp"
#include "maxmargin/kernel/rows/precomputed_kernel_rows.hpp"
#include "maxmargin/kernel/rows/set_kernel_rows.hpp"
#include "maxmargin/kernel/rows/sparse_kernel_rows.hpp"
#include "maxmargin/kernel/sample_factors.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <cmath>

namespace maxmargin {
namespace {

// The order in which the segments' rows are packed, each segment filled up with copies of its last
// row (dense panels want whole lines), and where each begins.
struct SegmentOrder {
  explicit SegmentOrder(const std::vector<std::vector<index_t>>& segments) {
    for (const auto& segment : segments) {
      begin.push_back(static_cast<index_t>(rows.size()));
      rows.insert(rows.end(), segment.begin(), segment.end());
      while (rows.size() % kSegmentLane != 0) rows.push_back(segment.back());
    }
    begin.push_back(static_cast<index_t>(rows.size()));
  }
  std::vector<index_t> rows;
  std::vector<index_t> begin;
};

// The places in which the rows of some segments are packed.
std::vector<index_t> places_of(std::span<const index_t> segments,
                               const std::vector<index_t>& begin) {
  std::vector<index_t> places;
  for (const index_t s : segments)
    for (index_t i = begin[s]; i < begin[s + 1]; ++i) places.push_back(i);
  return places;
}

template <Real T>
SampleFactors<T> factors_of(const PackingPlan& plan, std::span<const index_t> rows) {
  return SampleFactors<T>(plan.kernel.factors, n_factors(plan.kernel), n_rows(plan.X), rows);
}

template <Real T>
SegmentRows<T> dense_samples(const PackingPlan& plan, SegmentOrder order, int threads,
                             Control& control) {
  const auto epilogue = plan.packing.epilogue<T>(plan.kernel);
  const auto packed = std::make_shared<PackedDense<T>>(plan.X, order.rows, plan.packing.scaling,
                                                       epilogue.of_exponentials,
                                                       simd::real_table<T>(), threads, &control);
  return [=, factors = factors_of<T>(plan, order.rows), begin = std::move(order.begin)](
             std::span<const index_t> segments, int) -> std::unique_ptr<KernelRows<T>> {
    std::vector<const T*> panels;
    for (const index_t s : segments)
      for (index_t p = begin[s] / kLane<T>; p < begin[s + 1] / kLane<T>; ++p)
        panels.push_back(packed->panel(p));
    return std::make_unique<DenseKernelRows<T>>(std::move(panels), packed->depth(), epilogue,
                                                factors.selected(places_of(segments, begin)));
  };
}

template <Real T>
SegmentRows<T> sparse_samples(const PackingPlan& plan, SegmentOrder order, int threads,
                              Control& control) {
  const auto epilogue = plan.packing.epilogue<T>(plan.kernel);
  const auto packed =
      std::make_shared<PackedCsr<T>>(plan.X, order.rows, plan.packing.scaling, epilogue.pairing,
                                     plan.packing.order, simd::real_table<T>(), threads, control);
  return [=, factors = factors_of<T>(plan, order.rows), begin = std::move(order.begin)](
             std::span<const index_t> segments, int n) -> std::unique_ptr<KernelRows<T>> {
    std::vector<index_t> columns = places_of(segments, begin);
    SampleFactors<T> selected = factors.selected(columns);
    return std::make_unique<SparseKernelRows<T>>(*packed, std::move(columns), n, epilogue,
                                                 std::move(selected));
  };
}

template <Real T>
SegmentRows<T> set_samples(const PackingPlan& plan, SegmentOrder order, int threads,
                           Control& control) {
  const auto sets = std::make_shared<FeatureSets>(plan.X, order.rows, threads, control);
  const auto powers = std::make_shared<PowersOfDifference<T>>(plan.rate_of_difference);
  return [=, begin = std::move(order.begin)](std::span<const index_t> segments,
                                             int n) -> std::unique_ptr<KernelRows<T>> {
    return std::make_unique<SetKernelRows<T>>(*sets, places_of(segments, begin), n, *powers);
  };
}

// The segments' columns of a kernel matrix; nothing is packed.
template <Real T> SegmentRows<T> given_samples(const PackingPlan& plan, SegmentOrder order) {
  return [&matrix = plan.X, order = std::move(order)](std::span<const index_t> segments,
                                                      int) -> std::unique_ptr<KernelRows<T>> {
    std::vector<index_t> sample_of;
    for (const index_t place : places_of(segments, order.begin))
      sample_of.push_back(order.rows[place]);
    return std::make_unique<PrecomputedKernelRows<T>>(matrix, std::move(sample_of));
  };
}

} // namespace

PackingPlan::PackingPlan(const MatrixView& samples, const KernelParams& params, bool sums_to_zero,
                         int threads, Control& control)
    : X(samples), kernel(params) {
  if (is_precomputed()) return;
  density = density_of(samples, threads, control);
  const bool may_centre =
      is_translation_invariant(params) || (sums_to_zero && params.type == KernelType::linear);
  packing = Packing(samples, params, density, may_centre, threads, control);
  if (params.type == KernelType::linear)
    square_of_centre = sum_of_squares<double>(packing.scaling.centre);
  if (n_factors(params) == 0) { // no number of a packed sample is greater than 2^exponent
    const bool is_square = pairing_of(params) == simd::Pairing::multiply;
    const double largest = std::ldexp(1.0, packing.scaling.exponent * (is_square ? 2 : 1));
    const double product = static_cast<double>(n_cols(samples)) * largest;
    largest_value_bound =
        kernel_error(params, product, n_cols(samples), {}, packing.by_differences);
  }
  if (!packing.is_sparse) return;
  if (SetKernelRows<double>::are_there() && maxmargin::rate_of_difference(params, 1.0) > 0.0) {
    const double value = FeatureSets::common_value(samples, threads, control);
    rate_of_difference = maxmargin::rate_of_difference(params, value);
    if (!std::isfinite(rate_of_difference)) rate_of_difference = 0.0;
  }
}

double PackingPlan::products_per_value() const {
  if (is_precomputed()) return 1.0;
  const double numbers = static_cast<double>(n_cols(X)) * (packing.is_sparse ? density : 1.0);
  return numbers * products_of(packing.epilogue<double>(kernel).of_exponentials);
}

// sum_j c_j x_j.z = sum_j c_j (x_j - m).(z - m) + sum_j c_j (x_j - m).m  for sum c = 0.
double PackingPlan::centring_correction(std::span<const index_t> samples,
                                        std::span<const double> coef) const {
  double shift = 0.0;
  if (square_of_centre == 0.0) return shift;
  const auto& m = packing.scaling.centre;
  double zero = 0.0; // (0 - m).m, what a feature that is not stored begins with
  if (maxmargin::is_sparse(X))
    for (const double c : m) zero -= c * c;
  std::visit(
      [&](const auto& view) {
        constexpr bool is_stored = is_dense<std::decay_t<decltype(view)>>;
        for (std::size_t j = 0; j < samples.size(); ++j) {
          if (coef[j] == 0.0) continue;
          shift += coef[j] * zero;
          for_each_feature<double>(view, samples[j], Scaling{}, [&](index_t k, double x) {
            shift += coef[j] * (is_stored ? x - m[k] : x) * m[k];
          });
        }
      },
      X);
  return shift;
}

ValueBound PackingPlan::value_bound(index_t sample) const {
  const bool is_square = pairing_of(kernel) == simd::Pairing::multiply;
  std::vector<double> numbers(
      packing.scaling.centre); // of a feature that is not stored, but for its sign
  double product = 0.0;
  std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>)
          if (is_precomputed()) return numbers.assign(1, view.row(sample)[sample]);
        for_each_feature<double>(view, sample, {packing.scaling.centre}, [&](index_t k, double x) {
          if (packing.scaling.centre.empty())
            numbers.push_back(x);
          else
            numbers[k] = x;
        });
      },
      X);
  for (const double x : numbers) product += is_square && !is_precomputed() ? x * x : std::abs(x);
  std::vector<double> factors;
  for (index_t f = 0; f < n_factors(kernel); ++f)
    factors.push_back(kernel.factors[static_cast<std::size_t>(f * n_rows(X) + sample)]);
  return kernel_error(kernel, product, std::ssize(numbers), factors, packing.by_differences);
}

template <Real T>
SegmentRows<T> pack_samples(const PackingPlan& plan,
                            const std::vector<std::vector<index_t>>& segments, int threads,
                            Control& control) {
  SegmentOrder order(segments);
  if (plan.is_precomputed()) return given_samples<T>(plan, std::move(order));
  if (plan.rate_of_difference > 0.0)
    return set_samples<T>(plan, std::move(order), threads, control);
  if (plan.packing.is_sparse) return sparse_samples<T>(plan, std::move(order), threads, control);
  return dense_samples<T>(plan, std::move(order), threads, control);
}

template SegmentRows<float> pack_samples(const PackingPlan&,
                                         const std::vector<std::vector<index_t>>&, int, Control&);
template SegmentRows<double> pack_samples(const PackingPlan&,
                                          const std::vector<std::vector<index_t>>&, int, Control&);

} // namespace maxmargin
