#include "maxmargin/linear/descent/subspace_gram.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace maxmargin::linear {
namespace {

constexpr double kWorkOfElement = 8.0;  // multiplications that take as long
constexpr double kElementsOfRow = 64.0; // at the least, where threads are of use
constexpr index_t kShares = 32;         // of the sums, however many threads there are
constexpr std::int32_t kAlone = -1;

} // namespace

SubspaceGram::SubspaceGram(const AnyRows& rows, index_t n_features, int threads)
    : rows_(rows), is_sparse_(rows.is_sparse()), n_features_(n_features),
      requested_threads_(threads) {
  if (!is_sparse_) w_.resize(static_cast<std::size_t>(n_features));
}

bool SubspaceGram::choose(std::span<const index_t> samples, const Poll& poll) {
  samples_ = samples;
  if (!is_sparse_) return true;
  divide_samples();
  if (!for_parts(poll, [&](Part& part, const Poll& poll_row) { count(part, poll_row); }))
    return false;
  number_features();
  place_rows();
  if (!for_parts(poll, [&](Part& part, const Poll& poll_row) { copy(part, poll_row); }))
    return false;
  threads_ = thread_count_for(requested_threads_,
                              kWorkOfElement * static_cast<double>(by_feature_.begins.back()));
  return true;
}

bool SubspaceGram::multiply(const std::vector<double>& a, std::vector<double>& product,
                            const Poll& poll) {
  if (!is_sparse_) return multiply_rows(a, product, poll);
  by_feature_.for_sums(a, threads_, [&](index_t j, double sum, int) { w_[j] = sum; });
  bool is_late = false;
  by_row_.for_sums(w_, threads_, [&](index_t t, double sum, int thread) {
    if (thread == 0) is_late = is_late || poll();
    product[t] = square_of_unit_ * sum + diagonal_[t] * a[t];
  });
  return !is_late;
}

bool SubspaceGram::multiply_rows(const std::vector<double>& a, std::vector<double>& product,
                                 const Poll& poll) {
  std::fill(w_.begin(), w_.end(), 0.0);
  for (std::size_t t = 0; t < samples_.size(); ++t)
    if (a[t] != 0.0) rows_.add(samples_[t], a[t], w_.data());
  for (std::size_t t = 0; t < samples_.size(); ++t) {
    if (poll()) return false;
    product[t] = rows_.dot(samples_[t], w_.data());
  }
  return true;
}

template <class Use>
void SubspaceGram::Lists::for_sums(const std::vector<double>& x, int threads, const Use& use) {
  const auto n_lists = static_cast<index_t>(ends.size());
  const auto first_of = [&](index_t share) {
    const index_t element = share * begins.back() / kShares;
    return std::lower_bound(begins.begin(), begins.end() - 1, element) - begins.begin();
  };
  const auto sum = [&](index_t k) {
    return sum_of(begins[k], ends[k], [&](index_t e) {
      return static_cast<double>(elements[e].value) * x[elements[e].place];
    });
  };
  parallel_for(kShares, threads, [&](index_t share, int thread) {
    const index_t end = share + 1 < kShares ? first_of(share + 1) : n_lists;
    for (index_t k = first_of(share); k < end; ++k) use(k, sum(k), thread);
  });
}

// Every part counts all features.
void SubspaceGram::divide_samples() {
  const double n_elements = kElementsOfRow * static_cast<double>(samples_.size());
  const bool is_worth_it = static_cast<double>(n_features_) <= n_elements;
  const int threads = thread_count_for(requested_threads_, kWorkOfElement * n_elements);
  parts_.resize(is_worth_it ? static_cast<std::size_t>(threads) : 1);
  counts_.resize_discard(n_features_ * std::ssize(parts_));
  number_ = counts_.data();
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    parts_[p].count = counts_.data() + static_cast<index_t>(p) * n_features_;
    parts_[p].begin = p * samples_.size() / parts_.size();
    parts_[p].end = (p + 1) * samples_.size() / parts_.size();
  }
  by_row_.begins.resize(samples_.size() + 1);
  by_row_.ends.resize(samples_.size());
  diagonal_.resize(samples_.size());
}

// Calls work(part, poll_row) for every part, on a thread each; returns whether poll_row(), to be
// called for every row, was never true.
template <class Work> bool SubspaceGram::for_parts(const Poll& poll, const Work& work) {
  const auto n_parts = static_cast<index_t>(parts_.size());
  std::atomic<bool> is_late{false};
  parallel_for(n_parts, static_cast<int>(n_parts), [&](index_t p, int thread) {
    work(parts_[p], [&] {
      if (thread == 0 && poll()) is_late.store(true, std::memory_order_relaxed);
      return is_late.load(std::memory_order_relaxed);
    });
  });
  return !is_late;
}

