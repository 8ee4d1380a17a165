/* A module of Python that predicts through the C interface, without the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <maxmargin.h>
#include <string.h>

static PyObject* list_of(const double* values, Py_ssize_t n) {
  PyObject* list = PyList_New(n);
  for (Py_ssize_t i = 0; list != NULL && i < n; ++i) {
    PyObject* value = PyFloat_FromDouble(values[i]);
    if (value == NULL)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, value);
  }
  return list;
}

static PyObject* predict(const char* path, const Py_buffer* rows) {
  const int64_t size = sizeof(double), n = rows->shape[0];
  mm_model* model = NULL;
  mm_samples* X = NULL;
  PyObject* result = NULL;
  double* out = PyMem_Calloc((size_t)n + 1, sizeof *out);
  if (out == NULL) return PyErr_NoMemory();
  mm_status status = mm_model_load(path, 0, &model);
  if (status == MM_OK)
    status = mm_samples_dense(rows->buf, MM_FLOAT64, n, rows->shape[1], rows->strides[0] / size,
                              rows->strides[1] / size, &X);
  if (status == MM_OK) {
    Py_BEGIN_ALLOW_THREADS;
    status = mm_predict(model, X, NULL, out);
    Py_END_ALLOW_THREADS;
  }
  if (status == MM_OK)
    result = list_of(out, (Py_ssize_t)n);
  else
    PyErr_SetString(PyExc_ValueError, mm_last_error());
  mm_samples_free(X);
  mm_model_free(model);
  PyMem_Free(out);
  return result;
}

static PyObject* labels(PyObject* self, PyObject* args) {
  const char* path;
  PyObject* object;
  Py_buffer rows;
  (void)self;
  if (!PyArg_ParseTuple(args, "sO", &path, &object) ||
      PyObject_GetBuffer(object, &rows, PyBUF_FORMAT | PyBUF_STRIDES) != 0)
    return NULL;
  PyObject* result = NULL;
  if (rows.ndim == 2 && strcmp(rows.format, "d") == 0)
    result = predict(path, &rows);
  else
    PyErr_SetString(PyExc_TypeError, "rows must be a float64 array of two dimensions");
  PyBuffer_Release(&rows);
  return result;
}

static PyMethodDef methods[] = {
    {"labels", labels, METH_VARARGS, "labels(path, rows): what a LIBSVM model says of each row."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "maxmargin_example", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_maxmargin_example(void) {
  PyObject* module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
  if (module != NULL) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
  return module;
}
