/* LIBLINEAR's binary interface, in the layout of version MAXMARGIN_LAYOUT: 230, 240, or 248 and
 * later. */
#ifndef MAXMARGIN_DROPIN_LINEAR_H
#define MAXMARGIN_DROPIN_LINEAR_H

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

#define LINEAR_API __attribute__((visibility("default")))

extern LINEAR_API int liblinear_version;

/* An entry of a sample; indices count from 1, and index -1 ends it. */
struct feature_node {
  int index;
  double value;
};

/* Of n features, where the last is `bias` in every sample unless that is negative. */
struct problem {
  int l, n;
  double* y;
  struct feature_node** x;
  double bias;
};

enum {
  L2R_LR,
  L2R_L2LOSS_SVC_DUAL,
  L2R_L2LOSS_SVC,
  L2R_L1LOSS_SVC_DUAL,
  MCSVM_CS,
  L1R_L2LOSS_SVC,
  L1R_LR,
  L2R_LR_DUAL,
  L2R_L2LOSS_SVR = 11,
  L2R_L2LOSS_SVR_DUAL,
  L2R_L1LOSS_SVR_DUAL,
  ONECLASS_SVM = 21
};

struct parameter {
  int solver_type;
  double eps, C;
  int nr_weight; /* factors of C, by class */
  int* weight_label;
  double* weight;
  double p;
#if MAXMARGIN_LAYOUT >= 240
  double nu;
#endif
  double* init_sol;
#if MAXMARGIN_LAYOUT >= 240
  int regularize_bias;
#endif
#if MAXMARGIN_LAYOUT >= 248
  bool w_recalc; /* the weights are always what the dual variables sum up to */
#endif
};

struct model {
  struct parameter param;
  int nr_class; /* 2 of a regression or one-class model */
  int nr_feature;
  double* w;  /* a row for each feature, the bias last; a column for each class, of two classes one,
               * positive for label[0], but of MCSVM_CS */
  int* label; /* by class */
  double bias;
#if MAXMARGIN_LAYOUT >= 240
  double rho; /* of a one-class model */
#endif
};

LINEAR_API struct model* train(const struct problem*, const struct parameter*);
LINEAR_API void cross_validation(const struct problem*, const struct parameter*, int nr_fold,
                                 double* target);
LINEAR_API void find_parameters(const struct problem*, const struct parameter*, int nr_fold,
                                double start_C, double start_p, double* best_C, double* best_p,
                                double* best_score);

LINEAR_API double predict_values(const struct model*, const struct feature_node*, double* values);
LINEAR_API double predict(const struct model*, const struct feature_node*);
LINEAR_API double predict_probability(const struct model*, const struct feature_node*,
                                      double* probabilities);

LINEAR_API int save_model(const char* path, const struct model*);
LINEAR_API struct model* load_model(const char* path);

LINEAR_API int get_nr_feature(const struct model*);
LINEAR_API int get_nr_class(const struct model*);
LINEAR_API void get_labels(const struct model*, int* label);
LINEAR_API double get_decfun_coef(const struct model*, int feat_idx, int label_idx);
LINEAR_API double get_decfun_bias(const struct model*, int label_idx);
#if MAXMARGIN_LAYOUT >= 240
LINEAR_API double get_decfun_rho(const struct model*);
#endif

LINEAR_API void free_model_content(struct model*);
LINEAR_API void free_and_destroy_model(struct model**);
LINEAR_API void destroy_param(struct parameter*);

LINEAR_API const char* check_parameter(const struct problem*, const struct parameter*);
LINEAR_API int check_probability_model(const struct model*);
LINEAR_API int check_regression_model(const struct model*);
#if MAXMARGIN_LAYOUT >= 240
LINEAR_API int check_oneclass_model(const struct model*);
#endif

LINEAR_API void set_print_string_function(void (*print)(const char*));

#ifdef __cplusplus
}
#endif

#endif
