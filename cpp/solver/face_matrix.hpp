#pragma once

#include "base/aligned_buffer.hpp"
#include "base/parallel.hpp"
#include "data/feature_order.hpp"
#include "data/sample_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace maxmargin {

// Products of vectors with X_F X_F', where X_F are some of the samples: a pass that sums rows to
// weights, and one that multiplies rows with these.
template <class Rows> class FaceMatrix {
 public:
  FaceMatrix(const Rows& rows, index_t n_features, int /*threads*/)
      : rows_(rows), w_(static_cast<std::size_t>(n_features)) {}

  // poll() is called for every row, as far as the calling thread reads them, and ends what is done
  // by returning true; returns whether it did not.
  template <class Poll> bool choose(std::span<const index_t> samples, const Poll&) {
    samples_ = samples;
    return true;
  }

  template <class Poll>
  bool multiply(const std::vector<double>& a, std::vector<double>& product, const Poll& poll) {
    std::fill(w_.begin(), w_.end(), 0.0);
    for (std::size_t t = 0; t < samples_.size(); ++t)
      if (a[t] != 0.0) rows_.add(samples_[t], a[t], w_.data());
    for (std::size_t t = 0; t < samples_.size(); ++t) {
      if (poll()) return false;
      product[t] = rows_.dot(samples_[t], w_.data());
    }
    return true;
  }

 private:
  const Rows& rows_;
  std::span<const index_t> samples_;
  std::vector<double> w_;
};

// Sparse samples are copied, by row and by feature, so that threads may share out both passes: what
// is summed does not depend on how many they are. A feature that only one of the samples has adds
// to the diagonal alone. The others are numbered by falling count, so that most weights that are
// read lie close together, and the processor foresees where the sums end. Values are kept in
// float32, over the largest: reading them is what takes the time.
template <class Rows>
  requires requires(const Rows& rows) { rows.for_elements(index_t{}, [](index_t, double) {}); }
class FaceMatrix<Rows> {
 public:
  FaceMatrix(const Rows& rows, index_t n_features, int threads)
      : rows_(rows), number_(static_cast<std::size_t>(n_features)), requested_threads_(threads) {}

  template <class Poll> bool choose(std::span<const index_t> samples, const Poll& poll) {
    if (!number_features(samples, poll) || !copy(samples, poll) || !transpose(poll)) return false;
    threads_ = thread_count_for(requested_threads_,
                                kWorkOfElement * static_cast<double>(by_row_.places.size()));
    return true;
  }

  template <class Poll>
  bool multiply(const std::vector<double>& a, std::vector<double>& product, const Poll& poll) {
    by_feature_.for_sums(a, threads_, [&](index_t j, double sum, int) { w_[j] = sum; });
    bool is_late = false;
    by_row_.for_sums(w_, threads_, [&](index_t t, double sum, int thread) {
      if (thread == 0) is_late = is_late || poll();
      product[t] = largest_ * largest_ * sum + diagonal_[t] * a[t];
    });
    return !is_late;
  }

 private:
  static constexpr double kWorkOfElement = 8.0; // multiplications that take as long
  static constexpr index_t kShares = 32;        // of the sums, for threads

  // Lists of elements: their places in a vector and what they are multiplied with there.
  struct Lists {
    std::vector<index_t> begins;
    AlignedBuffer<std::int32_t> places;
    AlignedBuffer<float> values;

    void resize(index_t n_elements) {
      places.resize_discard(n_elements);
      values.resize_discard(n_elements);
    }

    // Calls use(k, sum, thread) for the sum of every list k over x.
    template <class Use> void for_sums(const std::vector<double>& x, int threads, const Use& use) {
      const index_t n_lists = static_cast<index_t>(begins.size()) - 1;
      const auto first_of = [&](index_t share) {
        const index_t element = share * begins.back() / kShares;
        return std::lower_bound(begins.begin(), begins.end() - 1, element) - begins.begin();
      };
      parallel_for(kShares, threads, [&](index_t share, int thread) {
        const index_t end = share + 1 < kShares ? first_of(share + 1) : n_lists;
        for (index_t k = first_of(share); k < end; ++k) use(k, sum(k, x.data()), thread);
      });
    }

    double sum(index_t k, const double* x) const {
      const index_t end = begins[k + 1];
      double sums[4] = {};
      index_t e = begins[k];
      for (; e + 4 <= end; e += 4)
        for (int u = 0; u < 4; ++u)
          sums[u] += static_cast<double>(values[e + u]) * x[places[e + u]];
      for (; e < end; ++e) sums[0] += static_cast<double>(values[e]) * x[places[e]];
      return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  };

  template <class Poll> bool number_features(std::span<const index_t> samples, const Poll& poll) {
    count_.assign(number_.size(), 0);
    double largest = 0.0;
    for (const index_t i : samples) {
      if (poll()) return false;
      rows_.for_elements(i, [&](index_t j, double x) {
        ++count_[j];
        largest = std::max(largest, std::abs(x));
      });
    }
    largest_ = largest;
    std::fill(number_.begin(), number_.end(), kAlone);
    by_feature_.begins.assign(1, 0);
    for (const index_t j : by_falling_count(count_)) {
      if (count_[j] < 2) break;
      number_[j] = static_cast<std::int32_t>(by_feature_.begins.size()) - 1;
      by_feature_.begins.push_back(by_feature_.begins.back() + count_[j]);
    }
    w_.resize(by_feature_.begins.size() - 1);
    return true;
  }

  template <class Poll> bool copy(std::span<const index_t> samples, const Poll& poll) {
    diagonal_.assign(samples.size(), 0.0);
    by_row_.begins.assign(1, 0);
    by_row_.resize(by_feature_.begins.back());
    index_t e = 0;
    for (std::size_t t = 0; t < samples.size(); ++t) {
      if (poll()) return false;
      rows_.for_elements(samples[t], [&](index_t j, double x) {
        if (number_[j] == kAlone) {
          diagonal_[t] += x * x;
        } else {
          by_row_.places[e] = number_[j];
          by_row_.values[e++] = static_cast<float>(x / largest_);
        }
      });
      by_row_.begins.push_back(e);
    }
    return true;
  }

  template <class Poll> bool transpose(const Poll& poll) {
    by_feature_.resize(by_feature_.begins.back());
    next_.assign(by_feature_.begins.begin(), by_feature_.begins.end() - 1);
    for (std::size_t t = 0; t < diagonal_.size(); ++t) {
      if (poll()) return false;
      for (index_t e = by_row_.begins[t]; e < by_row_.begins[t + 1]; ++e) {
        const index_t to = next_[by_row_.places[e]]++;
        by_feature_.places[to] = static_cast<std::int32_t>(t);
        by_feature_.values[to] = by_row_.values[e];
      }
    }
    return true;
  }

  static constexpr std::int32_t kAlone = -1;

  const Rows& rows_;
  std::vector<std::int32_t> number_; // of every feature
  std::vector<index_t> count_, next_;
  Lists by_row_, by_feature_;
  std::vector<double> diagonal_, w_;
  double largest_ = 0.0; // magnitude of a value
  int requested_threads_;
  int threads_ = 1;
};

} // namespace maxmargin
