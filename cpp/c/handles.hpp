#pragma once

#include "c/maxmargin.h"
#include "maxmargin/base/control.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/kernel_model.hpp"
#include "maxmargin/model/linear/linear_model.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct mm_samples {
  maxmargin::MatrixView view; // dense: of the first elements of rows, where they stand apart
  maxmargin::index_t column_stride = 1;
};

struct mm_options {
  std::string estimator;
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<double> class_weight;
  mm_progress_function progress = nullptr;
  void* progress_user = nullptr;
  mm_log_function log = nullptr;
  void* log_user = nullptr;
};

struct mm_model {
  // What is proved of one function, by name, and what ended its training.
  struct Proof {
    std::map<std::string, double, std::less<>> numbers;
    std::string_view ended_by;
  };

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

inline std::string quoted(std::string_view name) {
  return std::string("'").append(name).append("'");
}

// Throws InvalidArgument, with the first that is not, unless all are finite, and at least 0 of a
// weight; `place` says what each stands for, as "row".
enum class Sign { any, not_negative };
void check_numbers(std::string_view name, std::span<const double> numbers, Sign sign,
                   std::string_view place);

// The value of an option, its word, and the place of that among the choices.
double number_of(const mm_options& options, std::string_view name);
std::string_view word_of(const mm_options& options, std::string_view name);
std::size_t choice_of(const mm_options& options, std::string_view name);
std::string settings_of(const mm_options& options); // all of them, to be read
Control control_of(const mm_options* options);      // of a call; NULL: without a hook
// The threads of a call; NULL: all. Throws InvalidArgument where MAXMARGIN_NUM_THREADS is not a
// number, however few threads the call would take.
int threads_of(const mm_options* options);
void log(const mm_options& options, mm_log_level level, const std::string& text);

// Calls work(X, begin) with rows [begin, begin + n_rows(X)): all of them where they are read in
// place, else copies of as many as a few MB hold.
void for_blocks(const mm_samples& samples,
                const std::function<void(const MatrixView& X, index_t begin)>& work);
// All rows: in place, or the copy.
MatrixView whole(const mm_samples& samples, SampleMatrix& copy);

mm_model fit(const mm_options& options, const MatrixView& X, std::span<const double> y,
             std::span<const double> weight, Control& control);
// Logs how a fit ended that gave no model.
void report_failure(const mm_options& options, const std::exception& error, double seconds);

} // namespace maxmargin::c
