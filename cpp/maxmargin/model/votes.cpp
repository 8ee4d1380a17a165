#include "maxmargin/model/votes.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/model/pair_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace maxmargin {
namespace {

// A pair's probabilities stay this far from 0 and 1, as in LIBSVM.
constexpr double kLeastProbability = 1e-7;

// Calls visit(sample, values of its machines).
template <class Visit>
void for_samples(std::span<const double> values, std::size_t n_classes, const Visit& visit) {
  const auto n_machines = static_cast<std::size_t>(n_pairs(static_cast<index_t>(n_classes)));
  require(n_machines > 0 && values.size() % n_machines == 0,
          "values must hold one for every machine of every sample");
  for (std::size_t i = 0; i < values.size() / n_machines; ++i)
    visit(i, values.data() + i * n_machines);
}

// Calls visit(machine, i, j) for the machines of all pairs of classes i < j.
template <class Visit> void for_pairs(std::size_t n_classes, const Visit& visit) {
  std::size_t p = 0;
  for (std::size_t i = 0; i < n_classes; ++i)
    for (std::size_t j = i + 1; j < n_classes; ++j) visit(p++, i, j);
}

double sigma(double x) { // 1 / (1 + exp(-x)) without overflow
  const double small = std::exp(-std::abs(x));
  return (x >= 0.0 ? 1.0 : small) / (1.0 + small);
}

// The p of one sample, from r by rows. With Q_ii = sum over j != i of r_ji^2 and Q_ij = -r_ji r_ij,
// and a multiplier of the constraint, p solves Q p + b 1 = 0, 1'p = 1, so that it is in proportion
// to the solution of (Q + 1 1') x = 1. That matrix is positive definite even where Q is singular,
// as for r_ij = p_i / (p_i + p_j): no r is 0, so that the null space of Q holds positive vectors.
void couple(std::span<const double> r, std::span<double> Q, std::span<double> p) {
  const std::size_t n = p.size();
  for (std::size_t i = 0; i < n; ++i) {
    Q[i * n + i] = 1.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      Q[i * n + i] += r[j * n + i] * r[j * n + i];
      Q[i * n + j] = 1.0 - r[j * n + i] * r[i * n + j];
    }
  }
  std::ranges::fill(p, 1.0);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = Q[i * n + k] / Q[k * n + k];
      for (std::size_t j = k; j < n; ++j) Q[i * n + j] -= factor * Q[k * n + j];
      p[i] -= factor * p[k];
    }
  double sum = 0.0;
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) p[k] -= Q[k * n + j] * p[j];
    p[k] /= Q[k * n + k];
  }
  for (double& share : p) sum += share = std::max(share, 0.0);
  for (double& share : p) share /= sum;
}

constexpr int kBins = kDensityMarks / 2; // on either side of 0
constexpr double kRarest = 0.001;

using Counted = std::pair<double, double>; // a value and its count

double sum_of(std::span<const Counted> side) {
  return std::accumulate(side.begin(), side.end(), 0.0,
                         [](double sum, const Counted& one) { return sum + one.second; });
}

// The first value up to which more than `below` count, or the last.
double value_beyond(std::span<const Counted> side, double below) {
  double sum = 0.0;
  for (const auto& [value, count] : side)
    if ((sum += count) > below) return value;
  return side.back().first;
}

} // namespace

index_t vote_winner(const double* values, std::span<const index_t> order,
                    std::span<index_t> votes) {
  std::ranges::fill(votes, 0);
  for_pairs(order.size(),
            [&](std::size_t p, std::size_t i, std::size_t j) { ++votes[values[p] > 0.0 ? i : j]; });
  return *std::ranges::max_element(order, {},
                                   [&](index_t c) { return votes[static_cast<std::size_t>(c)]; });
}

std::vector<index_t> vote_winners(std::span<const double> values, std::span<const index_t> order) {
  std::vector<index_t> winners, votes(order.size());
  for_samples(values, order.size(), [&](std::size_t, const double* of_sample) {
    winners.push_back(vote_winner(of_sample, order, votes));
  });
  return winners;
}

std::vector<double> class_scores(std::span<const double> values, index_t n_classes) {
  const auto n = static_cast<std::size_t>(n_classes);
  std::vector<double> scores, votes(n), confidence(n);
  for_samples(values, n, [&](std::size_t, const double* of_sample) {
    std::ranges::fill(votes, 0.0);
    std::ranges::fill(confidence, 0.0);
    for_pairs(n, [&](std::size_t p, std::size_t i, std::size_t j) {
      votes[of_sample[p] > 0.0 ? i : j] += 1.0;
      confidence[i] += of_sample[p];
      confidence[j] -= of_sample[p];
    });
    for (std::size_t c = 0; c < n; ++c)
      scores.push_back(votes[c] + confidence[c] / (3.0 * (std::abs(confidence[c]) + 1.0)));
  });
  return scores;
}

std::vector<double> pair_probabilities(std::span<const double> values, std::span<const double> a,
                                       std::span<const double> b, index_t n_classes) {
  require(std::ssize(a) == n_pairs(n_classes) && std::ssize(b) == n_pairs(n_classes),
          "every pair of classes needs a sigmoid");
  const auto n = static_cast<std::size_t>(n_classes);
  std::vector<double> probabilities(values.size() / std::max<std::size_t>(a.size(), 1) * n);
  std::vector<double> r(n * n), Q(n * n);
  for_samples(values, n, [&](std::size_t sample, const double* of_sample) {
    for_pairs(n, [&](std::size_t p, std::size_t i, std::size_t j) {
      r[i * n + j] = std::clamp(sigma(-(a[p] * of_sample[p] + b[p])), kLeastProbability,
                                1.0 - kLeastProbability);
      r[j * n + i] = 1.0 - r[i * n + j];
    });
    const std::span<double> p = std::span(probabilities).subspan(sample * n, n);
    if (n > 2)
      couple(r, Q, p);
    else
      p[0] = r[1], p[1] = r[2];
  });
  return probabilities;
}

std::vector<double> density_marks(std::span<const double> values, std::span<const double> counts) {
  require(values.size() == counts.size(), "values and counts must have the same length");
  std::vector<Counted> sorted;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (counts[i] > 0.0) sorted.emplace_back(values[i], counts[i]);
  std::ranges::sort(sorted);
  const auto middle = std::ranges::find_if(sorted, [](const Counted& c) { return c.first >= 0.0; });
  const std::span<const Counted> outside(sorted.begin(), middle), inside(middle, sorted.end());
  const double n_outside = sum_of(outside), n_inside = sum_of(inside);
  if (n_outside < kBins || n_inside < kBins) return {};
  std::vector<double> ends;
  for (int bin = 0; bin < kBins; ++bin)
    ends.push_back(value_beyond(outside, bin * n_outside / kBins));
  ends.push_back(0.0);
  for (int bin = 1; bin <= kBins; ++bin)
    ends.push_back(value_beyond(inside, bin * n_inside / kBins - 1.0));
  std::vector<double> marks;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    marks.push_back(std::midpoint(ends[i], ends[i + 1]));
  return marks;
}

double inside_probability(double value, std::span<const double> marks) {
  const auto above = std::ranges::upper_bound(marks, value) - marks.begin();
  if (above == 0) return kRarest;
  if (above == std::ssize(marks)) return 1.0 - kRarest;
  return static_cast<double>(above) / static_cast<double>(marks.size());
}

} // namespace maxmargin
