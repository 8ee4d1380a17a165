/* The C interface of maxmargin: large-margin classifiers, C99.
 *
 * Functions that may fail return MM_OK, which is 0, or another mm_status;
 * mm_last_error() then says what was wrong. On failure nothing is stored through pointers to
 * results, and nothing must be freed. Handles may be used from any thread; those that a function
 * takes as const, from many threads at once. Only mm_options_set_* change a handle.
 *
 * n_jobs 0 is as many threads as the environment variable MAXMARGIN_NUM_THREADS says, else
 * OMP_NUM_THREADS, else one for each processor that the process may use. Fits and predictions are
 * refused while MAXMARGIN_NUM_THREADS is set to anything but an integer of at least 1.
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
  MM_CANCELLED = 3,        /* by the function of mm_options_set_progress */
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

/* They are checked once, here: keep the memory as it is until mm_samples_free. A model does not
 * need those that it was trained on. */

typedef struct mm_samples mm_samples;

typedef enum mm_type { MM_FLOAT32 = 0, MM_FLOAT64 = 1, MM_INT32 = 2, MM_INT64 = 3 } mm_type;

/* Element (i, j) stands i * row_stride + j * column_stride elements behind the first. They are read
 * in place. With another column_stride than 1 that is by blocks of rows, and mm_fit has a copy
 * while it works. */
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
 * "perceptron" or "sgd"; or of a "prediction". */
MM_API mm_status mm_options_new(const char* estimator, mm_options** options);
MM_API void mm_options_free(mm_options* options);

/* The names and meanings are those of the parameters in Python. Here each has what is allowed, and
 * what it is unless it is set. Others are refused.
 *
 * numbers
 *   C                  above 0 or infinity; 1
 *                      cost; infinity: hard margin (svc, svr, nu_svr)
 *   C                  above 0; 1
 *                      cost of the loss (linear machines)
 *   nu                 above 0, at most 1; 0.5
 *                      share of support vectors (nu_svc, nu_svr, one_class)
 *   epsilon            at least 0 or infinity; 0.1
 *                      half width of the tube, in units of y (svr)
 *   epsilon            at least 0 or infinity; 0
 *                      the same (linear_svr)
 *   gamma              above 0; 1 / n_features
 *                      factor in the kernel (kernel machines)
 *   coef0              finite; 0
 *                      summand in poly and sigmoid (kernel machines)
 *   degree             an integer of at least 0, at most 10000; 3
 *                      power of poly (kernel machines)
 *   cache_size         above 0, at most 8796093022208; 200
 *                      MB of kernel rows (kernel machines)
 *   shrinking          0 or 1; 1
 *                      0: no (kernel machines)
 *   tol                above 0; 0.001
 *                      KKT violation, in units of f (kernel machines)
 *   tol                above 0; 0.0001
 *                      duality gap / primal objective (linear machines)
 *   tol                at least 0 or infinity; 0.001
 *                      progress of a pass, of the mean loss (perceptron, sgd)
 *   max_iter           an integer of at least -1; -1
 *                      steps or passes; -1: the solver's own (kernel machines, linear machines)
 *   max_iter           an integer of at least 1; 1000
 *                      passes (perceptron, sgd)
 *   n_iter_no_change   an integer of at least 1; 5
 *                      passes below tol that end it (perceptron, sgd)
 *   time_limit         above 0 or infinity; infinity
 *                      seconds (kernel machines, linear machines)
 *   n_jobs             an integer of at least 0, at most 4096; 0
 *                      threads; 0: all (every estimator, prediction)
 *   fit_intercept      0 or 1; 1
 *                      0: no (linear machines, perceptron, sgd)
 *   intercept_scaling  above 0 or infinity; 1
 *                      infinity: intercept without penalty (linear machines)
 *   random_state       an integer of at least 0; 0
 *                      seed of the order (linear machines, perceptron, sgd)
 *   eta0               above 0; 1
 *                      step size (perceptron)
 *   eta0               above 0; 0.01
 *                      first step size (sgd)
 *   alpha              at least 0; 0.0001
 *                      factor of the penalty (perceptron, sgd)
 *   l1_ratio           at least 0, at most 1; 0.15
 *                      share of l1 in elasticnet (perceptron, sgd)
 *   average            an integer of at least 0; 0
 *                      step to average from; 0: none (perceptron, sgd)
 *   shuffle            0 or 1; 1
 *                      0: no (perceptron, sgd)
 *   power_t            finite; 0.5
 *                      exponent of invscaling (sgd)
 *   batch_size         an integer of at least 0; 1
 *                      rows a step; 0: all (sgd)
 *
 * texts
 *   kernel             linear poly rbf sigmoid laplacian chi_squared histogram_intersection; rbf
 *                      (kernel machines)
 *   loss               hinge squared_hinge; hinge
 *                      (svc)
 *   loss               hinge squared_hinge; squared_hinge
 *                      (linear_svc)
 *   loss               epsilon_insensitive squared_epsilon_insensitive; epsilon_insensitive
 *                      (linear_svr)
 *   loss               hinge squared_hinge perceptron; hinge
 *                      (sgd)
 *   penalty            l2 l1; l2
 *                      (linear_svc)
 *   penalty            none l2 l1 elasticnet; none
 *                      (perceptron)
 *   penalty            none l2 l1 elasticnet; l2
 *                      (sgd)
 *   learning_rate      optimal pegasos constant adaptive invscaling; optimal
 *                      (sgd)
 */
