// The C interface under libFuzzer: samples, options and models out of its bytes, a fit of them where
// they are accepted, and predictions, whole and by row.

#include "bytes.hpp"
#include "c/maxmargin.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

template <auto free> struct Free {
  void operator()(auto* handle) const { free(handle); }
};
using Samples = std::unique_ptr<mm_samples, Free<mm_samples_free>>;
using Options = std::unique_ptr<mm_options, Free<mm_options_free>>;
using Model = std::unique_ptr<mm_model, Free<mm_model_free>>;
using Predictor = std::unique_ptr<mm_predictor, Free<mm_predictor_free>>;
using Scratch = std::unique_ptr<mm_scratch, Free<mm_scratch_free>>;

// A refusal has a message.
bool is_ok(mm_status status) {
  if (status == MM_INTERNAL_ERROR) std::abort();
  if (status != MM_OK && *mm_last_error() == '\0') std::abort();
  return status == MM_OK;
}

constexpr std::int64_t kMostRows = 24, kMostFeatures = 12;
constexpr std::array kEstimators = {"svc",        "nu_svc",     "svr",        "nu_svr", "one_class",
                                    "linear_svc", "linear_svr", "perceptron", "sgd",    "other"};
constexpr std::array kNumbers = {
    "C",         "nu",        "epsilon",           "gamma",         "coef0",        "degree",
    "tol",       "shrinking", "intercept_scaling", "fit_intercept", "random_state", "eta0",
    "alpha",     "l1_ratio",  "average",           "shuffle",       "power_t",      "batch_size",
    "cache_size"};
constexpr std::array kTexts = {"kernel", "loss", "penalty", "learning_rate"};
constexpr std::array kValues = {
    "linear",    "poly",        "rbf",           "sigmoid",
    "laplacian", "chi_squared", "hinge",         "l1",
    "l2",        "elasticnet",  "squared_hinge", "histogram_intersection",
    "pegasos",   "adaptive",    "invscaling",    "epsilon_insensitive",
    "constant",  "gauss"};

// Rows of numbers, or sparse ones with indices that may be anything.
struct Data {
  explicit Data(Bytes& bytes) {
    n = bytes.take<std::uint8_t>() % kMostRows;
    d = 1 + bytes.take<std::uint8_t>() % kMostFeatures;
    const bool is_sparse = bytes.take<std::uint8_t>() % 2 == 1;
    const auto type = static_cast<mm_type>(bytes.take<std::uint8_t>() % 4);
    mm_samples* made = nullptr;
    if (!is_sparse) {
      for (std::int64_t k = 0; k < n * d; ++k) numbers.push_back(bytes.real());
      narrow.assign(numbers.begin(), numbers.end());
      const void* const values =
          type == MM_FLOAT32 ? static_cast<const void*>(narrow.data()) : numbers.data();
      // By rows, by columns, or a part of either.
      const bool by_columns = bytes.take<std::uint8_t>() % 2 == 1;
      const std::int64_t row = by_columns ? 1 : d, column = by_columns ? n : 1;
      if (n > 0) n -= bytes.take<std::uint8_t>() % n;
      d -= bytes.take<std::uint8_t>() % d;
      is_ok(mm_samples_dense(values, type, n, d, row, column, &made));
    } else {
      indptr.push_back(0);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = bytes.number(3) % 8; k > 0 && !bytes.is_empty(); --k) {
          numbers.push_back(bytes.real());
          indices.push_back(bytes.number(d));
        }
        indptr.push_back(static_cast<std::int64_t>(numbers.size()));
      }
      is_ok(mm_samples_csr(numbers.data(), MM_FLOAT64, indices.data(), indptr.data(), MM_INT64, n,
                           d, &made));
    }
    samples.reset(made);
    for (std::int64_t i = 0; i < n; ++i) {
      y.push_back(std::floor(bytes.real()));
      weight.push_back(bytes.take<std::uint8_t>() < 200 ? 1.0 : bytes.real());
    }
  }

  std::int64_t n = 0, d = 0;
  std::vector<double> numbers, y, weight;
  std::vector<float> narrow;
  std::vector<std::int64_t> indices, indptr;
  Samples samples;
};

