/* Latency of one row: a program for bench/one_row.py, so that calls of C are timed in C.
 * one_row LIBRARY MODEL ROWS N_FEATURES N_THREADS N_CALLS WHAT, of which
 * WHAT is "float32", "float64" (packing, and type of the row) or "libsvm" (LIBRARY is LIBSVM's);
 * ROWS are float64 numbers. It prints the median and the 99th percentile of all calls, in
 * nanoseconds, and the first row's decision value. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_ROWS = 64 };

struct svm_node {
  int index;
  double value;
};

static struct {
  int (*load)(const char*, int64_t, void**);
  int (*predictor_new)(const void*, int, void**);
  int (*scratch_new)(const void*, void**);
  int (*row)(const void*, void*, const void*, int, int64_t, int64_t, double*, double*);
  void* (*svm_load)(const char*);
  double (*svm_predict)(const void*, const struct svm_node*, double*);
  const void* predictor;
  const void* svm;
  double* rows;
  float* narrow;
  struct svm_node* nodes;
  int64_t n_features;
  long n_calls;
  int type;
  double first;
  pthread_barrier_t all;
} the;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void* call_many(void* latencies) {
  int64_t* const taken = latencies;
  void* scratch = NULL;
  double value = 0.0, label = 0.0;
  if (the.row != NULL && the.scratch_new(the.predictor, &scratch) != 0) exit(1);
  for (long c = -(the.n_calls / 10); c < the.n_calls; ++c) {
    const long i = (c + the.n_calls) % N_ROWS;
    if (c == 0) pthread_barrier_wait(&the.all);
    const int64_t begin = now();
    if (the.row == NULL)
      label = the.svm_predict(the.svm, the.nodes + i * (the.n_features + 1), &value);
    else if (the.row(the.predictor, scratch,
                     the.type == 0 ? (const void*)(the.narrow + i * the.n_features)
                                   : (const void*)(the.rows + i * the.n_features),
                     the.type, the.n_features, 1, &value, &label) != 0)
      exit(1);
    if (c >= 0) taken[c] = now() - begin;
    if (i == 0) the.first = value; /* the same in every thread */
  }
  return NULL;
}

static int by_size(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static void prepare(const char* model, const char* rows_path) {
  const size_t n = (size_t)the.n_features * N_ROWS;
  the.rows = malloc(n * sizeof *the.rows);
  the.narrow = malloc(n * sizeof *the.narrow);
  the.nodes = malloc((n + N_ROWS) * sizeof *the.nodes);
  FILE* const file = fopen(rows_path, "rb");
  if (file == NULL || fread(the.rows, sizeof *the.rows, n, file) != n) exit(1);
  fclose(file);
  struct svm_node* node = the.nodes;
  for (int64_t i = 0; i < N_ROWS; ++i) {
    for (int64_t k = 0; k < the.n_features; ++k) {
      the.narrow[i * the.n_features + k] = (float)the.rows[i * the.n_features + k];
      *node++ = (struct svm_node){(int)k + 1, the.rows[i * the.n_features + k]};
    }
    *node++ = (struct svm_node){-1, 0.0};
  }
  if (the.svm_load != NULL) {
    the.svm = the.svm_load(model);
    if (the.svm == NULL) exit(1);
    return;
  }
  void *loaded = NULL, *predictor = NULL;
  if (the.load(model, the.n_features, &loaded) != 0 || the.predictor_new(loaded, the.type, &predictor) != 0) exit(1);
  the.predictor = predictor;
}

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  the.n_features = atol(argv[4]);
  const long n_threads = atol(argv[5]);
  the.n_calls = atol(argv[6]);
  the.type = strcmp(argv[7], "float32") == 0 ? 0 : 1;
  if (strcmp(argv[7], "libsvm") == 0) {
    *(void**)&the.svm_load = dlsym(library, "svm_load_model");
    *(void**)&the.svm_predict = dlsym(library, "svm_predict_values");
  } else {
    *(void**)&the.load = dlsym(library, "mm_model_load");
    *(void**)&the.predictor_new = dlsym(library, "mm_predictor_new");
    *(void**)&the.scratch_new = dlsym(library, "mm_scratch_new");
    *(void**)&the.row = dlsym(library, "mm_predictor_row");
  }
  prepare(argv[2], argv[3]);
  const size_t n_all = (size_t)(n_threads * the.n_calls);
  int64_t* const taken = malloc(n_all * sizeof *taken);
  pthread_t* const threads = malloc((size_t)n_threads * sizeof *threads);
  pthread_barrier_init(&the.all, NULL, (unsigned)n_threads);
  for (long t = 0; t < n_threads; ++t)
    pthread_create(threads + t, NULL, call_many, taken + t * the.n_calls);
  for (long t = 0; t < n_threads; ++t) pthread_join(threads[t], NULL);
  qsort(taken, n_all, sizeof *taken, by_size);
  printf("%lld %lld %.17g\n", (long long)taken[n_all / 2], (long long)taken[n_all * 99 / 100],
         the.first);
  return 0;
}