MM_API mm_status mm_options_set_number(mm_options* options, const char* name, double value);
MM_API mm_status mm_options_set_text(mm_options* options, const char* name, const char* value);

/* Factors of C for the n classes in the ascending order of their labels. */
MM_API mm_status mm_options_set_class_weight(mm_options* options, const double* weight, size_t n);

typedef struct mm_progress { /* of a prediction all but `seconds` are 0 */
  int64_t n_iter;
  double violation;      /* the KKT violation, or the relative duality gap of linear machines; 0 of
                            sgd and perceptron */
  double dual_objective; /* maximised; an estimate; 0 of sgd and perceptron */
  double seconds;
} mm_progress;

/* Called about 20 times a second by the thread that called mm_fit or a prediction; another result
 * than 0 ends it with MM_CANCELLED. */
typedef int (*mm_progress_function)(const mm_progress* progress, void* user);
MM_API mm_status mm_options_set_progress(mm_options* options, mm_progress_function function,
                                         void* user);

/* Called by mm_fit in the thread that called it: with the settings before it begins, and when it
 * ends with what converged, what n_iter_no_change ended, that it was cancelled (MM_LOG_INFO), what
 * another limit ended, or why it failed (MM_LOG_WARNING). `text` is a line, valid during the call.
 * Predictions log nothing. */
typedef enum mm_log_level { MM_LOG_INFO = 0, MM_LOG_WARNING = 1 } mm_log_level;
typedef void (*mm_log_function)(mm_log_level level, const char* text, void* user);
MM_API mm_status mm_options_set_log(mm_options* options, mm_log_function function, void* user);

/* ---- Models ---- */

typedef struct mm_model mm_model;

/* `y` has a label, or target, for each row (NULL for "one_class"), `weight` a factor of C, or is
 * NULL: 1 each. A row of weight 0 is left out. The kernels chi_squared and histogram_intersection
 * need features of at least 0. `options` must be of an estimator. */
MM_API mm_status mm_fit(const mm_options* options, const mm_samples* X, const double* y,
                        const double* weight, mm_model** model);
MM_API void mm_model_free(mm_model* model);

/* LIBSVM's model files, of linear machines LIBLINEAR's, and the same in memory. They hold labels
 * that are integers. `n_features` is how many the samples will have: LIBSVM's files do not hold it.
 * 0 is the last one that a support vector has, or that the file of a linear machine names. Models
 * with a precomputed kernel load as well, though mm_fit makes none: their features are the training
 * samples, and a row that they predict holds its kernel values with all of these, densely. */
MM_API mm_status mm_model_save(const mm_model* model, const char* path);
MM_API mm_status mm_model_load(const char* path, int64_t n_features, mm_model** model);
MM_API mm_status mm_model_to_text(const mm_model* model, char** text, size_t* length);
MM_API mm_status mm_model_from_text(const char* text, size_t length, int64_t n_features,
                                    mm_model** model);
MM_API void mm_text_free(char* text);

/* "features", "classes", "functions" (decision values of a sample), "probabilities" (of a sample;
 * 0: mm_probabilities refuses the model), "support_vectors" (of a kernel machine). */
MM_API mm_status mm_model_count(const mm_model* model, const char* name, int64_t* count);

/* Arrays of the model, valid as long as it is: "labels", ascending, but those of a linear machine
 * from a file, which stand as in it; of kernel machines "rho" and
 * "dual_coef", in LIBSVM's sign and order; of linear machines "coef", a row for each function, and
 * "intercept". */
MM_API mm_status mm_model_array(const mm_model* model, const char* name, const double** values,
                                size_t* length);

/* What is proved of a fitted model, by function: "primal_objective", "dual_objective" (maximised),
 * "duality_gap", "kkt_violation" (of kernel machines), "n_iter", "seconds", "converged" (0 or 1).
 * Of sgd "primal_objective", "n_iter" and "converged", of the perceptron the last two. */
MM_API mm_status mm_model_certificate(const mm_model* model, int64_t function, const char* name,
                                      double* value);

/* For each row: the label, the target, or 1 and -1 of a one-class machine. `options` of a
 * "prediction", or of an estimator, have the threads and the progress function; NULL: all threads.
 * A prediction that is cancelled may have stored rows in `out`. */
MM_API mm_status mm_predict(const mm_model* model, const mm_samples* X, const mm_options* options,
                            double* out);

/* For each row `functions` decision values. Of two classes there is one, positive for the second
 * label; of more, one for each class (linear machines), or for all pairs (0, 1), (0, 2) .. (1, 2)
 * .. of classes, positive for the first (kernel machines). */
MM_API mm_status mm_decision_values(const mm_model* model, const mm_samples* X,
                                    const mm_options* options, double* out);

/* For each row "probabilities" numbers: those of the classes, in the order of "labels", or of
 * inside and outside of a one-class machine. Models from files of LIBSVM have them by probA and
 * probB (svm-train -b 1), of one class by prob_density_marks; others, and all that mm_fit makes,
 * are refused. */
MM_API mm_status mm_probabilities(const mm_model* model, const mm_samples* X,
                                  const mm_options* options, double* out);

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

/* For one row of n_features numbers, each `stride` elements behind the one before: the decision
 * values, as many as the model has functions, and what mm_predict gives; either may be NULL. With
 * another stride than 1 the first row takes memory in `scratch`. */
MM_API mm_status mm_predictor_row(const mm_predictor* predictor, mm_scratch* scratch,
                                  const void* row, mm_type type, int64_t n_features,
                                  int64_t stride, double* decision_values, double* predicted);

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
