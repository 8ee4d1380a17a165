#pragma once

#include "dropin/guarded.hpp"
#include "dropin/liblinear/linear.h"
#include "dropin/print.hpp"
#include "maxmargin/base/types.hpp"

#include <cstddef>
#include <exception>
#include <memory>
#include <span>

namespace maxmargin::dropin {

Printer& printer();

// What work() returns; where it throws, `otherwise`, and the message is printed.
template <class T, class Work> T reported(T otherwise, const Work& work) noexcept {
  return guarded(otherwise, [&] {
    try {
      return work();
    } catch (const std::exception& error) {
      printer()("ERROR: %s\n", error.what());
      return otherwise;
    }
  });
}

// What some layouts lack.
bool is_bias_free(const parameter& param);
double nu_of(const parameter& param);
double rho_of(const model& model);
void set_rho(model& model, double rho);

bool is_regression(int solver);
bool is_one_class(int solver);
bool has_probabilities(int solver);

inline std::size_t n_weights(const model& model) {
  return static_cast<std::size_t>(model.nr_feature) + (model.bias >= 0.0 ? 1 : 0);
}
// The columns of w.
inline int n_functions(const model& model) {
  return model.nr_class == 2 && model.param.solver_type != MCSVM_CS ? 1 : model.nr_class;
}

inline std::span<const double> targets_of(const problem& problem) {
  return {problem.y, static_cast<std::size_t>(problem.l)};
}
inline std::span<feature_node* const> samples_of(const problem& problem) {
  return {problem.x, static_cast<std::size_t>(problem.l)};
}

// Why train would refuse it, or NULL.
const char* fault_of(const problem* problem, const parameter* param);

struct FreeModel {
  void operator()(model* model) const { free_and_destroy_model(&model); }
};
using OwnedModel = std::unique_ptr<model, FreeModel>;

// Of C's allocator, since callers may free its arrays; without labels where they are empty. Throws
// bad_alloc.
OwnedModel new_model(const parameter& param, int n_features, double bias,
                     std::span<const int> labels, std::span<const double> w);

enum class Reports { printed, none };

// Throws InvalidArgument where the problem has a fault.
void check(const problem* problem, const parameter* param);
// Of a problem without a fault, from an initial solution or NULL. Throws NumericError where numbers
// leave the range of float64.
OwnedModel trained(const problem& problem, const parameter& param, const double* start,
                   Reports reports);

// The model of an initial solution where LIBLINEAR would end its training there, or none.
OwnedModel unchanged(const problem& problem, const parameter& param, const double* start);

} // namespace maxmargin::dropin
