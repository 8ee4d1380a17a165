#include "dropin/classes.hpp"
#include "dropin/liblinear/library.hpp"
#include "dropin/nodes.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"
#include "maxmargin/svm/single_machine.hpp"

#include <cmath>

namespace maxmargin::dropin {
namespace {

// Of the relative duality gap for LIBLINEAR's eps, which bounds gradients. Its defaults, 0.1 of dual
// methods and 0.01 of those in the primal, then ask for 0.001 and 0.0001, by which objectives of
// a9a, usps and covtype are LIBLINEAR's or less, within 1e-4 of them.
constexpr double kGapOfEps = 0.01;
// Of all classes jointly, where LIBLINEAR's eps bounds less: of usps, -s 4, its objective is 125.20,
// and 121.05 by the gap above, in 1.3 times its time, and 121.93 by this one, in 0.85.
constexpr double kJointGapOfEps = 0.1;
constexpr double kLeastGap = 1e-10;
// From such a share of entries on, samples are held with their zeros: with the hinge, 1100 x 520 full
// at 0.6 take 125 ms so and 329 ms without; 3000 x 100 full at 0.3 take 12 and 13 ms, at 0.6 14 and 15.
constexpr double kFullShare = 0.5;

// The samples of a problem as the core reads them. Where every one ends with the bias, that is the
// intercept's, else a feature like others.
class Samples {
 public:
  explicit Samples(const problem& problem)
      : sparse_(matrix_of<Repeated::added>(samples_of(problem)).rows) {
    require(all_finite(sparse_.values), "the sum of a sample's values of one index is not finite");
    sparse_.cols = problem.n;
    has_intercept_ = problem.bias > 0.0 && ends_with(problem.bias);
    if (has_intercept_) drop_last_entries();
    const auto n_all = static_cast<double>(sparse_.rows()) * static_cast<double>(sparse_.cols);
    if (static_cast<double>(sparse_.values.size()) >= kFullShare * n_all) fill();
  }

  bool has_intercept() const { return has_intercept_; }
  MatrixView view() const {
    return dense_.values.empty() ? MatrixView(sparse_.view()) : MatrixView(dense_.view());
  }

 private:
  bool ends_with(double bias) const {
    for (std::size_t i = 1; i < sparse_.indptr.size(); ++i) {
      const auto end = static_cast<std::size_t>(sparse_.indptr[i]);
      if (sparse_.indptr[i] == sparse_.indptr[i - 1] ||
          sparse_.indices[end - 1] != sparse_.cols - 1 || sparse_.values[end - 1] != bias)
        return false;
    }
    return true;
  }

  void drop_last_entries() {
    std::size_t kept = 0, begin = 0;
    for (std::size_t i = 1; i < sparse_.indptr.size(); ++i) {
      const auto end = static_cast<std::size_t>(sparse_.indptr[i]);
      for (std::size_t e = begin; e + 1 < end; ++e, ++kept) {
        sparse_.indices[kept] = sparse_.indices[e];
        sparse_.values[kept] = sparse_.values[e];
      }
      begin = end;
      sparse_.indptr[i] = static_cast<std::int64_t>(kept);
    }
    sparse_.indices.resize(kept);
    sparse_.values.resize(kept);
    --sparse_.cols;
  }

  void fill() {
    dense_ = {{}, sparse_.rows(), sparse_.cols};
    dense_.values.assign(static_cast<std::size_t>(dense_.rows * dense_.cols), 0.0);
    for (index_t i = 0; i < dense_.rows; ++i) {
      const auto values = sparse_.view().row_values(i);
      const auto indices = sparse_.view().row_indices(i);
      double* const row = dense_.values.data() + i * dense_.cols;
      for (std::size_t e = 0; e < values.size(); ++e) row[indices[e]] = values[e];
    }
  }

  CsrSamples<double, std::int64_t> sparse_;
  DenseSamples<double> dense_;
  bool has_intercept_ = false;
};

linear::LinearFormulation formulation_of(const parameter& param, double intercept_scaling) {
  using linear::LinearLoss;
  linear::LinearFormulation formulation;
  formulation.intercept_scaling = intercept_scaling;
  formulation.epsilon = param.p;
  switch (param.solver_type) {
  case L2R_LR:
  case L2R_LR_DUAL:
  case L1R_LR:
    formulation.loss = LinearLoss::logistic;
    break;
  case L2R_L1LOSS_SVC_DUAL:
    formulation.loss = LinearLoss::hinge;
    break;
  case MCSVM_CS:
    formulation.is_multiclass = true;
    break;
  case L2R_L2LOSS_SVR:
  case L2R_L2LOSS_SVR_DUAL:
    formulation.loss = LinearLoss::squared_epsilon_insensitive;
    break;
  case L2R_L1LOSS_SVR_DUAL:
    formulation.loss = LinearLoss::epsilon_insensitive;
    break;
  default:
    break;
  }
  if (param.solver_type == L1R_L2LOSS_SVC || param.solver_type == L1R_LR)
    formulation.penalty = linear::Penalty::l1;
  return formulation;
}

void report(const std::vector<linear::LinearOutcome>& outcomes) {
  for (const linear::LinearOutcome& outcome : outcomes) {
    printer()("optimization finished, #iter = %lld\nObjective value = %f\n",
              static_cast<long long>(outcome.n_iter), outcome.primal_objective);
    if (outcome.stop_reason != optim::StopReason::converged)
      printer()("WARNING: the duality gap is still %g\n", outcome.duality_gap());
  }
}

class Training {
 public:
  Training(const problem& problem, const parameter& param, Reports reports)
      : problem_(problem), param_(param), reports_(reports), samples_(problem) {
    formulation_ = formulation_of(param, intercept_scaling());
    const double gap_of_eps = param.solver_type == MCSVM_CS ? kJointGapOfEps : kGapOfEps;
    options_.tol = std::max(kLeastGap, gap_of_eps * std::min(param.eps, 1.0));
  }

