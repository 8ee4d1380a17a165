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

template <Real T> class PackedDenseSamples final : public PackedSamples<T> {
 public:
  PackedDenseSamples(const PackingPlan& plan, const SegmentOrder& order, int threads,
                     Control& control)
      : begin_(order.begin), epilogue_(plan.packing.epilogue<T>(plan.kernel)),
        packed_(plan.X, order.rows, plan.packing.scaling, epilogue_.of_exponentials,
                simd::real_table<T>(), threads, &control),
        factors_(factors_of<T>(plan, order.rows)) {}

  std::unique_ptr<KernelRows<T>> rows(std::span<const index_t> segments, int) const override {
    std::vector<const T*> panels;
    for (const index_t s : segments)
      for (index_t p = begin_[s] / kLane<T>; p < begin_[s + 1] / kLane<T>; ++p)
        panels.push_back(packed_.panel(p));
    return std::make_unique<DenseKernelRows<T>>(std::move(panels), packed_.depth(), epilogue_,
                                                factors_.selected(places_of(segments, begin_)));
  }

 private:
  std::vector<index_t> begin_;
  simd::Epilogue<T> epilogue_;
  PackedDense<T> packed_;
  SampleFactors<T> factors_;
};

template <Real T> class PackedSparseSamples final : public PackedSamples<T> {
 public:
  PackedSparseSamples(const PackingPlan& plan, const SegmentOrder& order, int threads,
                      Control& control)
      : begin_(order.begin), epilogue_(plan.packing.epilogue<T>(plan.kernel)),
        packed_(plan.X, order.rows, plan.packing.scaling, epilogue_.pairing, plan.packing.order,
                simd::real_table<T>(), threads, control),
        factors_(factors_of<T>(plan, order.rows)) {}

  std::unique_ptr<KernelRows<T>> rows(std::span<const index_t> segments,
                                      int threads) const override {
    std::vector<index_t> columns = places_of(segments, begin_);
    SampleFactors<T> factors = factors_.selected(columns);
    return std::make_unique<SparseKernelRows<T>>(packed_, std::move(columns), threads, epilogue_,
                                                 std::move(factors));
  }

 private:
  std::vector<index_t> begin_;
  simd::Epilogue<T> epilogue_;
  PackedCsr<T> packed_;
  SampleFactors<T> factors_;
};

template <Real T> class PackedSetSamples final : public PackedSamples<T> {
 public:
  PackedSetSamples(const PackingPlan& plan, const SegmentOrder& order, int threads,
                   Control& control)
      : begin_(order.begin), sets_(plan.X, order.rows, threads, control),
        powers_(plan.rate_of_difference) {}

  std::unique_ptr<KernelRows<T>> rows(std::span<const index_t> segments,
                                      int threads) const override {
    return std::make_unique<SetKernelRows<T>>(sets_, places_of(segments, begin_), threads, powers_);
  }

 private:
  std::vector<index_t> begin_;
  FeatureSets sets_;
  PowersOfDifference<T> powers_;
};

// The segments' columns of a kernel matrix; nothing is packed.
template <Real T> class PrecomputedSamples final : public PackedSamples<T> {
 public:
  PrecomputedSamples(const PackingPlan& plan, SegmentOrder order)
      : matrix_(plan.X), order_(std::move(order)) {}

  std::unique_ptr<KernelRows<T>> rows(std::span<const index_t> segments, int) const override {
    std::vector<index_t> sample_of;
    for (const index_t s : segments)
      sample_of.insert(sample_of.end(), order_.rows.begin() + order_.begin[s],
                       order_.rows.begin() + order_.begin[s + 1]);
    return std::make_unique<PrecomputedKernelRows<T>>(matrix_, std::move(sample_of));
  }

 private:
  const MatrixView& matrix_;
  SegmentOrder order_;
};

} // namespace

PackingPlan::PackingPlan(const MatrixView& samples, const KernelParams& params, bool sums_to_zero,
                         int threads, Control& control)
    : X(samples), kernel(params) {
  if (is_precomputed()) return;
  density = density_of(samples, threads, control);
  const bool may_centre =
      is_translation_invariant(params) || (sums_to_zero && params.type == KernelType::linear);
  packing = Packing(samples, params, density, may_centre, threads, control);
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
  if (square_of_centre() == 0.0) return shift;
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
  return kernel_error(kernel, product, factors, packing.by_differences);
}

// No number of a packed sample is greater than 2^exponent.
ValueBound PackingPlan::largest_value_bound() const {
  if (is_precomputed() || n_factors(kernel) > 0) return {HUGE_VAL, HUGE_VAL};
  const bool is_square = pairing_of(kernel) == simd::Pairing::multiply;
  const double product =
      static_cast<double>(n_cols(X)) *
      std::ldexp(1.0, is_square ? 2 * packing.scaling.exponent : packing.scaling.exponent);
  return kernel_error(kernel, product, {}, packing.by_differences);
}

double PackingPlan::square_of_centre() const {
  return kernel.type == KernelType::linear ? sum_of_squares<double>(packing.scaling.centre) : 0.0;
}

template <Real T>
std::unique_ptr<PackedSamples<T>> pack_samples(const PackingPlan& plan,
                                               const std::vector<std::vector<index_t>>& segments,
                                               int threads, Control& control) {
  SegmentOrder order(segments);
  if (plan.is_precomputed()) return std::make_unique<PrecomputedSamples<T>>(plan, std::move(order));
  if (plan.rate_of_difference > 0.0)
    return std::make_unique<PackedSetSamples<T>>(plan, order, threads, control);
  if (plan.packing.is_sparse)
    return std::make_unique<PackedSparseSamples<T>>(plan, order, threads, control);
  return std::make_unique<PackedDenseSamples<T>>(plan, order, threads, control);
}

template std::unique_ptr<PackedSamples<float>>
pack_samples(const PackingPlan&, const std::vector<std::vector<index_t>>&, int, Control&);
template std::unique_ptr<PackedSamples<double>>
pack_samples(const PackingPlan&, const std::vector<std::vector<index_t>>&, int, Control&);

} // namespace maxmargin
