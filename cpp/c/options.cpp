#include "c/handles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

namespace maxmargin::c {
namespace {

using Estimators = unsigned; // a bit for each
constexpr std::array<std::string_view, 9> kEstimators = {
    "svc", "nu_svc", "svr", "nu_svr", "one_class", "linear_svc", "linear_svr", "perceptron", "sgd"};
enum : Estimators {
  kSvc = 1,
  kNuSvc = 2,
  kSvr = 4,
  kNuSvr = 8,
  kOneClass = 16,
  kLinearSvc = 32,
  kLinearSvr = 64,
  kPerceptron = 128,
  kSgd = 256,
  kKernel = kSvc | kNuSvc | kSvr | kNuSvr | kOneClass,
  kLinear = kLinearSvc | kLinearSvr,
  kOnline = kPerceptron | kSgd,
  kAll = kKernel | kLinear | kOnline
};

// A number or a text, and the estimators that have it.
struct Option {
  std::string_view name;
  Estimators of;
};
constexpr Option kNumbers[] = {
    {"C", kSvc | kSvr | kNuSvr | kLinear},
    {"nu", kNuSvc | kNuSvr | kOneClass},
    {"epsilon", kSvr | kLinearSvr},
    {"gamma", kKernel},
    {"coef0", kKernel},
    {"degree", kKernel},
    {"cache_size", kKernel},
    {"shrinking", kKernel},
    {"tol", kAll},
    {"max_iter", kAll},
    {"n_jobs", kAll},
    {"time_limit", kKernel | kLinear},
    {"intercept_scaling", kLinear},
    {"fit_intercept", kLinear | kOnline},
    {"random_state", kLinear | kOnline},
    {"eta0", kOnline},
    {"alpha", kOnline},
    {"l1_ratio", kOnline},
    {"average", kOnline},
    {"shuffle", kOnline},
    {"n_iter_no_change", kOnline},
    {"power_t", kSgd},
    {"batch_size", kSgd},
};
constexpr Option kTexts[] = {{"kernel", kKernel},
                             {"loss", kSvc | kLinear | kSgd},
                             {"penalty", kLinearSvc | kOnline},
                             {"learning_rate", kSgd}};
constexpr Estimators kWithClassWeights = kSvc | kNuSvc | kLinearSvc | kOnline;

Estimators bit_of(std::string_view estimator) {
  return 1U << (std::ranges::find(kEstimators, estimator) - kEstimators.begin());
}

std::string listed(const auto& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

void check_name(const mm_options& options, std::span<const Option> known, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : known)
    if ((option.of & bit_of(options.estimator)) != 0) names.push_back(option.name);
  require(std::ranges::find(names, name) != names.end(),
          "name: " + options.estimator + " has no '" + std::string(name) +
              "' of this type; it has " + listed(names));
}

} // namespace
} // namespace maxmargin::c

using namespace maxmargin;
using namespace maxmargin::c;

mm_status mm_options_new(const char* estimator, mm_options** options) {
  return guarded([&] {
    not_null(options, "options");
    const std::string name = &not_null(estimator, "estimator");
    require(std::ranges::find(kEstimators, name) != kEstimators.end(),
            "estimator must be one of " + listed(kEstimators) + ", got '" + name + "'");
    auto made = std::make_unique<mm_options>();
    made->estimator = name;
    *options = made.release();
  });
}

void mm_options_free(mm_options* options) {
  delete options;
}

mm_status mm_options_set_number(mm_options* options, const char* name, double value) {
  return guarded([&] {
    const std::string key = &not_null(name, "name");
    mm_options& set = not_null(options, "options");
    check_name(set, kNumbers, key);
    require(!std::isnan(value), key + " must be a number, got nan");
    set.numbers[key] = value;
  });
}

mm_status mm_options_set_text(mm_options* options, const char* name, const char* value) {
  return guarded([&] {
    const std::string key = &not_null(name, "name"), text = &not_null(value, "value");
    mm_options& set = not_null(options, "options");
    check_name(set, kTexts, key);
    set.texts[key] = text;
  });
}

mm_status mm_options_set_class_weight(mm_options* options, const double* weight, size_t n) {
  return guarded([&] {
    mm_options& set = not_null(options, "options");
    require((bit_of(set.estimator) & kWithClassWeights) != 0,
            set.estimator + " has no class weights");
    if (n > 0) not_null(weight, "weight");
    const std::span<const double> given(weight, n);
    require(std::ranges::all_of(given, [](double w) { return w >= 0.0 && std::isfinite(w); }),
            "weight must hold finite numbers of at least 0");
    set.class_weight.assign(given.begin(), given.end());
  });
}

mm_status mm_options_set_progress(mm_options* options, mm_progress_function function, void* user) {
  return guarded([&] {
    mm_options& set = not_null(options, "options");
    set.progress = function;
    set.user = user;
  });
}
