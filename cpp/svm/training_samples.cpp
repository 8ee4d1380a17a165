#include "svm/training_samples.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace maxmargin {
namespace {

constexpr index_t kProbes = 64;

template <Real T>
std::vector<T> kernel_of(const PackingPlan& plan, const std::vector<index_t>& samples,
                         Control& control) {
  const auto packed = pack_samples<T>(plan, {samples}, 1, control);
  const index_t segments[] = {0};
  const auto rows = packed->rows(segments, 1);
  std::vector<index_t> all(samples.size());
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<index_t>(k);
  std::vector<T> values(all.size() * static_cast<std::size_t>(rows->size()));
  rows->gather(all);
  rows->square(values.data(), rows->size(), 1, control);
  return values;
}

} // namespace

TrainingSamples::TrainingSamples(const MatrixView& X, std::vector<std::vector<index_t>> segments,
                                 const KernelParams& kernel, int threads, Control& control)
    : plan_(X, kernel), segments_(std::move(segments)), threads_(threads), control_(control) {}

template <Real T> TrainingSamples::Packed<T>& TrainingSamples::packed() const {
  if constexpr (std::is_same_v<T, float>)
    return float_;
  else
    return double_;
}

template <Real T>
std::unique_ptr<KernelRows<T>> TrainingSamples::rows(std::span<const index_t> segments,
                                                     int threads) const {
  Packed<T>& p = packed<T>();
  std::call_once(p.once,
                 [&] { p.samples = pack_samples<T>(plan_, segments_, threads_, control_); });
  return p.samples->rows(segments, threads);
}

ExactSums TrainingSamples::exact_sums(std::span<const index_t> segments, int threads) const {
  std::vector<index_t> sample_of;
  for (const index_t s : segments) {
    sample_of.insert(sample_of.end(), segments_[s].begin(), segments_[s].end());
    sample_of.resize(
        static_cast<std::size_t>(round_up(static_cast<index_t>(sample_of.size()), kSegmentLane)),
        segments_[s].back());
  }
  return ExactSums(plan_, std::move(sample_of), threads, control_);
}

double TrainingSamples::float32_error() const {
  std::vector<index_t> all, probes;
  for (const auto& segment : segments_) all.insert(all.end(), segment.begin(), segment.end());
  const index_t n = static_cast<index_t>(all.size()), n_probes = std::min(kProbes, n);
  for (index_t k = 0; k < n_probes; ++k) probes.push_back(all[k * n / n_probes]);
  const std::vector<float> narrow = kernel_of<float>(plan_, probes, control_);
  const std::vector<double> wide = kernel_of<double>(plan_, probes, control_);
  const index_t narrow_stride = round_up(n_probes, kSegmentLane);
  double squares = 0.0, largest = 0.0;
  for (index_t i = 0; i < n_probes; ++i)
    for (index_t j = 0; j < n_probes; ++j) {
      const double exact = wide[i * narrow_stride + j];
      const double error = static_cast<double>(narrow[i * narrow_stride + j]) - exact;
      squares += error * error;
      largest = std::max(largest, std::abs(exact));
    }
  const double root_mean = std::sqrt(squares / static_cast<double>(n_probes * n_probes));
  return std::max(root_mean, std::ldexp(largest, -25));
}

template std::unique_ptr<KernelRows<float>> TrainingSamples::rows(std::span<const index_t>,
                                                                  int) const;
template std::unique_ptr<KernelRows<double>> TrainingSamples::rows(std::span<const index_t>,
                                                                   int) const;

} // namespace maxmargin
