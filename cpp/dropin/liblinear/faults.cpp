// What is not allowed, in LIBLINEAR's words where it has some.
#include "dropin/liblinear/library.hpp"
#include "dropin/nodes.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/model/linear/liblinear_file.hpp"

namespace maxmargin::dropin {
namespace {

bool is_one_of(int solver, std::initializer_list<int> solvers) {
  return std::ranges::find(solvers, solver) != solvers.end();
}

// Each comparison is negated so that NaN is a fault.
const char* fault_of(const parameter& param, [[maybe_unused]] double bias) {
  const int solver = param.solver_type;
  if (!(param.eps > 0.0)) return "eps <= 0";
  if (!(param.C > 0.0)) return "C <= 0";
#if MAXMARGIN_LAYOUT >= 240
  if (!(param.p >= 0.0) && solver == L2R_L2LOSS_SVR) return "p < 0";
  if (bias >= 0.0 && solver == ONECLASS_SVM)
    return "prob->bias >=0, but this is ignored in ONECLASS_SVM";
  if (param.regularize_bias == 0) {
    if (bias != 1.0) return "To not regularize bias, must specify -B 1 along with -R";
    if (!is_one_of(solver, {L2R_LR, L2R_L2LOSS_SVC, L1R_L2LOSS_SVC, L1R_LR, L2R_L2LOSS_SVR}))
      return "-R option supported only for solver L2R_LR, L2R_L2LOSS_SVC, L1R_L2LOSS_SVC, L1R_LR, "
             "and L2R_L2LOSS_SVR";
  }
  constexpr bool has_one_class = true;
  constexpr const char* kNoStart =
      "Initial-solution specification supported only for solvers L2R_LR, L2R_L2LOSS_SVC, and "
      "L2R_L2LOSS_SVR";
  const bool may_start = is_one_of(solver, {L2R_LR, L2R_L2LOSS_SVC, L2R_L2LOSS_SVR});
#else
  if (!(param.p >= 0.0)) return "p < 0";
  constexpr bool has_one_class = false;
  constexpr const char* kNoStart =
      "Initial-solution specification supported only for solver L2R_LR and L2R_L2LOSS_SVC";
  const bool may_start = is_one_of(solver, {L2R_LR, L2R_L2LOSS_SVC});
#endif
  if (!is_liblinear_solver(solver) || (!has_one_class && solver == ONECLASS_SVM))
    return "unknown solver type";
  if (param.init_sol != nullptr && !may_start) return kNoStart;
#if MAXMARGIN_LAYOUT >= 248
  if (param.w_recalc && !is_one_of(solver, {L2R_L2LOSS_SVC_DUAL, L2R_L1LOSS_SVC_DUAL}))
    return "Recalculating w in the end is only for dual solvers for L2-regularized L1/L2-loss SVM";
#endif
  return nullptr;
}

const char* fault_of(const problem& problem) {
  if (problem.l <= 0) return "there are no samples";
  if (problem.n < (problem.bias >= 0.0 ? 1 : 0)) return "there are no features";
  if (problem.x == nullptr || problem.y == nullptr) return "the problem has no arrays";
  if (!std::isfinite(problem.bias)) return "the bias is not finite";
  if (!all_finite(targets_of(problem))) return "a target is not finite";
  const char* const fault = fault_in(samples_of(problem));
  if (fault != nullptr) return fault;
  for (const feature_node* row : samples_of(problem)) {
    bool is_outside = false;
    for_nodes(
        row, [&](int index, double) { is_outside = is_outside || index < 1 || index > problem.n; });
    if (is_outside) return "an index is below 1 or above the number of features";
  }
  return nullptr;
}

} // namespace

const char* fault_of(const problem* problem, const parameter* param) {
  if (problem == nullptr || param == nullptr) return "the problem or parameters are NULL";
  const char* const fault = fault_of(*param, problem->bias);
  if (fault != nullptr) return fault;
  if (param->nr_weight > 0 && (param->weight_label == nullptr || param->weight == nullptr))
    return "the weights of classes are NULL";
  for (int k = 0; k < param->nr_weight; ++k)
    if (!(param->weight[k] >= 0.0 && std::isfinite(param->weight[k])))
      return "the weight of a class is negative or not finite";
  return fault_of(*problem);
}

void check(const problem* problem, const parameter* param) {
  if (const char* const fault = fault_of(problem, param)) throw InvalidArgument(fault);
}

} // namespace maxmargin::dropin

const char* check_parameter(const problem* problem, const parameter* param) {
  return maxmargin::dropin::fault_of(problem, param);
}