void predict(const mm_model& model, const Data& data, Bytes& bytes) {
  std::int64_t d = 0, n_functions = 0;
  is_ok(mm_model_count(&model, "features", &d));
  is_ok(mm_model_count(&model, "functions", &n_functions));
  if (d > 4096) return;
  std::vector<double> values(
      static_cast<std::size_t>(std::max<std::int64_t>(data.n, 1) * n_functions));
  std::vector<double> predicted(static_cast<std::size_t>(data.n) + 1);
  if (data.samples) {
    is_ok(mm_predict(&model, data.samples.get(), nullptr, predicted.data()));
    is_ok(mm_decision_values(&model, data.samples.get(), nullptr, values.data()));
  }
  mm_predictor* packed = nullptr;
  if (!is_ok(
          mm_predictor_new(&model, static_cast<mm_type>(bytes.take<std::uint8_t>() % 4), &packed)))
    return;
  const Predictor predictor(packed);
  mm_scratch* memory = nullptr;
  if (!is_ok(mm_scratch_new(packed, &memory))) return;
  const Scratch scratch(memory);
  std::vector<double> row;
  std::vector<std::int32_t> indices;
  for (std::int64_t k = 0; k < d; ++k) {
    row.push_back(bytes.real());
    indices.push_back(static_cast<std::int32_t>(bytes.number(d)));
  }
  double label = 0.0;
  is_ok(mm_predictor_row(packed, memory, row.data(), MM_FLOAT64, d, 1, values.data(), &label));
  const double* const last = row.data() + std::max<std::int64_t>(1, d) - 1;
  is_ok(mm_predictor_row(packed, memory, last, MM_FLOAT64, d, -1, values.data(), &label));
  const std::int64_t n_stored = bytes.number(d);
  if (n_stored <= d)
    is_ok(mm_predictor_sparse_row(packed, memory, row.data(), MM_FLOAT64, indices.data(), MM_INT32,
                                  n_stored, values.data(), &label));
}

void fit(Bytes& bytes) {
  mm_options* made = nullptr;
  if (!is_ok(mm_options_new(kEstimators[bytes.take<std::uint8_t>() % kEstimators.size()], &made)))
    return;
  const Options options(made);
  is_ok(mm_options_set_number(made, "time_limit", 0.1));
  is_ok(mm_options_set_number(made, "max_iter", 1000));
  is_ok(mm_options_set_number(made, "n_jobs", 1));
  for (int k = bytes.take<std::uint8_t>() % 8; k > 0; --k)
    if (bytes.take<std::uint8_t>() % 2 == 0)
      is_ok(mm_options_set_number(made, kNumbers[bytes.take<std::uint8_t>() % kNumbers.size()],
                                  bytes.real()));
    else
      is_ok(mm_options_set_text(made, kTexts[bytes.take<std::uint8_t>() % kTexts.size()],
                                kValues[bytes.take<std::uint8_t>() % kValues.size()]));
  const Data data(bytes);
  if (!data.samples) return;
  std::size_t n_logged = 0;
  const auto log = [](mm_log_level, const char* line, void* user) {
    *static_cast<std::size_t*>(user) += std::strlen(line);
  };
  is_ok(mm_options_set_log(made, log, &n_logged));
  mm_model* fitted = nullptr;
  if (!is_ok(mm_fit(made, data.samples.get(), data.y.data(), data.weight.data(), &fitted))) return;
  const Model model(fitted);
  double value = 0.0;
  is_ok(mm_model_certificate(fitted, bytes.number(3), "n_iter", &value));
  predict(*fitted, data, bytes);
}

void load(Bytes& bytes) {
  const Data data(bytes);
  const std::string text = bytes.text();
  mm_model* read = nullptr;
  if (!is_ok(mm_model_from_text(text.data(), text.size(), data.d, &read)) &&
      !is_ok(mm_model_from_text(text.data(), text.size(), 0, &read)))
    return;
  const Model model(read);
  predict(*read, data, bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  if (bytes.take<std::uint8_t>() % 4 == 0)
    load(bytes);
  else
    fit(bytes);
  return 0;
}
