#pragma once

#include "c/maxmargin.h"
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/kernel_model.hpp"
#include "maxmargin/model/linear/linear_model.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

struct mm_samples {
  maxmargin::MatrixView view;
  maxmargin::SampleMatrix copy; // of what has gaps
};

struct mm_options {
  std::string estimator;
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<double> class_weight;
  mm_progress_function progress = nullptr;
  void* user = nullptr;
};

struct mm_model {
  // What is proved of one function, by name.
  using Proof = std::map<std::string, double, std::less<>>;

  std::variant<maxmargin::KernelModel, maxmargin::LinearModel> model;
  std::vector<double> labels; // of classes
  std::vector<Proof> proofs;  // by function; empty: read from a file
};

namespace maxmargin::c {

inline bool is_pair(const KernelModel& model) {
  return model.parts().n_classes() == 2;
}

// Whether it predicts numbers of classes. Models that were read from a file predict labels.
inline bool predicts_numbers(const mm_model& model) {
  const auto* kernel = std::get_if<KernelModel>(&model.model);
  return !model.labels.empty() && (kernel == nullptr || kernel->parts().labels.empty());
}

struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Keeps the message for mm_last_error, and returns the status, of the exception in flight.
mm_status status_of_exception() noexcept;

template <class Do> mm_status guarded(const Do& work) noexcept {
  try {
    work();
    return MM_OK;
  } catch (...) {
    return status_of_exception();
  }
}

template <class T> T& not_null(T* pointer, const char* name) {
  if (pointer == nullptr) throw InvalidArgument(std::string(name) + " must not be NULL");
  return *pointer;
}

mm_model fit(const mm_options& options, const MatrixView& X, std::span<const double> y,
             std::span<const double> weight);

} // namespace maxmargin::c
