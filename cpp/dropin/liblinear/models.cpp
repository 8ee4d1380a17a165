// Models as structs: their memory, and what callers ask of them.
#include "dropin/liblinear/library.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace maxmargin::dropin {
namespace {

template <class T> T* copy_of(std::span<const T> values) {
  if (values.empty()) return nullptr;
  auto* const copy = static_cast<T*>(std::malloc(values.size_bytes()));
  if (copy == nullptr) throw std::bad_alloc();
  std::ranges::copy(values, copy);
  return copy;
}

// The weight in row `place` of a function; the second of two classes has the first one's with the
// other sign.
double weight(const model& model, int place, int label_idx) {
  if (place < 0 || static_cast<std::size_t>(place) >= n_weights(model)) return 0.0;
  const int solver = model.param.solver_type;
  if (is_regression(solver) || is_one_class(solver)) return model.w[place];
  if (label_idx < 0 || label_idx >= model.nr_class) return 0.0;
  const int n = n_functions(model);
  if (n == 1 && model.nr_class == 2) return label_idx == 0 ? model.w[place] : -model.w[place];
  return model.w[static_cast<std::ptrdiff_t>(place) * n + label_idx];
}

} // namespace

Printer& printer() {
  static Printer print;
  return print;
}

bool is_regression(int solver) {
  return solver == L2R_L2LOSS_SVR || solver == L2R_L2LOSS_SVR_DUAL || solver == L2R_L1LOSS_SVR_DUAL;
}

bool has_probabilities(int solver) {
  return solver == L2R_LR || solver == L2R_LR_DUAL || solver == L1R_LR;
}

#if MAXMARGIN_LAYOUT >= 240
bool is_bias_free(const parameter& param) {
  return param.regularize_bias == 0;
}
double nu_of(const parameter& param) {
  return param.nu;
}
double rho_of(const model& model) {
  return model.rho;
}
void set_rho(model& model, double rho) {
  model.rho = rho;
}
bool is_one_class(int solver) {
  return solver == ONECLASS_SVM;
}
#else
bool is_bias_free(const parameter&) {
  return false;
}
double nu_of(const parameter&) {
  return 0.0;
}
double rho_of(const model&) {
  return 0.0;
}
void set_rho(model&, double) {}
bool is_one_class(int) {
  return false;
}
#endif

OwnedModel new_model(const parameter& param, int n_features, double bias,
                     std::span<const int> labels, std::span<const double> w) {
  OwnedModel made(static_cast<model*>(std::calloc(1, sizeof(model))));
  if (!made) throw std::bad_alloc();
  made->param = param;
  made->nr_feature = n_features;
  made->bias = bias;
  made->nr_class = labels.empty() ? 2 : static_cast<int>(labels.size());
  made->label = copy_of(labels);
  made->w = copy_of(w);
  return made;
}

} // namespace maxmargin::dropin

using namespace maxmargin::dropin;

int liblinear_version = MAXMARGIN_LAYOUT;

int get_nr_feature(const model* model) {
  return model->nr_feature;
}

int get_nr_class(const model* model) {
  return model->nr_class;
}

void get_labels(const model* model, int* label) {
  if (model->label != nullptr) std::copy_n(model->label, model->nr_class, label);
}

double get_decfun_coef(const model* model, int feat_idx, int label_idx) {
  return feat_idx > model->nr_feature ? 0.0 : weight(*model, feat_idx - 1, label_idx);
}

double get_decfun_bias(const model* model, int label_idx) {
  if (is_one_class(model->param.solver_type)) {
    printer()("ERROR: get_decfun_bias can not be called for a one-class SVM model\n");
    return 0.0;
  }
  return model->bias > 0.0 ? model->bias * weight(*model, model->nr_feature, label_idx) : 0.0;
}

#if MAXMARGIN_LAYOUT >= 240
double get_decfun_rho(const model* model) {
  if (!is_one_class(model->param.solver_type))
    printer()("ERROR: get_decfun_rho can be called only for a one-class SVM model\n");
  return is_one_class(model->param.solver_type) ? model->rho : 0.0;
}

int check_oneclass_model(const model* model) {
  return is_one_class(model->param.solver_type);
}
#endif

int check_probability_model(const model* model) {
  return has_probabilities(model->param.solver_type);
}

int check_regression_model(const model* model) {
  return is_regression(model->param.solver_type);
}

void free_model_content(model* model) {
  if (model == nullptr) return;
  std::free(model->w);
  std::free(model->label);
  model->w = nullptr;
  model->label = nullptr;
}

void free_and_destroy_model(model** model) {
  if (model == nullptr) return;
  free_model_content(*model);
  std::free(*model);
  *model = nullptr;
}

void destroy_param(parameter* param) {
  if (param == nullptr) return;
  for (void* array : {static_cast<void*>(param->weight_label), static_cast<void*>(param->weight),
                      static_cast<void*>(param->init_sol)})
    std::free(array);
  param->weight_label = nullptr;
  param->weight = param->init_sol = nullptr;
}

void set_print_string_function(void (*print)(const char*)) {
  printer().set(print);
}
