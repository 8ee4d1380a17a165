#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace maxmargin {

// The sum of term(k) for k in [begin, end), as four sums whose additions need not wait for each
// other. The result is the same wherever and whenever it is computed.
template <class Index, class Term> double sum_of(Index begin, Index end, const Term& term) {
  double sums[4] = {};
  Index k = begin;
  for (; k + 4 <= end; k += 4)
    for (int u = 0; u < 4; ++u) sums[u] += term(k + u);
  for (; k < end; ++k) sums[0] += term(k);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The sum as if in twice the precision (Neumaier 1974): what is left where terms cancel.
inline double compensated_sum(std::span<const double> terms) {
  double sum = 0.0, lost = 0.0;
  for (const double term : terms) {
    const double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  return sum + lost;
}

template <class Numbers> bool all_finite(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](auto number) { return std::isfinite(number); });
}

// In float64.
template <class T> double sum_of_squares(std::span<const T> values) {
  return sum_of(std::size_t{0}, values.size(), [&](std::size_t k) {
    return static_cast<double>(values[k]) * static_cast<double>(values[k]);
  });
}

} // namespace maxmargin
