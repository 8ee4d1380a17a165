/* The C interface of maxmargin: large-margin classifiers, C99.
 *
 * Functions that may fail return MM_OK, which is 0, or another mm_status;
 * mm_last_error() then says what was wrong. On failure nothing is stored through pointers to
 * results, and nothing must be freed. Handles may be used from any thread; those that a function
 * takes as const, from many threads at once. Only mm_options_set_* change a handle.
 */
#ifndef MAXMARGIN_H
#define MAXMARGIN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define MM_API __attribute__((visibility("default")))
#else
#define MM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mm_status {
  MM_OK = 0,
  MM_INVALID_ARGUMENT = 1, /* the message names the argument, its value and what is allowed */
  MM_NUMERIC_ERROR = 2,    /* a number left the range of float64 */
  MM_CANCELLED = 3,        /* by mm_options_set_progress */
  MM_NO_MEMORY = 4,
  MM_FILE_ERROR = 5, /* the message names the file */
  MM_INTERNAL_ERROR = 6
} mm_status;

/* What was wrong in the last function of the calling thread that failed; "" before any. Valid until
 * the next one fails. */
MM_API const char* mm_last_error(void);

/* "0.2.0" */
MM_API const char* mm_version(void);

/* ---- Samples: views of memory that the caller owns ---- */

/* They are checked once, here: keep the memory as it is until mm_samples_free. A model does not need
 * those that it was trained on. */

typedef struct mm_samples mm_samples;

typedef enum mm_type { MM_FLOAT32 = 0, MM_FLOAT64 = 1, MM_INT32 = 2, MM_INT64 = 3 } mm_type;

/* Element (i, j) stands i * row_stride + j * column_stride elements behind the first. Rows without
 * gaps (column_stride 1, row_stride n_features) are read in place; others are copied once. */
MM_API mm_status mm_samples_dense(const void* values, mm_type type, int64_t n_rows,
                                  int64_t n_features, int64_t row_stride, int64_t column_stride,
                                  mm_samples** samples);

/* Compressed sparse rows, read in place: in each row the indices ascend strictly, from 0. `indptr`
 * has n_rows + 1 elements of the type of the indices. */
MM_API mm_status mm_samples_csr(const void* values, mm_type type, const void* indices,
                                const void* indptr, mm_type index_type, int64_t n_rows,
                                int64_t n_features, mm_samples** samples);

MM_API void mm_samples_free(mm_samples* samples);

/* ---- Options, by name and value ---- */

typedef struct mm_options mm_options;

/* Of an estimator: "svc", "nu_svc", "svr", "nu_svr", "one_class", "linear_svc", "linear_svr",
 * "perceptron" or "sgd". */
MM_API mm_status mm_options_new(const char* estimator, mm_options** options);
MM_API void mm_options_free(mm_options* options);

/* The names and meanings are those of the parameters in Python, and the defaults too, but for
 * gamma: 1 / n_features.
 *
 * numbers  C, nu, epsilon, tol, max_iter, time_limit (seconds), n_jobs (threads; 0: all);
 *          of kernel machines gamma, coef0, degree, cache_size (MB), shrinking (0 or 1);
 *          of linear machines intercept_scaling, fit_intercept (0 or 1), random_state;
 *          of the perceptron and sgd fit_intercept, eta0, alpha, l1_ratio, average, shuffle,
 *          random_state, n_iter_no_change; of sgd power_t, batch_size (0: all)
 * texts    kernel: "linear", "poly", "rbf", "sigmoid", "laplacian", "chi_squared" or
 *          "histogram_intersection"; loss; penalty: "l1", "l2" or, of the perceptron and sgd,
 *          "elasticnet" or "none"; learning_rate of sgd
 *
 * An estimator refuses what it does not have. */
MM_API mm_status mm_options_set_number(mm_options* options, const char* name, double value);
MM_API mm_status mm_options_set_text(mm_options* options, const char* name, const char* value);

/* Factors of C for the n classes in the ascending order of their labels. */
MM_API mm_status mm_options_set_class_weight(mm_options* options, const double* weight, size_t n);

typedef struct mm_progress {
  int64_t n_iter;
  double violation; /* the KKT violation, or the relative duality gap of linear machines */
  double dual_objective;
  double seconds;
} mm_progress;

/* Called about 20 times a second by the thread that called mm_fit; another result than 0 ends the
 * training with MM_CANCELLED. */
typedef int (*mm_progress_function)(const mm_progress* progress, void* user);
MM_API mm_status mm_options_set_progress(mm_options* options, mm_progress_function function,
                                         void* user);