  OwnedModel run() {
    if (is_one_class(param_.solver_type)) return one_class();
    if (is_regression(param_.solver_type)) return regression();
    return classification();
  }

 private:
  double intercept_scaling() const {
    if (!is_bias_free(param_)) return samples_.has_intercept() ? problem_.bias : 0.0;
    require(samples_.has_intercept(), "the bias is not the last entry of every sample");
    return std::numeric_limits<double>::infinity();
  }
  int n_features() const { return problem_.n - (problem_.bias >= 0.0 ? 1 : 0); }

  OwnedModel model_of(std::span<const int> labels, std::span<const double> w) const {
    return new_model(param_, n_features(), problem_.bias, labels, w);
  }

  // Weights with a column for each factor: of function factors.size() == 1 ? 0 : k, times a factor.
  std::vector<double> columns(const LinearTraining& trained,
                              std::span<const double> factors) const {
    const LinearModelParts& parts = trained.model.parts();
    std::vector<double> w;
    w.reserve(static_cast<std::size_t>(problem_.n) * factors.size());
    for (index_t j = 0; j < problem_.n; ++j)
      for (std::size_t k = 0; k < factors.size(); ++k) {
        const auto f = parts.n_functions() == 1 ? 0 : static_cast<index_t>(k);
        const double weight = j < parts.n_features ? parts.coef[f * parts.n_features + j]
                                                   : parts.intercept[f] / problem_.bias;
        w.push_back(factors[k] * weight);
      }
    if (reports_ == Reports::printed) report(trained.outcomes);
    return w;
  }

  OwnedModel regression() {
    const std::vector<double> weight(static_cast<std::size_t>(problem_.l), 1.0);
    const double factor = 1.0;
    const auto fits = train_linear_regression(samples_.view(), targets_of(problem_), weight,
                                              {&param_.C, 1}, formulation_, options_, control_);
    return model_of({}, columns(fits.front(), {&factor, 1}));
  }

  OwnedModel classification() {
    Classes classes(targets_of(problem_));
    std::vector<double> class_weight(classes.labels.size(), 1.0);
    for (int k = 0; k < param_.nr_weight; ++k) {
      const auto found = std::ranges::find(classes.labels, param_.weight_label[k]);
      if (found != classes.labels.end())
        class_weight[found - classes.labels.begin()] *= param_.weight[k];
      else if (reports_ == Reports::printed)
        printer()("WARNING: class label %d specified in weight is not found\n",
                  param_.weight_label[k]);
    }
    std::vector<double> factors(classes.labels.size(), 1.0);
    if (classes.labels.size() <= 2) {
      // The core's function is positive for its second class. One class stands against none.
      for (index_t& code : classes.codes) code = 1 - code;
      class_weight.resize(2, 1.0);
      std::ranges::reverse(class_weight);
      const bool is_one = classes.labels.size() == 1;
      if (formulation_.is_multiclass)
        factors = is_one ? std::vector{0.0} : std::vector{0.5, -0.5};
      else
        factors = {1.0};
    }
    const std::vector<double> weight(static_cast<std::size_t>(problem_.l), 1.0);
    const linear::ClassSamples samples{samples_.view(), classes.codes, weight, class_weight, {}, 0};
    const auto fits =
        train_linear_classifier(samples, {&param_.C, 1}, formulation_, options_, control_);
    return model_of(classes.labels, columns(fits.front(), factors));
  }

  // By the kernel machine of the linear kernel.
  OwnedModel one_class() {
    const std::vector<double> weight(static_cast<std::size_t>(problem_.l), 1.0);
    TrainingOptions options;
    options.solver.tol = param_.eps;
    const KernelFit fit = train_one_class(samples_.view(), weight, nu_of(param_),
                                          {KernelType::linear, 1.0, 0.0, 3, {}}, options, control_);
    const KernelModelParts& parts = fit.model.parts();
    std::vector<double> w(static_cast<std::size_t>(problem_.n), 0.0);
    std::visit(
        [&](const auto& vectors) {
          const auto rows = rows_of(vectors);
          for (index_t i = 0; i < vectors.rows; ++i) rows.add(i, parts.dual_coef[i], w.data());
        },
        view_of(parts.support_vectors));
    if (reports_ == Reports::printed) printer()("rho = %f\n", parts.rho.front());
    OwnedModel model = model_of({}, w);
    set_rho(*model, parts.rho.front());
    return model;
  }

  const problem& problem_;
  const parameter& param_;
  Reports reports_;
  Samples samples_;
  linear::LinearFormulation formulation_;
  linear::LinearOptions options_;
  Control control_;
};

} // namespace

OwnedModel trained(const problem& problem, const parameter& param, const double* start,
                   Reports reports) {
  if (start != nullptr)
    if (OwnedModel model = unchanged(problem, param, start)) return model;
  return Training(problem, param, reports).run();
}

} // namespace maxmargin::dropin

model* train(const problem* problem, const parameter* param) {
  using namespace maxmargin::dropin;
  return reported(static_cast<model*>(nullptr), [&] {
    check(problem, param);
    return trained(*problem, *param, param->init_sol, Reports::printed).release();
  });
}