// Calls work(t, for_elements) for the rows of a part until poll_row() is true.
template <class Work>
void SubspaceGram::for_rows(const Part& part, const Poll& poll_row, const Work& work) {
  rows_.visit([&](const auto& rows) {
    if constexpr (AnyRows::has_elements<std::decay_t<decltype(rows)>>) {
      for (std::size_t t = part.begin; t < part.end && !poll_row(); ++t)
        work(t, [&](const auto& use) { rows.for_elements(samples_[t], use); });
    }
  });
}

// by_row_.ends becomes the number of elements of every row.
void SubspaceGram::count(Part& part, const Poll& poll_row) {
  std::fill_n(part.count, n_features_, 0);
  part.largest = 0.0;
  for_rows(part, poll_row, [&](std::size_t t, const auto& for_elements) {
    by_row_.ends[t] = 0;
    for_elements([&](index_t j, double x) {
      ++part.count[j];
      ++by_row_.ends[t];
      part.largest = std::max(part.largest, std::abs(x));
    });
  });
}

void SubspaceGram::number_features() {
  for (std::size_t p = 1; p < parts_.size(); ++p)
    for (index_t j = 0; j < n_features_; ++j) parts_[p].count[j] += parts_[p - 1].count[j];
  const std::int32_t* const count = parts_.back().count; // of all parts
  std::vector<Place> places = places_by_count(count);
  for (Part& part : parts_) part.next.resize_discard(std::ssize(w_));
  for (index_t j = 0; j < n_features_; ++j) {
    const std::int32_t n = count[j];
    if (n < 2) {
      number_[j] = kAlone;
      continue;
    }
    const auto [number, begin] = places[n];
    places[n] = {number + 1, begin + n};
    by_feature_.begins[number] = begin;
    by_feature_.ends[number] = begin + n;
    parts_.front().next[number] = begin;
    for (std::size_t p = 1; p < parts_.size(); ++p)
      parts_[p].next[number] = begin + parts_[p - 1].count[j];
    number_[j] = static_cast<std::int32_t>(number);
  }
}

// Where features of every count begin, those of the greatest first.
std::vector<SubspaceGram::Place> SubspaceGram::places_by_count(const std::int32_t* count) {
  std::vector<index_t> n_features(samples_.size() + 1, 0);
  for (index_t j = 0; j < n_features_; ++j) ++n_features[count[j]];
  std::vector<Place> places(n_features.size());
  Place next;
  for (index_t n = std::ssize(places) - 1; n >= 2; --n) {
    places[n] = next;
    next.number += n_features[n];
    next.element += n_features[n] * n;
  }
  w_.resize(static_cast<std::size_t>(next.number));
  by_feature_.ends.resize(w_.size());
  by_feature_.begins.resize(w_.size() + 1);
  by_feature_.begins.back() = next.element;
  by_feature_.elements.resize_discard(next.element);
  return places;
}

// Where every row begins, with room for all of its elements.
void SubspaceGram::place_rows() {
  index_t place = 0;
  for (std::size_t t = 0; t < samples_.size(); ++t) {
    by_row_.begins[t] = place;
    place += by_row_.ends[t];
  }
  by_row_.begins.back() = place;
  by_row_.elements.resize_discard(place);
  double largest = 0.0;
  for (const Part& part : parts_) largest = std::max(largest, part.largest);
  scale_ = std::min(1.0 / largest, std::numeric_limits<double>::max());
  square_of_unit_ = 1.0 / scale_ / scale_;
}

void SubspaceGram::copy(Part& part, const Poll& poll_row) {
  for_rows(part, poll_row, [&](std::size_t t, const auto& for_elements) {
    Element* to = by_row_.elements.data() + by_row_.begins[t];
    double alone = 0.0;
    for_elements([&](index_t j, double x) {
      const std::int32_t number = number_[j];
      if (number == kAlone) {
        alone += x * x;
      } else {
        const auto value = static_cast<float>(x * scale_);
        *to++ = {number, value};
        by_feature_.elements[part.next[number]++] = {static_cast<std::int32_t>(t), value};
      }
    });
    by_row_.ends[t] = to - by_row_.elements.data();
    diagonal_[t] = alone;
  });
}

} // namespace maxmargin::linear