/* ---- Models ---- */

typedef struct mm_model mm_model;

/* `y` has a label, or target, for each row (NULL for "one_class"), `weight` a factor of C, or is
 * NULL: 1 each. A row of weight 0 is left out. */
MM_API mm_status mm_fit(const mm_options* options, const mm_samples* X, const double* y,
                        const double* weight, mm_model** model);
MM_API void mm_model_free(mm_model* model);

/* LIBSVM's model files, of linear machines LIBLINEAR's, and the same in memory. LIBSVM's do not hold
 * the number of features: of a model that is loaded it is that of the last one which a support
 * vector has. They hold labels that are integers. */
MM_API mm_status mm_model_save(const mm_model* model, const char* path);
MM_API mm_status mm_model_load(const char* path, mm_model** model);
MM_API mm_status mm_model_to_text(const mm_model* model, char** text, size_t* length);
MM_API mm_status mm_model_from_text(const char* text, size_t length, mm_model** model);
MM_API void mm_text_free(char* text);

/* "features", "classes", "functions" (decision values of a sample), "support_vectors". */
MM_API mm_status mm_model_count(const mm_model* model, const char* name, int64_t* count);

/* Arrays of the model, valid as long as it is: "labels", ascending, but those of a linear machine
 * from a file, which stand as in it; of kernel machines "rho" and
 * "dual_coef", in LIBSVM's sign and order; of linear machines "coef", a row for each function, and
 * "intercept". */
MM_API mm_status mm_model_array(const mm_model* model, const char* name, const double** values,
                                size_t* length);

/* What is proved of a fitted model, by function: "primal_objective", "dual_objective" (maximised),
 * "duality_gap", "kkt_violation" (of kernel machines), "n_iter", "seconds", "converged" (0 or 1). Of
 * sgd "primal_objective", "n_iter" and "converged", of the perceptron the last two. */
MM_API mm_status mm_model_certificate(const mm_model* model, int64_t function, const char* name,
                                      double* value);

/* For each row: the label, the target, or 1 and -1 of a one-class machine. */
MM_API mm_status mm_predict(const mm_model* model, const mm_samples* X, int n_threads, double* out);

/* For each row `functions` decision values. Of two classes there is one, positive for the second
 * label; of more, one for each class (linear machines), or for all pairs (0, 1), (0, 2) .. (1, 2) ..
 * of classes, positive for the first (kernel machines). */
MM_API mm_status mm_decision_values(const mm_model* model, const mm_samples* X, int n_threads,
                                    double* out);

/* ---- One row at a time ---- */

/* A model packed for rows that come one by one. It is immutable, and stays as it is when the model
 * is freed. mm_predictor_row takes no lock and no memory. `type` is that of the packed support
 * vectors:
 * MM_FLOAT64  values are those of mm_decision_values
 * MM_FLOAT32  half the memory, and about half the time. Support vectors and kernel values are
 *             rounded to float32, so that a decision value is off by about 1e-6 of the sum of the
 *             magnitudes of dual_coef. Other kernels than rbf, laplacian, chi_squared and sigmoid,
 *             numbers that float32 does not hold, and linear machines stay in float64. */
typedef struct mm_predictor mm_predictor;
MM_API mm_status mm_predictor_new(const mm_model* model, mm_type type, mm_predictor** predictor);
MM_API void mm_predictor_free(mm_predictor* predictor);

/* The memory that the rows of one thread are worked at in: one handle for each thread. */
typedef struct mm_scratch mm_scratch;
MM_API mm_status mm_scratch_new(const mm_predictor* predictor, mm_scratch** scratch);
MM_API void mm_scratch_free(mm_scratch* scratch);

/* For one row of n_features numbers without gaps: the decision values, as many as the model has
 * functions, and what mm_predict gives; either may be NULL. */
MM_API mm_status mm_predictor_row(const mm_predictor* predictor, mm_scratch* scratch,
                                  const void* row, mm_type type, int64_t n_features,
                                  double* decision_values, double* predicted);

/* The same of a row by its n_stored numbers that are not 0, and their indices, which ascend
 * strictly, from 0. */
MM_API mm_status mm_predictor_sparse_row(const mm_predictor* predictor, mm_scratch* scratch,
                                         const void* values, mm_type type, const void* indices,
                                         mm_type index_type, int64_t n_stored,
                                         double* decision_values, double* predicted);

#ifdef __cplusplus
}
#endif

#endif
