#include "maxmargin/data/packed/feature_sets.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/scaling.hpp"

#include <algorithm>
#include <atomic>

namespace maxmargin {
namespace {

constexpr index_t kMostFeatures = 4096; // whose table fits the second-level cache
constexpr index_t kGrain = 256;         // rows that a thread reads at the least
constexpr std::size_t kRowsPerPoll = 256;

template <class View, class Use> void each_nonzero(const View& X, index_t i, const Use& use) {
  for_each_feature<double>(X, i, Scaling{}, [&](index_t k, double x) {
    if (x != 0.0) use(k, x);
  });
}

template <class View> double first_value(const View& X) {
  double value = 0.0;
  for (index_t i = 0; i < X.rows && value == 0.0; ++i)
    each_nonzero(X, i, [&](index_t, double x) { value = value == 0.0 ? x : value; });
  return value;
}

template <class View> bool is_set(const View& X, index_t i, double value) {
  index_t size = 0;
  bool is_common = true;
  each_nonzero(X, i, [&](index_t, double x) {
    ++size;
    is_common = is_common && x == value;
  });
  return is_common && size <= simd::kLargestSet;
}

} // namespace

double FeatureSets::common_value(const MatrixView& X, int threads, Control& control) {
  if (n_cols(X) > kMostFeatures) return 0.0;
  return std::visit(
      [&](const auto& view) {
        const double value = first_value(view);
        std::atomic<bool> are_sets = value != 0.0;
        const auto look = [&](index_t begin, index_t end, int) {
          for (index_t i = begin; i < end && are_sets.load(std::memory_order_relaxed); ++i)
            if (!is_set(view, i, value)) are_sets.store(false, std::memory_order_relaxed);
        };
        look(0, std::min(kGrain, view.rows), 0); // most other data show here
        if (!are_sets) return 0.0;
        parallel_ranges(view.rows, kGrain,
                        thread_count_for(threads, static_cast<double>(n_stored(view))), control,
                        look);
        return are_sets ? value : 0.0;
      },
      X);
}

FeatureSets::FeatureSets(const MatrixView& X, std::span<const index_t> rows, int threads,
                         Control& control)
    : n_features_(n_cols(X)) {
  const auto n = static_cast<index_t>(rows.size());
  threads = thread_count_for(threads, static_cast<double>(n_stored(X)));
  std::vector<FeatureSets> parts(static_cast<std::size_t>(threads), FeatureSets(n_features_));
  parallel_for(threads, threads, [&](index_t p, int) {
    const index_t begin = p * n / threads, end = (p + 1) * n / threads;
    parts[p].append(X, rows.subspan(begin, end - begin), control);
  });
  for (const FeatureSets& part : parts) {
    const auto offset = static_cast<std::int64_t>(features_.size());
    features_.insert(features_.end(), part.features_.begin(), part.features_.end());
    for (std::size_t i = 1; i < part.begin_.size(); ++i) begin_.push_back(offset + part.begin_[i]);
  }
}

void FeatureSets::append(const MatrixView& X, std::span<const index_t> rows, Control& control) {
  std::visit(
      [&](const auto& view) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (r % kRowsPerPoll == kRowsPerPoll - 1) control.poll();
          each_nonzero(view, rows[r], [&](index_t k, double) {
            features_.push_back(static_cast<std::uint16_t>(k));
          });
          begin_.push_back(static_cast<std::int64_t>(features_.size()));
        }
      },
      X);
}

void SetTable::set(const FeatureSets& samples, std::span<const index_t> columns) {
  const index_t n_bytes = samples.n_features() * simd::kSetColumns;
  if (lines_.size() != n_bytes)
    lines_ = AlignedBuffer<std::uint8_t>::zeros(n_bytes);
  else
    mark(samples, 0);
  columns_.assign(columns.begin(), columns.end());
  mark(samples, 2);
}

void SetTable::mark(const FeatureSets& samples, std::uint8_t value) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const std::uint16_t k : samples.set(columns_[c]))
      lines_[simd::kSetColumns * index_t{k} + static_cast<index_t>(c)] = value;
    sizes_[c] = static_cast<std::uint8_t>(samples.size(columns_[c]));
  }
}

} // namespace maxmargin
