#include "dropin/classes.hpp"
#include "dropin/guarded.hpp"
#include "dropin/libsvm/library.hpp"
#include "dropin/nodes.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"

#include <atomic>
#include <cstdlib>

namespace maxmargin::dropin {
namespace {

constexpr const char* kInfeasible = "specified nu is infeasible";

std::atomic<int> threads_asked{0};

bool is_nu_feasible(std::span<const double> y, double nu) {
  const auto groups = Classes(y).groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const auto a = static_cast<double>(groups[i].size());
      const auto b = static_cast<double>(groups[j].size());
      if (nu * (a + b) / 2.0 > std::min(a, b)) return false;
    }
  return true;
}

const char* parameter_fault(const svm_parameter& param) {
  const int type = param.svm_type, kernel = param.kernel_type;
  const bool has_gamma = kernel == POLY || kernel == RBF || kernel == SIGMOID;
  const bool has_C = type == C_SVC || type == EPSILON_SVR || type == NU_SVR;
  const bool has_nu = type == NU_SVC || type == ONE_CLASS || type == NU_SVR;
  if (type < C_SVC || type > NU_SVR) return "unknown svm type";
  if (kernel < LINEAR || kernel > PRECOMPUTED) return "unknown kernel type";
  // Each is negated so that NaN is a fault.
  if (has_gamma && !(param.gamma >= 0.0)) return "gamma < 0";
  if (kernel == POLY && param.degree < 0) return "degree of polynomial kernel < 0";
  if (!(param.cache_size > 0.0)) return "cache_size <= 0";
  if (!(param.eps > 0.0)) return "eps <= 0";
  if (has_C && !(param.C > 0.0)) return "C <= 0";
  if (has_nu && !(param.nu > 0.0 && param.nu <= 1.0)) return "nu <= 0 or nu > 1";
  if (type == EPSILON_SVR && !(param.p >= 0.0)) return "p < 0";
  if (param.shrinking != 0 && param.shrinking != 1) return "shrinking != 0 and shrinking != 1";
  if (param.probability != 0 && param.probability != 1)
    return "probability != 0 and probability != 1";
#if MAXMARGIN_LAYOUT < 330
  if (param.probability == 1 && type == ONE_CLASS)
    return "one-class SVM probability output not supported yet";
#endif
  return nullptr;
}

// Every sample of a precomputed kernel has a number, and values with all others at their numbers.
const char* kernel_fault(std::span<svm_node* const> rows) {
  double largest = 0.0;
  for (const svm_node* row : rows) {
    if (row->index != 0 || row->value < 1.0 || row->value != std::trunc(row->value))
      return "a sample of a precomputed kernel does not begin with 0:number";
    largest = std::max(largest, row->value);
  }
  for (const svm_node* row : rows) {
    double n = 0.0;
    for_nodes(row, [&](int, double) { ++n; });
    if (n <= largest) return "a sample of a precomputed kernel lacks values";
  }
  return nullptr;
}

// Programs ask before there are samples.
bool is_infeasible(const svm_problem* problem, const svm_parameter& param) {
  return param.svm_type == NU_SVC && problem != nullptr && problem->l > 0 &&
         problem->y != nullptr && !is_nu_feasible(targets_of(*problem), param.nu);
}

} // namespace

Printer& printer() {
  static Printer print;
  return print;
}

int training_threads() {
  return thread_count(threads_asked.load());
}

const char* fault_of(const svm_problem* problem, const svm_parameter* param) {
  if (problem == nullptr || param == nullptr) return "the problem or parameters are NULL";
  if (problem->l <= 0 || problem->x == nullptr || problem->y == nullptr)
    return "the problem has no samples";
  if (!all_finite(targets_of(*problem))) return "a target is not finite";
  if (const char* fault = parameter_fault(*param)) return fault;
  if (is_infeasible(problem, *param)) return kInfeasible;
  if (param->nr_weight > 0 && (param->weight_label == nullptr || param->weight == nullptr))
    return "the weights are NULL";
  for (int i = 0; param->svm_type == C_SVC && i < param->nr_weight; ++i)
    if (!(param->weight[i] > 0.0)) return "a weight is not positive";
  const char* fault = fault_in(samples_of(*problem));
  return fault != nullptr || param->kernel_type != PRECOMPUTED ? fault
                                                               : kernel_fault(samples_of(*problem));
}

} // namespace maxmargin::dropin

using namespace maxmargin::dropin;

int libsvm_version = MAXMARGIN_LAYOUT;

const char* svm_check_parameter(const svm_problem* problem, const svm_parameter* param) {
  if (param == nullptr) return "the parameters are NULL";
  const char* fault = parameter_fault(*param);
  if (fault != nullptr) return fault;
  return guarded("not enough memory", [&]() -> const char* {
    return is_infeasible(problem, *param) ? kInfeasible : nullptr;
  });
}

void svm_destroy_param(svm_parameter* param) {
  std::free(param->weight_label);
  std::free(param->weight);
}

void svm_set_print_string_function(void (*print)(const char*)) {
  printer().set(print);
}

void svm_set_num_threads(int n) {
  threads_asked.store(std::max(n, 0));
}

int svm_get_max_threads() {
  return training_threads();
}
