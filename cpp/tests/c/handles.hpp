#pragma once

// Handles of the C interface that free themselves.

#include "c/maxmargin.h"
#include "maxmargin/base/types.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace maxmargin::tests {

struct Free {
  void operator()(mm_samples* samples) const { mm_samples_free(samples); }
  void operator()(mm_options* options) const { mm_options_free(options); }
  void operator()(mm_model* model) const { mm_model_free(model); }
  void operator()(mm_predictor* predictor) const { mm_predictor_free(predictor); }
  void operator()(mm_scratch* scratch) const { mm_scratch_free(scratch); }
};
template <class T> using Owned = std::unique_ptr<T, Free>;

inline Owned<mm_samples> samples_of(const std::vector<double>& values, index_t n, index_t d) {
  mm_samples* samples = nullptr;
  REQUIRE(mm_samples_dense(values.data(), MM_FLOAT64, n, d, d, 1, &samples) == MM_OK);
  return Owned<mm_samples>(samples);
}

inline Owned<mm_options> options_of(const char* estimator) {
  mm_options* options = nullptr;
  REQUIRE(mm_options_new(estimator, &options) == MM_OK);
  return Owned<mm_options>(options);
}

inline Owned<mm_model> fitted(const mm_options& options, const mm_samples& X, const double* y,
                              const double* weight = nullptr) {
  mm_model* model = nullptr;
  const mm_status status = mm_fit(&options, &X, y, weight, &model);
  REQUIRE_MESSAGE(status == MM_OK, mm_last_error());
  return Owned<mm_model>(model);
}

// What was wrong, after a call that must have failed so.
inline std::string refused(mm_status status, mm_status expected = MM_INVALID_ARGUMENT) {
  CHECK(status == expected);
  return mm_last_error();
}

inline bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

} // namespace maxmargin::tests
