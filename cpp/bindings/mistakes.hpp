#pragma once

#include "bindings/arrays.hpp"
#include "bindings/pybind.hpp"
#include "maxmargin/optim/mistake_passes.hpp"

#include <algorithm>
#include <span>
#include <vector>

// What the bindings of mistake-driven trainers share.

namespace maxmargin::bindings {

inline py::list mistakes_per_pass(std::vector<optim::MistakeRecord>& records) {
  py::list arrays;
  for (optim::MistakeRecord& record : records)
    arrays.append(to_numpy(std::move(record.mistakes_per_pass)));
  return arrays;
}

inline std::vector<bool> separated(const std::vector<optim::MistakeRecord>& records) {
  std::vector<bool> flags;
  for (const optim::MistakeRecord& record : records) flags.push_back(record.is_separated);
  return flags;
}

// What is to fall, per example of the last pass.
inline std::vector<double> measures_of(const std::vector<optim::MistakeRecord>& records) {
  std::vector<double> measures;
  for (const optim::MistakeRecord& record : records) measures.push_back(record.measure);
  return measures;
}

// The binary problem of one class against the rest. (From a table, since compilers make branches of
// conditions, and of labels in any order these are guessed wrongly.)
inline std::vector<std::int8_t> signs_of(std::span<const std::int64_t> codes,
                                         std::int64_t positive) {
  static constexpr std::int8_t signs[] = {-1, 1};
  std::vector<std::int8_t> y(codes.size());
  std::transform(codes.begin(), codes.end(), y.begin(),
                 [positive](std::int64_t code) { return signs[code == positive ? 1 : 0]; });
  return y;
}

} // namespace maxmargin::bindings
