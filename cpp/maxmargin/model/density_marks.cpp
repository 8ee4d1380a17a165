#include "maxmargin/model/density_marks.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace maxmargin {
namespace {

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
