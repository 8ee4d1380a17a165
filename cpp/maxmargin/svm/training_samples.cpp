#include "maxmargin/svm/training_samples.hpp"

#include "maxmargin/base/random.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/kernel/rows/precomputed_kernel_rows.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin {
namespace {

constexpr index_t kProbes = 64;
constexpr double kNegligible = 1e-12; // of sum |beta|, in decision values

// Of whole lines: a call of memmove takes as long as several.
template <Real T> void copy_lines(const T* from, index_t n, T* to) {
  for (index_t c = 0; c < n; c += kLane<T>) std::copy_n(from + c, kLane<T>, to + c);
}

} // namespace

TrainingSamples::TrainingSamples(const MatrixView& X, std::vector<std::vector<index_t>> segments,
                                 const KernelParams& kernel, bool sums_to_zero, int threads,
                                 Control& control)
    : plan_(X, kernel, sums_to_zero, threads, control), segments_(std::move(segments)), begin_{0},
      threads_(threads), control_(control), float_(segments_.size()), double_(segments_.size()) {
  for (index_t s = 0; s < n_segments(); ++s) begin_.push_back(begin_.back() + n_columns(s));
}

template <Real T>
std::unique_ptr<KernelRows<T>> TrainingSamples::rows(std::span<const index_t> segments,
                                                     int threads) const {
  Packed<T>& p = packed<T>();
  std::call_once(p.once,
                 [&] { p.samples = pack_samples<T>(plan_, segments_, threads_, control_); });
  return p.samples(segments, threads);
}

template <Real T> const T* TrainingSamples::diagonal_block(index_t s) const {
  Diagonal<T>& diagonal = packed<T>().diagonals[s];
  std::call_once(diagonal.once, [&] {
    const index_t segments[] = {s};
    const auto kernel = rows<T>(segments, 1);
    const index_t n = kernel->size();
    diagonal.values = AlignedBuffer<T>(n * n);
    kernel->gather(identity_order(n));
    kernel->square(diagonal.values.data(), n, 1, control_);
    shared_values_ += kernel->values_computed();
  });
  return diagonal.values.data();
}

// out[r * stride + c] = K(r, begin + c) for r < n and all columns from `begin` on.
template <Real T>
void TrainingSamples::evaluate(KernelRows<T>& kernel, index_t n, index_t begin, T* out,
                               index_t stride) const {
  kernel.gather(identity_order(n));
  const index_t row_chunk = kernel.row_chunk(), column_chunk = kernel.column_chunk();
  std::vector<T*> strip(static_cast<std::size_t>(row_chunk));
  for (index_t r = 0; r < n; r += row_chunk) {
    control_.poll();
    const index_t count = std::min(row_chunk, n - r);
    for (index_t c = begin; c < kernel.size(); c += column_chunk) {
      for (index_t k = 0; k < count; ++k) strip[k] = out + (r + k) * stride + c - begin;
      kernel.evaluate(r, count, c, std::min(c + column_chunk, kernel.size()), strip.data(), 0);
    }
  }
}

template <Real T> void TrainingSamples::compute_strip(index_t s, StoredPair<T>& pair) const {
  if (pair.strip_of == s) return;
  std::vector<index_t> from_it_on(static_cast<std::size_t>(n_segments() - s));
  std::iota(from_it_on.begin(), from_it_on.end(), s);
  const auto kernel = rows<T>(from_it_on, 1);
  const index_t n = std::ssize(segments_[s]), n_own = begin_[s + 1] - begin_[s];
  pair.strip_width = kernel->size() - n_own;
  pair.strip.resize_discard(n * pair.strip_width);
  evaluate(*kernel, n, n_own, pair.strip.data(), pair.strip_width);
  shared_values_ += kernel->values_computed();
  pair.strip_of = s;
}

template <Real T> void TrainingSamples::store_all(AlignedBuffer<T>& values, int threads) {
  const index_t n = n_columns();
  std::vector<index_t> every(segments_.size());
  std::iota(every.begin(), every.end(), 0);
  const auto kernel = rows<T>(every, threads);
  values.resize_discard(n * n);
  kernel->gather(identity_order(n));
  kernel->square(values.data(), n, threads, control_);
  shared_values_ += kernel->values_computed();
  packed<T>().all = values.data();
}

template <Real T>
std::unique_ptr<KernelRows<T>> TrainingSamples::rows_of_all(std::span<const index_t> segments,
                                                            StoredPair<T>& pair) const {
  const index_t n_all = n_columns();
  if (std::ssize(segments) == n_segments()) {
    pair.view = DenseView<T>{all_values<T>(), n_all, n_all};
    return std::make_unique<PrecomputedKernelRows<T>>(pair.view, identity_order(n_all));
  }
  const index_t n = n_columns(segments[0]) + n_columns(segments[1]);
  if (pair.first != segments[0] || pair.second != segments[1]) {
    pair.values.resize_discard(n * n);
    T* to = pair.values.data();
    for (const index_t s : segments)
      for (index_t r = begin_[s]; r < begin_[s + 1]; ++r)
        for (const index_t t : segments)
          to = std::copy_n(all_values<T>() + r * n_all + begin_[t], n_columns(t), to);
    pair.first = segments[0];
    pair.second = segments[1];
  }
  pair.view = DenseView<T>{pair.values.data(), n, n};
  return std::make_unique<PrecomputedKernelRows<T>>(pair.view, identity_order(n));
}

