#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace maxmargin {

// Every size and row number: 64-bit, so that no data set that fits in memory overflows one.
using index_t = std::int64_t;

template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

// A cache line, and the widest vector register.
inline constexpr std::size_t kAlignment = 64;

template <Real T> inline constexpr index_t kLane = static_cast<index_t>(kAlignment / sizeof(T));

constexpr index_t round_up(index_t value, index_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// How far apart to lay rows of n numbers: an odd number of lines, because rows a whole number of
// small pages apart share the same few lines of the first-level cache.
template <Real T> constexpr index_t row_stride(index_t n) {
  return ((n + kLane<T> - 1) / kLane<T> | 1) * kLane<T>;
}

} // namespace maxmargin
