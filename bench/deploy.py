"""Microseconds of a prediction by every way to deploy a model: of one row, and of a thousand.

One classifier of 1,000 support vectors with 100 features, as the package holds it and as exporters
make it. Every way predicts the same rows, and must give the labels of the model. The figure is the
least of many calls, by one thread. What is not installed is said, and left out.
"""

import ctypes
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cli
import common
import maxmargin
import report

SIZES = (1, 1000)
SECONDS = 1.0  # of calls, for each figure
FLOAT64 = 1
MOST_IN_CODE = 99  # GCC took 56 s of 100 support vectors with 100 features on a busy machine


class NotMeasuredError(Exception):
    """Why a way is not measured."""


def main(arguments=None):
    parser = cli.new_parser("deploy.py", __doc__, known=tuple(WAYS))
    parser.add_argument(
        "--library", metavar="FILE", help="libmaxmargin.so (default: the package's)"
    )
    options = cli.parse(parser, arguments, known=tuple(WAYS))
    os.environ["OMP_NUM_THREADS"] = "1"  # read when a library is loaded
    machine = common.machine_info()
    print(report.header(machine, options))
    model, rows = problem(*((60, 10) if options.quick else (1000, 100)))
    expected = model.predict(rows)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (options.libraries or ",".join(WAYS)).split(","):
            report.progress(name)
            results[name] = measure(name, model, rows, expected, Path(folder), options)
    report.progress("")
    shown = [
        (name, *(report.number(one.get(f"us_{n}"), "{:,.1f}") for n in SIZES), one.get("error", ""))
        for name, one in results.items()
    ]
    heading = ("", *(f"{n:,} rows" for n in SIZES), "")
    print("\n".join(["\nMicroseconds of a prediction", *report.aligned([heading, *shown])]))
    common.write_json("deploy", options, machine, {"results": results})
    return int(any("error" in one and "us_1" in one for one in results.values()))


def problem(n, d):
    """A model whose support vectors are all of its n samples, and rows to predict."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    model = maxmargin.SVC(C=1.0, n_jobs=1).fit(X, y)
    return model, rng.normal(size=(SIZES[-1], d))


def measure(name, model, rows, expected, folder, options):
    try:
        predict = WAYS[name](model, folder, options.library)
    except (ImportError, NotMeasuredError) as error:
        return {"error": f"left out: {error}"}
    result = {}
    if np.mean(np.asarray(predict(rows)) == expected) < 0.98:  # of float32, too
        result["error"] = "other labels than the model's"
    for n in SIZES:
        part = np.ascontiguousarray(rows[:n])
        seconds = 0.0 if options.quick else SECONDS
        result[f"us_{n}"] = 1e6 * min(times(lambda part=part: predict(part), seconds))
    return result


def times(call, seconds):
    """Seconds of calls, three at least."""
    end = time.perf_counter() + seconds
    found = []
    while len(found) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return found


# -- the ways: each returns a function of rows, which gives their labels ---------------------------


def ours(model, *_):
    return model.predict


def c_interface(model, folder, library):
    lib = ctypes.CDLL(library or maxmargin.get_library())
    path, loaded = folder / "model.txt", ctypes.c_void_p()
    maxmargin.io.save_model(model, path)
    size = ctypes.c_int64
    assert lib.mm_model_load(str(path).encode(), size(0), ctypes.byref(loaded)) == 0
    options = ctypes.c_void_p()
    assert lib.mm_options_new(b"prediction", ctypes.byref(options)) == 0
    assert lib.mm_options_set_number(options, b"n_jobs", ctypes.c_double(1)) == 0

    def predict(rows):
        X, (n, d) = ctypes.c_void_p(), rows.shape
        out = np.empty(n)
        to = ctypes.byref(X)
        lib.mm_samples_dense(
            ctypes.c_void_p(rows.ctypes.data), FLOAT64, size(n), size(d), size(d), size(1), to
        )
        lib.mm_predict(loaded, X, options, ctypes.c_void_p(out.ctypes.data))
        lib.mm_samples_free(X)
        return out

    return predict


def scikit_learn(model, *_):
    return model.as_sklearn().predict


def skops(model, folder, *_):
    io = importlib.import_module("skops.io")
    path = folder / "model.skops"
    io.dump(model.as_sklearn(), path)
    return io.load(path, trusted=io.get_untrusted_types(file=path)).predict


def onnx(model, *_):
    skl2onnx = importlib.import_module("skl2onnx")
    onnxruntime = importlib.import_module("onnxruntime")
    d = model.n_features_in_
    graph = skl2onnx.to_onnx(model.as_sklearn(), np.zeros((1, d), dtype=np.float32))
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), settings)
    name = session.get_inputs()[0].name
    return lambda rows: session.run(["output_label"], {name: rows.astype(np.float32)})[0]


def pmml(model, folder, *_):
    """Java's evaluator, from Python: of one row by a dict, of more by a data frame."""
    sklearn2pmml = importlib.import_module("sklearn2pmml")
    jpmml = importlib.import_module("jpmml_evaluator")
    pandas = importlib.import_module("pandas")
    path = str(folder / "model.pmml")
    pipeline = sklearn2pmml.make_pmml_pipeline(model.as_sklearn())
    try:
        sklearn2pmml.sklearn2pmml(pipeline, path)
    except RuntimeError as error:
        raise NotMeasuredError("sklearn2pmml failed, see above") from error
    evaluator = jpmml.make_evaluator(path).verify()
    names = [field.getName() for field in evaluator.getInputFields()]
    given = {}  # built before the clock runs

    def predict(rows):
        key = rows.ctypes.data, len(rows)
        if key not in given:
            frame = pandas.DataFrame(rows, columns=names)
            given[key] = frame if len(rows) > 1 else frame.iloc[0].to_dict()
        if len(rows) == 1:
            return [evaluator.evaluate(given[key])["y"]]
        return evaluator.evaluateAll(given[key])["y"]

    return predict


def m2cgen_c(model, folder, *_):
    m2cgen = importlib.import_module("m2cgen")
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotMeasuredError("no C compiler")
    if len(model.support_) > MOST_IN_CODE:
        raise NotMeasuredError(f"a compiler takes minutes of more than {MOST_IN_CODE}")
    code = m2cgen.export_to_c(model.as_sklearn())
    (folder / "model.c").write_text(code)
    command = [compiler, "-O2", "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    lib = ctypes.CDLL(str(folder / "model.so"))
    lib.score.restype = ctypes.c_double
    first, second = model.classes_

    def predict(rows):
        places = (ctypes.c_void_p(row.ctypes.data) for row in rows)
        return [second if lib.score(place) > 0 else first for place in places]

    return predict


def libsvm(model, folder, *_):
    svm = importlib.import_module("libsvm.svm")
    svmutil = importlib.import_module("libsvm.svmutil")
    path = folder / "libsvm.txt"
    maxmargin.io.save_model(model, path)
    loaded = svmutil.svm_load_model(str(path))
    nodes = {}  # built before the clock runs

    def predict(rows):
        key = rows.ctypes.data, len(rows)
        if key not in nodes:
            nodes[key] = [svm.gen_svm_nodearray(row)[0] for row in rows]
        return [svm.libsvm.svm_predict(loaded, one) for one in nodes[key]]

    return predict


WAYS = {
    "maxmargin": ours,
    "c_interface": c_interface,
    "libsvm": libsvm,
    "scikit_learn": scikit_learn,
    "skops": skops,
    "onnx": onnx,
    "pmml": pmml,
    "m2cgen_c": m2cgen_c,
}

if __name__ == "__main__":
    sys.exit(main())
