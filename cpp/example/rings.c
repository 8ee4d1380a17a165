/* Fits, checks the certificate, predicts, saves and loads through the C interface. */
#include <maxmargin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 500

static void check(mm_status status) {
  if (status == MM_OK) return;
  fprintf(stderr, "%s\n", mm_last_error());
  exit(1);
}

static double uniform(void) { /* in (-2, 2) */
  return 4.0 * rand() / RAND_MAX - 2.0;
}

int main(void) {
  static double values[N][2], y[N], predicted[N], f[N], f_loaded[N];
  mm_samples* X;
  mm_options* options;
  mm_model *model, *loaded;
  double gap, primal;
  int i, n_right = 0;

  for (i = 0; i < N; ++i) { /* the label is whether a point is far from the origin */
    values[i][0] = uniform();
    values[i][1] = uniform();
    y[i] = hypot(values[i][0], values[i][1]) > 1.4 ? 1.0 : -1.0;
  }
  check(mm_samples_dense(values, MM_FLOAT64, N, 2, 2, 1, &X));
  check(mm_options_new("svc", &options));
  check(mm_options_set_text(options, "kernel", "rbf"));
  check(mm_options_set_number(options, "gamma", 0.5));
  check(mm_options_set_number(options, "C", 10.0));
  check(mm_fit(options, X, y, NULL, &model));
  check(mm_model_certificate(model, 0, "duality_gap", &gap));
  check(mm_model_certificate(model, 0, "primal_objective", &primal));

  check(mm_model_save(model, "rings_c.model"));
  check(mm_model_load("rings_c.model", 0, &loaded));
  check(mm_predict(model, X, NULL, predicted));
  check(mm_decision_values(model, X, NULL, f));
  check(mm_decision_values(loaded, X, NULL, f_loaded));
  for (i = 0; i < N; ++i) n_right += predicted[i] == y[i];
  printf("gap %.1e of the objective, %d of %d right\n", gap / primal, n_right, N);

  /* A mistake is a status and a message. */
  if (mm_options_set_number(options, "gama", 0.5) != MM_INVALID_ARGUMENT) return 1;
  printf("%s\n", mm_last_error());

  mm_model_free(loaded);
  mm_model_free(model);
  mm_options_free(options);
  mm_samples_free(X);
  return gap / primal < 1e-3 && n_right > N * 95 / 100 && memcmp(f, f_loaded, sizeof f) == 0 ? 0 : 1;
}
