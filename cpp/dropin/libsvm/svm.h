/* LIBSVM's binary interface, in the layout of version MAXMARGIN_LAYOUT: 324, or 330 and later. */
#ifndef MAXMARGIN_DROPIN_SVM_H
#define MAXMARGIN_DROPIN_SVM_H

#ifdef __cplusplus
extern "C" {
#endif

#define SVM_API __attribute__((visibility("default")))

extern SVM_API int libsvm_version;

/* An entry of a sample, whose indices ascend; index -1 ends it. Of a precomputed kernel the first
 * has index 0 and the sample's number, from 1; the entry with index k is the value with sample k. */
struct svm_node {
  int index;
  double value;
};

struct svm_problem {
  int l;
  double* y;
  struct svm_node** x;
};

enum { C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR };
enum { LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED };

struct svm_parameter {
  int svm_type, kernel_type;
  int degree;
  double gamma, coef0;
  double cache_size; /* MB */
  double eps, C;
  int nr_weight; /* factors of C, by class */
  int* weight_label;
  double* weight;
  double nu, p;
  int shrinking, probability;
};

struct svm_model {
  struct svm_parameter param;
  int nr_class; /* 2 of a regression or one-class model */
  int l;
  struct svm_node** SV;
  double** sv_coef; /* nr_class - 1 arrays of l */
  double* rho;      /* nr_class (nr_class - 1) / 2 */
  double *probA, *probB;
#if MAXMARGIN_LAYOUT >= 330
  double* prob_density_marks; /* 10, of a one-class model */
#endif
  int* sv_indices; /* from 1 */
  int *label, *nSV; /* by class */
  int free_sv;      /* whether SV[0] is the memory of all entries; else they are the problem's */
};

SVM_API struct svm_model* svm_train(const struct svm_problem*, const struct svm_parameter*);
SVM_API void svm_cross_validation(const struct svm_problem*, const struct svm_parameter*,
                                  int nr_fold, double* target);

SVM_API int svm_save_model(const char* path, const struct svm_model*);
SVM_API struct svm_model* svm_load_model(const char* path);

SVM_API int svm_get_svm_type(const struct svm_model*);
SVM_API int svm_get_nr_class(const struct svm_model*);
SVM_API void svm_get_labels(const struct svm_model*, int* label);
SVM_API void svm_get_sv_indices(const struct svm_model*, int* sv_indices);
SVM_API int svm_get_nr_sv(const struct svm_model*);
SVM_API double svm_get_svr_probability(const struct svm_model*);

SVM_API double svm_predict_values(const struct svm_model*, const struct svm_node*, double* values);
SVM_API double svm_predict(const struct svm_model*, const struct svm_node*);
SVM_API double svm_predict_probability(const struct svm_model*, const struct svm_node*,
                                       double* probabilities);

SVM_API void svm_free_model_content(struct svm_model*);
SVM_API void svm_free_and_destroy_model(struct svm_model**);
SVM_API void svm_destroy_param(struct svm_parameter*);

SVM_API const char* svm_check_parameter(const struct svm_problem*, const struct svm_parameter*);
SVM_API int svm_check_probability_model(const struct svm_model*);

SVM_API void svm_set_print_string_function(void (*print)(const char*));

/* Threads of training; 0: all. */
SVM_API void svm_set_num_threads(int n);
SVM_API int svm_get_max_threads(void);

#ifdef __cplusplus
}
#endif

#endif
