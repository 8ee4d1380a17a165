#pragma once

// LIBSVM's layout of a classifier with one machine for every pair of classes, and nothing else
// knows it. Machine (i, j), i < j, stands in the order (0,1), (0,2) .. (1,2) ..; a positive
// decision value votes for class i. Support vectors are grouped by class. Row j-1 of dual_coef
// holds, for the support vectors of class i < j, their coefficients in machine (i,j); row i holds
// those of class j in the same machine (LIBSVM's sv_coef).

#include "maxmargin/base/types.hpp"

#include <vector>

namespace maxmargin {

struct ClassPair {
  index_t first, second; // first < second
};

// Place of the machine of the classes i < j.
constexpr index_t machine_of(index_t i, index_t j, index_t n_classes) {
  return i * n_classes - i * (i + 1) / 2 + (j - i - 1);
}

// Row of dual_coef that holds the coefficients of class `own` in its machine with `other`.
constexpr index_t coef_row(index_t own, index_t other) {
  return other > own ? other - 1 : other;
}

constexpr index_t n_pairs(index_t n_classes) {
  return n_classes * (n_classes - 1) / 2;
}

// The classes of a machine.
constexpr ClassPair pair_of(index_t machine, index_t n_classes) {
  index_t i = 0;
  while (machine_of(i, n_classes - 1, n_classes) < machine) ++i;
  return {i, i + machine - machine_of(i, i, n_classes)};
}

// The classes of every machine.
inline std::vector<ClassPair> pairs_of(index_t n_classes) {
  std::vector<ClassPair> pairs;
  for (index_t i = 0; i < n_classes; ++i)
    for (index_t j = i + 1; j < n_classes; ++j) pairs.push_back({i, j});
  return pairs;
}

} // namespace maxmargin
