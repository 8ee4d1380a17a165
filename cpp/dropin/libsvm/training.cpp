#include "dropin/libsvm/training.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/svm/one_vs_one.hpp"
#include "maxmargin/svm/single_machine.hpp"

#include <cmath>

namespace maxmargin::dropin {
namespace {

TrainingOptions options_of(const svm_parameter& param) {
  TrainingOptions options;
  options.solver.tol = param.eps;
  options.solver.shrinking = param.shrinking != 0;
  options.cache_bytes = static_cast<std::size_t>(param.cache_size * 0x1p20);
  options.threads = training_threads();
  return options;
}

double sum_of_magnitudes(const KernelModel& model, index_t machine) {
  double sum = 0.0;
  for (const double beta : model.expansion(machine).beta) sum += std::abs(beta);
  return sum;
}

void report(const KernelFit& fit, const svm_parameter& param, const Classes& classes,
            std::span<const double> C, std::size_t n_samples) {
  const KernelModelParts& parts = fit.model.parts();
  const std::vector<ClassPair> pairs = pairs_of(parts.n_classes());
  const Printer& say = printer();
  for (index_t p = 0; p < parts.n_machines(); ++p) {
    const Certificate& certificate = fit.certificates[static_cast<std::size_t>(p)];
    say("*\noptimization finished, #iter = %lld\n", static_cast<long long>(certificate.n_iter));
    double bound = param.C, n = static_cast<double>(n_samples), other = bound;
    if (param.svm_type == C_SVC) {
      const auto [i, j] = pairs[static_cast<std::size_t>(p)];
      bound = C[static_cast<std::size_t>(i)], other = C[static_cast<std::size_t>(j)];
      n = static_cast<double>(classes.groups[static_cast<std::size_t>(i)].size() +
                              classes.groups[static_cast<std::size_t>(j)].size());
    }
    const double rho = parts.rho[static_cast<std::size_t>(p)];
    if (!parts.equivalent.empty())
      say(param.svm_type == NU_SVC ? "C = %f\n" : "epsilon = %f\n",
          parts.equivalent[static_cast<std::size_t>(p)]);
    else if (param.svm_type != ONE_CLASS && bound == other)
      say("nu = %f\n", sum_of_magnitudes(fit.model, p) / (bound * n));
    say("obj = %f, rho = %f\n", certificate.dual_objective, rho);
    say("nSV = %lld, nBSV = %lld\n",
        static_cast<long long>(certificate.n_free + certificate.n_bounded),
        static_cast<long long>(certificate.n_bounded));
  }
  if (parts.n_classes() > 0)
    say("Total nSV = %lld\n", static_cast<long long>(parts.n_support_vectors()));
}

Machines train_classifier(const TrainingSet& set, std::span<const double> y,
                          const KernelParams& kernel, const svm_parameter& param) {
  Machines trained{Classes(y), {}};
  const Classes& classes = trained.classes;
  const std::vector<double> C = bounds_of(classes, param);
  for (int i = 0; i < param.nr_weight; ++i)
    if (std::ranges::find(classes.labels, param.weight_label[i]) == classes.labels.end())
      printer()("WARNING: class label %d specified in weight is not found\n",
                param.weight_label[i]);
  if (classes.labels.size() < 2) {
    printer()("WARNING: training data in only one class. See README for details.\n");
    return trained;
  }
  SvcOptions options{options_of(param), {}, Loss::hinge, identity_order(std::ssize(C))};
  if (param.svm_type == NU_SVC) options.nu = param.nu;
  std::vector<double> bounds;
  for (const index_t code : classes.codes) bounds.push_back(C[static_cast<std::size_t>(code)]);
  Control control;
  KernelFit fit =
      train_one_vs_one(set.view(), classes.codes, std::ssize(C), bounds, kernel, options, control);
  report(fit, param, classes, C, y.size());
  trained.model.emplace(std::move(fit.model));
  return trained;
}

} // namespace

std::vector<double> bounds_of(const Classes& classes, const svm_parameter& param) {
  std::vector<double> C(classes.labels.size(), param.svm_type == C_SVC ? param.C : 1.0);
  for (int i = 0; param.svm_type == C_SVC && i < param.nr_weight; ++i) {
    const auto place = std::ranges::find(classes.labels, param.weight_label[i]);
    if (place != classes.labels.end())
      C[static_cast<std::size_t>(place - classes.labels.begin())] *= param.weight[i];
  }
  return C;
}

KernelParams kernel_of(const svm_parameter& param) {
  constexpr KernelType kTypes[] = {KernelType::linear, KernelType::polynomial, KernelType::rbf,
                                   KernelType::sigmoid, KernelType::precomputed};
  require(param.kernel_type >= LINEAR && param.kernel_type <= PRECOMPUTED, "unknown kernel type");
  return {kTypes[param.kernel_type], param.gamma, param.coef0, param.degree, {}};
}

TrainingSet::TrainingSet(const svm_problem& problem, const svm_parameter& param)
    : is_precomputed_(param.kernel_type == PRECOMPUTED) {
  const std::span<svm_node* const> rows = samples_of(problem);
  if (!is_precomputed_) {
    X_ = matrix_of<Repeated::first>(rows).rows;
    return;
  }
  DenseSamples<double> K{{}, problem.l, problem.l};
  K.values.reserve(rows.size() * rows.size());
  for (const svm_node* row : rows)
    for (const svm_node* other : rows)
      K.values.push_back(row[static_cast<int>(other->value)].value);
  X_ = std::move(K);
}

TrainingSet TrainingSet::subset(std::span<const index_t> rows) const {
  return TrainingSet(queries(rows, rows), is_precomputed_);
}

SampleMatrix TrainingSet::queries(std::span<const index_t> rows,
                                  std::span<const index_t> basis) const {
  if (!is_precomputed_) return rows_of(view(), rows);
  const auto all = std::get<DenseSamples<double>>(X_).view();
  DenseSamples<double> part{{}, std::ssize(rows), std::ssize(basis)};
  for (const index_t i : rows)
    for (const index_t j : basis) part.values.push_back(all.row(i)[j]);
  return part;
}

std::vector<double> Machines::values(const MatrixView& X) const {
  std::vector<double> values(static_cast<std::size_t>(n_rows(X) * model->parts().n_machines()));
  Control control;
  model->decision_values(X, {}, values.data(), training_threads(), control);
  return values;
}

Machines train(const TrainingSet& set, std::span<const double> y, const svm_parameter& param) {
  const KernelParams kernel = kernel_of(param);
  if (param.svm_type == C_SVC || param.svm_type == NU_SVC)
    return train_classifier(set, y, kernel, param);
  const TrainingOptions options = options_of(param);
  const std::vector<double> C(y.size(), param.svm_type == ONE_CLASS ? 1.0 : param.C);
  Control control;
  const MatrixView X = set.view();
  KernelFit fit =
      param.svm_type == ONE_CLASS     ? train_one_class(X, C, param.nu, kernel, options, control)
      : param.svm_type == EPSILON_SVR ? train_svr(X, y, C, param.p, kernel, options, control)
                                      : train_nu_svr(X, y, C, param.nu, kernel, options, control);
  const Classes none({});
  report(fit, param, none, {}, y.size());
  return {none, std::move(fit.model)};
}

} // namespace maxmargin::dropin