template <Real T>
std::unique_ptr<KernelRows<T>> TrainingSamples::stored_rows(std::span<const index_t> segments,
                                                            int threads,
                                                            StoredPair<T>& pair) const {
  if (all_values<T>() != nullptr) return rows_of_all(segments, pair);
  const index_t n_first = n_columns(segments[0]), n_second = n_columns(segments[1]);
  const index_t n = n_first + n_second;
  pair.values.resize_discard(n * n);
  T* const values = pair.values.data();
  const auto copy_diagonal = [&](index_t s, index_t begin, index_t size) {
    const T* block = diagonal_block<T>(s);
    const index_t stride = begin_[s + 1] - begin_[s];
    for (index_t r = 0; r < size; ++r)
      copy_lines(block + r * stride, size, values + (begin + r) * n + begin);
  };
  copy_diagonal(segments[0], 0, n_first);
  copy_diagonal(segments[1], n_first, n_second);

  std::unique_ptr<KernelRows<T>> kernel;
  pair.view = DenseView<T>{values, n, n};
  if (lane_ != kSegmentLane) {
    compute_strip(segments[0], pair);
    const index_t last = std::ssize(segments_[segments[0]]) - 1; // padding is like it
    const T* const from = pair.strip.data() + begin_[segments[1]] - begin_[segments[0] + 1];
    for (index_t r = 0; r < n_first; ++r)
      copy_lines(from + std::min(r, last) * pair.strip_width, n_second, values + r * n + n_first);
    kernel = std::make_unique<PrecomputedKernelRows<T>>(pair.view, identity_order(n));
  } else {
    kernel = rows<T>(segments, threads);
    evaluate(*kernel, n_first, n_first, values + n_first, n);
  }
  const auto transpose = simd::real_table<T>().transpose;
  for (index_t r = n_first; r < n; r += kLane<T>)
    for (index_t c = 0; c < n_first; c += kLane<T>)
      transpose(values + c * n + r, n, values + r * n + c, n);
  return kernel;
}

ExactSums TrainingSamples::exact_sums(std::span<const index_t> segments, int threads) const {
  std::vector<index_t> sample_of;
  index_t n = 0;
  for (const index_t s : segments) n += n_columns(s);
  sample_of.reserve(static_cast<std::size_t>(n));
  for (const index_t s : segments) {
    sample_of.insert(sample_of.end(), segments_[s].begin(), segments_[s].end());
    sample_of.resize(sample_of.size() + n_columns(s) - segments_[s].size(), segments_[s].back());
  }
  return ExactSums(plan_, std::move(sample_of), threads, control_);
}

double TrainingSamples::centring_correction(std::span<const index_t> support,
                                            std::span<const double> coef,
                                            std::size_t n_first) const {
  if (!has_centring_correction()) return 0.0;
  const double shift = plan_.centring_correction(support.first(n_first), coef.first(n_first)) +
                       plan_.centring_correction(support.subspan(n_first), coef.subspan(n_first));
  // What rounding has left of the sum of all goes with m.z, which is about m.m of the centre. Where
  // the samples do not lie far off, that is rounding as well.
  const double left = compensated_sum(coef) * plan_.square_of_centre;
  double magnitude = 0.0;
  for (const double c : coef) magnitude += std::abs(c);
  return std::abs(left) > kNegligible * magnitude ? shift + left : shift;
}

template <Real T>
std::vector<T> TrainingSamples::kernel_of(const std::vector<index_t>& samples) const {
  const auto packed = pack_samples<T>(plan_, {samples}, 1, control_);
  const index_t segments[] = {0};
  const auto rows = packed(segments, 1);
  std::vector<T> values(samples.size() * static_cast<std::size_t>(rows->size()));
  rows->gather(identity_order(static_cast<index_t>(samples.size())));
  rows->square(values.data(), rows->size(), 1, control_);
  shared_values_ += rows->values_computed();
  return values;
}

double TrainingSamples::float32_error() const {
  std::vector<index_t> all, probes;
  for (const auto& segment : segments_) all.insert(all.end(), segment.begin(), segment.end());
  const index_t n = static_cast<index_t>(all.size()), n_probes = std::min(kProbes, n);
  for (index_t k = 0; k < n_probes; ++k) probes.push_back(all[k * n / n_probes]);
  const std::vector<float> in_float32 = kernel_of<float>(probes);
  const std::vector<double> in_float64 = kernel_of<double>(probes);
  const index_t stride = round_up(n_probes, kSegmentLane);
  double squares = 0.0, largest = 0.0;
  for (index_t i = 0; i < n_probes; ++i)
    for (index_t j = 0; j < n_probes; ++j) {
      const double exact = in_float64[i * stride + j];
      const double error = static_cast<double>(in_float32[i * stride + j]) - exact;
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

template void TrainingSamples::store_all(AlignedBuffer<float>&, int);
template void TrainingSamples::store_all(AlignedBuffer<double>&, int);
template std::unique_ptr<KernelRows<float>>
TrainingSamples::stored_rows(std::span<const index_t>, int, StoredPair<float>&) const;
template std::unique_ptr<KernelRows<double>>
TrainingSamples::stored_rows(std::span<const index_t>, int, StoredPair<double>&) const;

} // namespace maxmargin
