#include "dropin/classes.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace maxmargin::dropin {
namespace {

// A label is the integer part of a target; NaN, which programs may ask about, has the least.
int label_of(double target) {
  constexpr double kLeast = std::numeric_limits<int>::min(),
                   kMost = std::numeric_limits<int>::max();
  return static_cast<int>(target > kLeast ? std::min(target, kMost) : kLeast);
}

} // namespace

Classes::Classes(std::span<const double> y) {
  std::unordered_map<int, index_t> code_of;
  for (const double target : y) {
    const auto [place, is_new] = code_of.try_emplace(label_of(target), std::ssize(labels));
    if (is_new) labels.push_back(place->first);
    codes.push_back(place->second);
  }
  if (labels == std::vector{-1, 1}) {
    std::ranges::swap(labels[0], labels[1]);
    for (index_t& code : codes) code = 1 - code;
  }
  groups.resize(labels.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    groups[static_cast<std::size_t>(codes[i])].push_back(static_cast<index_t>(i));
}

} // namespace maxmargin::dropin
