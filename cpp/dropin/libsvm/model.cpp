#include "dropin/libsvm/model.hpp"

#include "dropin/guarded.hpp"
#include "dropin/libsvm/packed_vectors.hpp"
#include "dropin/libsvm/validation.hpp"
#include "maxmargin/model/votes.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace maxmargin::dropin {
namespace {

template <class T> T* allocated(std::size_t n) {
  void* memory = std::calloc(std::max<std::size_t>(n, 1), sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

template <class T, class Numbers> T* copied(const Numbers& numbers) {
  T* const memory = allocated<T>(numbers.size());
  std::ranges::transform(numbers, memory, [](auto number) { return static_cast<T>(number); });
  return memory;
}

// Of a classifier, the one class.
KernelModelParts parts_of_one_class(const Classes& classes, const svm_parameter& param) {
  KernelModelParts parts;
  parts.type = static_cast<SvmType>(param.svm_type);
  parts.n_support = {0};
  parts.labels = {static_cast<double>(classes.labels.front())};
  return parts;
}

KernelModelParts train_parts(const svm_problem& problem, const svm_parameter& param) {
  const TrainingSet set(problem, param);
  const std::span<const double> y = targets_of(problem);
  const bool has_classes = param.svm_type == C_SVC || param.svm_type == NU_SVC;
  std::vector<Sigmoid> sigmoids;
  if (has_classes && param.probability != 0) sigmoids = calibrated(set, Classes(y), param);
  const Machines machines = train(set, y, param);
  if (!machines.model) return parts_of_one_class(machines.classes, param);
  KernelModelParts parts = machines.model->parts();
  parts.labels.assign(machines.classes.labels.begin(), machines.classes.labels.end());
  for (const Sigmoid& sigmoid : sigmoids) {
    parts.prob_a.push_back(sigmoid.a);
    parts.prob_b.push_back(sigmoid.b);
  }
  if (param.probability == 0 || has_classes) return parts;
  if (param.svm_type == ONE_CLASS) {
    const std::vector<double> values = machines.values(set.view());
    parts.density_marks = density_marks(values, std::vector<double>(values.size(), 1.0));
    return parts;
  }
  svm_parameter plain = param;
  plain.probability = 0;
  std::vector<double> errors = cross_validated(set, y, plain, 5);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = y[i] - errors[i];
  parts.noise_scale = noise_scale(errors);
  printer()("Prob. model for test data: target value = predicted value + z,\nz: Laplace "
            "distribution e^(-|z|/sigma)/(2sigma),sigma= %g\n",
            *parts.noise_scale);
  return parts;
}

} // namespace

ModelPointer model_of(const KernelModelParts& parts, const svm_parameter& param) {
  ModelPointer model(allocated<svm_model>(1));
  const bool has_classes = is_classifier(parts.type);
  const index_t n_vectors = parts.n_support_vectors();
  model->param = param;
  model->nr_class = has_classes ? static_cast<int>(parts.n_classes()) : 2;
  model->l = static_cast<int>(n_vectors);
  model->SV = allocated<svm_node*>(static_cast<std::size_t>(n_vectors));
  const index_t n_rows_of_coef = parts.n_coef_rows();
  model->sv_coef = allocated<double*>(static_cast<std::size_t>(n_rows_of_coef));
  for (index_t row = 0; row < n_rows_of_coef; ++row)
    model->sv_coef[row] = copied<double>(std::span(parts.dual_coef)
                                             .subspan(static_cast<std::size_t>(row * n_vectors),
                                                      static_cast<std::size_t>(n_vectors)));
  model->rho = copied<double>(parts.rho);
  if (has_classes) {
    model->label = copied<int>(parts.labels);
    model->nSV = copied<int>(parts.n_support);
  }
  if (!parts.prob_a.empty()) {
    model->probA = copied<double>(parts.prob_a);
    model->probB = copied<double>(parts.prob_b);
  }
  if (parts.noise_scale) model->probA = copied<double>(std::vector{*parts.noise_scale});
#if MAXMARGIN_LAYOUT >= 330
  if (!parts.density_marks.empty()) model->prob_density_marks = copied<double>(parts.density_marks);
#endif
  return model;
}

svm_model* released(ModelPointer model) {
  if (model->param.kernel_type != PRECOMPUTED && model->l > 0)
    live_models().add(model->SV, std::make_unique<const PackedVectors>(*model));
  return model.release();
}

} // namespace maxmargin::dropin

using namespace maxmargin::dropin;

svm_model* svm_train(const svm_problem* problem, const svm_parameter* param) {
  return guarded<svm_model*>(nullptr, [&]() -> svm_model* {
    if (const char* fault = fault_of(problem, param)) {
      printer()("ERROR: %s\n", fault);
      return nullptr;
    }
    const maxmargin::KernelModelParts parts = train_parts(*problem, *param);
    ModelPointer model = model_of(parts, *param);
    model->sv_indices = copied<int>(parts.support);
    for (int k = 0; k < model->l; ++k) {
      model->SV[k] = problem->x[model->sv_indices[k]];
      ++model->sv_indices[k];
    }
    return released(std::move(model));
  });
}

void svm_cross_validation(const svm_problem* problem, const svm_parameter* param, int nr_fold,
                          double* target) {
  if (problem == nullptr || target == nullptr || problem->l <= 0) return;
  std::fill_n(target, problem->l,
              std::numeric_limits<double>::quiet_NaN()); // what a failure leaves
  guarded(0, [&] {
    if (const char* fault = fault_of(problem, param)) {
      printer()("ERROR: %s\n", fault);
      return 0;
    }
    const TrainingSet set(*problem, *param);
    std::ranges::copy(cross_validated(set, targets_of(*problem), *param, nr_fold), target);
    return 0;
  });
}

void svm_free_model_content(svm_model* model) {
  if (model == nullptr) return;
  live_models().drop(model->SV);
  if (model->free_sv != 0 && model->l > 0 && model->SV != nullptr) std::free(model->SV[0]);
  for (int row = 0; model->sv_coef != nullptr && row < model->nr_class - 1; ++row)
    std::free(model->sv_coef[row]);
  const auto release = [](auto*& memory) {
    std::free(memory);
    memory = nullptr;
  };
  release(model->SV);
  release(model->sv_coef);
  release(model->rho);
  release(model->label);
  release(model->probA);
  release(model->probB);
  release(model->sv_indices);
  release(model->nSV);
#if MAXMARGIN_LAYOUT >= 330
  release(model->prob_density_marks);
#endif
}

void svm_free_and_destroy_model(svm_model** model) {
  if (model == nullptr || *model == nullptr) return;
  svm_free_model_content(*model);
  std::free(*model);
  *model = nullptr;
}

int svm_get_svm_type(const svm_model* model) {
  return model->param.svm_type;
}

int svm_get_nr_class(const svm_model* model) {
  return model->nr_class;
}

void svm_get_labels(const svm_model* model, int* label) {
  if (model->label != nullptr) std::copy_n(model->label, model->nr_class, label);
}

void svm_get_sv_indices(const svm_model* model, int* sv_indices) {
  if (model->sv_indices != nullptr) std::copy_n(model->sv_indices, model->l, sv_indices);
}

int svm_get_nr_sv(const svm_model* model) {
  return model->l;
}

double svm_get_svr_probability(const svm_model* model) {
  const int type = model->param.svm_type;
  const bool is_regression = type == EPSILON_SVR || type == NU_SVR;
  return is_regression && model->probA != nullptr ? model->probA[0] : 0.0;
}

int svm_check_probability_model(const svm_model* model) {
  const int type = model->param.svm_type;
#if MAXMARGIN_LAYOUT >= 330
  if (type == ONE_CLASS) return model->prob_density_marks != nullptr;
#endif
  if (type == C_SVC || type == NU_SVC) return model->probA != nullptr && model->probB != nullptr;
  return (type == EPSILON_SVR || type == NU_SVR) && model->probA != nullptr;
}
