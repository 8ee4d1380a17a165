#pragma once

#include "dropin/libsvm/svm.h"
#include "dropin/print.hpp"

#include <span>

namespace maxmargin::dropin {

Printer& printer();
int training_threads();

// Why svm_train would refuse it, or NULL.
const char* fault_of(const svm_problem* problem, const svm_parameter* param);

inline std::span<const double> targets_of(const svm_problem& problem) {
  return {problem.y, static_cast<std::size_t>(problem.l)};
}
inline std::span<svm_node* const> samples_of(const svm_problem& problem) {
  return {problem.x, static_cast<std::size_t>(problem.l)};
}

} // namespace maxmargin::dropin
