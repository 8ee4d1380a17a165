#pragma once

#include "maxmargin/base/types.hpp"

#include <array>
#include <limits>
#include <string>
#include <string_view>

// Every option: who has it, what it may be and what it is unless it is set. A test compares
// maxmargin.h.
namespace maxmargin::c {

using Owners = unsigned; // a bit for each
constexpr std::array<std::string_view, 10> kOwners = {
    "svc",        "nu_svc",     "svr",        "nu_svr", "one_class",
    "linear_svc", "linear_svr", "perceptron", "sgd",    "prediction"};
enum : Owners {
  kSvc = 1,
  kNuSvc = 2,
  kSvr = 4,
  kNuSvr = 8,
  kOneClass = 16,
  kLinearSvc = 32,
  kLinearSvr = 64,
  kPerceptron = 128,
  kSgd = 256,
  kPrediction = 512,
  kKernel = kSvc | kNuSvc | kSvr | kNuSvr | kOneClass,
  kLinear = kLinearSvc | kLinearSvr,
  kOnline = kPerceptron | kSgd,
  kWithClassWeights = kSvc | kNuSvc | kLinearSvc | kOnline
};

inline constexpr double kAny = std::numeric_limits<double>::max(); // finite
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kMostInteger = 0x1p53;

enum class Range { from, above, integer }; // `least` may be the value, may not, and so may integers

struct NumberOption {
  std::string_view name;
  Owners of;
  Range range;
  double least, most;
  double otherwise; // NaN: 1 / n_features
  std::string_view meaning;
};
inline constexpr NumberOption kNumbers[] = {
    {"C", kSvc | kSvr | kNuSvr, Range::above, 0.0, kInfinity, 1.0, "cost; infinity: hard margin"},
    {"C", kLinear, Range::above, 0.0, kAny, 1.0, "cost of the loss"},
    {"nu", kNuSvc | kNuSvr | kOneClass, Range::above, 0.0, 1.0, 0.5, "share of support vectors"},
    {"epsilon", kSvr, Range::from, 0.0, kInfinity, 0.1, "half width of the tube, in units of y"},
    {"epsilon", kLinearSvr, Range::from, 0.0, kInfinity, 0.0, "the same"},
    {"gamma", kKernel, Range::above, 0.0, kAny, std::numeric_limits<double>::quiet_NaN(),
     "factor in the kernel"},
    {"coef0", kKernel, Range::from, -kAny, kAny, 0.0, "summand in poly and sigmoid"},
    {"degree", kKernel, Range::integer, 0.0, 1e4, 3.0, "power of poly"},
    {"cache_size", kKernel, Range::above, 0.0, 0x1p43, 200.0, "MB of kernel rows"},
    {"shrinking", kKernel, Range::integer, 0.0, 1.0, 1.0, "0: no"},
    {"tol", kKernel, Range::above, 0.0, kAny, 1e-3, "KKT violation, in units of f"},
    {"tol", kLinear, Range::above, 0.0, kAny, 1e-4, "duality gap / primal objective"},
    {"tol", kOnline, Range::from, 0.0, kInfinity, 1e-3, "progress of a pass, of the mean loss"},
    {"max_iter", kKernel | kLinear, Range::integer, -1.0, kMostInteger, -1.0,
     "steps or passes; -1: the solver's own"},
    {"max_iter", kOnline, Range::integer, 1.0, kMostInteger, 1000.0, "passes"},
    {"n_iter_no_change", kOnline, Range::integer, 1.0, kMostInteger, 5.0,
     "passes below tol that end it"},
    {"time_limit", kKernel | kLinear, Range::above, 0.0, kInfinity, kInfinity, "seconds"},
    {"n_jobs", kKernel | kLinear | kOnline | kPrediction, Range::integer, 0.0, 4096.0, 0.0,
     "threads; 0: all"},
    {"fit_intercept", kLinear | kOnline, Range::integer, 0.0, 1.0, 1.0, "0: no"},
    {"intercept_scaling", kLinear, Range::above, 0.0, kInfinity, 1.0,
     "infinity: intercept without penalty"},
    {"random_state", kLinear | kOnline, Range::integer, 0.0, kMostInteger, 0.0,
     "seed of the order"},
    {"eta0", kPerceptron, Range::above, 0.0, kAny, 1.0, "step size"},
    {"eta0", kSgd, Range::above, 0.0, kAny, 0.01, "first step size"},
    {"alpha", kOnline, Range::from, 0.0, kAny, 1e-4, "factor of the penalty"},
    {"l1_ratio", kOnline, Range::from, 0.0, 1.0, 0.15, "share of l1 in elasticnet"},
    {"average", kOnline, Range::integer, 0.0, kMostInteger, 0.0, "step to average from; 0: none"},
    {"shuffle", kOnline, Range::integer, 0.0, 1.0, 1.0, "0: no"},
    {"power_t", kSgd, Range::from, -kAny, kAny, 0.5, "exponent of invscaling"},
    {"batch_size", kSgd, Range::integer, 0.0, kMostInteger, 1.0, "rows a step; 0: all"},
};

inline constexpr std::string_view kKernels =
    "linear poly rbf sigmoid laplacian chi_squared histogram_intersection";
struct TextOption {
  std::string_view name;
  Owners of;
  std::string_view choices; // the words
  std::string_view otherwise;
};
inline constexpr TextOption kTexts[] = {
    {"kernel", kKernel, kKernels, "rbf"},
    {"loss", kSvc, "hinge squared_hinge", "hinge"},
    {"loss", kLinearSvc, "hinge squared_hinge", "squared_hinge"},
    {"loss", kLinearSvr, "epsilon_insensitive squared_epsilon_insensitive", "epsilon_insensitive"},
    {"loss", kSgd, "hinge squared_hinge perceptron", "hinge"},
    {"penalty", kLinearSvc, "l2 l1", "l2"},
    {"penalty", kPerceptron, "none l2 l1 elasticnet", "none"},
    {"penalty", kSgd, "none l2 l1 elasticnet", "l2"},
    {"learning_rate", kSgd, "optimal pegasos constant adaptive invscaling", "optimal"},
};

// "above 0, up to 1".
std::string range_of(const NumberOption& option);
// As short as may be; "infinity".
std::string text_of(double number);

} // namespace maxmargin::c
