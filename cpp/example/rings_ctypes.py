"""Fits and predicts through the C interface by ctypes, with no package of Python's."""

import ctypes
import math
import sys

lib = ctypes.CDLL(sys.argv[1])  # libmaxmargin.so
lib.mm_last_error.restype = ctypes.c_char_p
FLOAT64 = 1


def check(status: int) -> None:
    if status != 0:
        raise RuntimeError(lib.mm_last_error().decode())


# A grid of points, labelled by whether they are far from the origin.
points = [(i % 20 / 5 - 1.9, i // 20 / 5 - 1.9) for i in range(400)]
labels = [1.0 if math.hypot(*point) > 1.4 else -1.0 for point in points]
values = (ctypes.c_double * 800)(*[number for point in points for number in point])
y, predicted = (ctypes.c_double * 400)(*labels), (ctypes.c_double * 400)()

X, options, model = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
size = ctypes.c_int64
check(lib.mm_samples_dense(values, FLOAT64, size(400), size(2), size(2), size(1), ctypes.byref(X)))
check(lib.mm_options_new(b"svc", ctypes.byref(options)))
check(lib.mm_options_set_number(options, b"C", ctypes.c_double(10.0)))
check(lib.mm_fit(options, X, y, None, ctypes.byref(model)))
check(lib.mm_predict(model, X, None, predicted))
n_right = sum(a == b for a, b in zip(predicted, labels, strict=True))
print(f"{n_right} of {len(labels)} right")
lib.mm_model_free(model)
lib.mm_options_free(options)
lib.mm_samples_free(X)
sys.exit(n_right <= 380)
