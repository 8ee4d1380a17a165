"""Exporters that go by scikit-learn's types take what as_sklearn() gives."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, Perceptron

X, y = load_iris(return_X_y=True)
MODELS = [
    *(SVC(), SVC(kernel="linear"), NuSVC(nu=0.3), SVR(), NuSVR(kernel="poly", degree=2)),
    *(OneClassSVM(), LinearSVC(), LinearSVR(tol=0.1)),
]


def fitted(model):
    return model.fit(X, y).as_sklearn()


@pytest.mark.parametrize("model", [*MODELS, Perceptron(tol=0.1)], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_onnx(model):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = X.astype(np.float32)
    graph = skl2onnx.to_onnx(fitted(model), rows[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    labels = np.ravel(session.run(None, {session.get_inputs()[0].name: rows})[0])
    ours = model.predict(X)
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(labels, ours, rtol=1e-3, atol=1e-3)
    else:
        assert np.mean(labels == ours) > 0.98  # float32


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_m2cgen(model):
    m2cgen = pytest.importorskip("m2cgen")
    space = {}
    exec(m2cgen.export_to_python(fitted(model)), space)
    values = np.array([space["score"](row.tolist()) for row in X])
    if isinstance(model, SVC | NuSVC):
        expected = model.set_params(decision_function_shape="ovo").decision_function(X)
    else:
        expected = getattr(model, "decision_function", model.predict)(X)
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_skops(model):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(fitted(model))
    loaded = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-9, atol=1e-12)


def test_pmml(tmp_path):
    sklearn2pmml = pytest.importorskip("sklearn2pmml")
    if shutil.which("java") is None:
        pytest.skip("needs java")

    def written(model):
        pipeline = sklearn2pmml.make_pmml_pipeline(model, list("abcd"), ["y"])
        sklearn2pmml.sklearn2pmml(pipeline, str(tmp_path / "model.pmml"))
        return (tmp_path / "model.pmml").read_text()

    try:
        expected = written(sklearn.svm.SVC().fit(X, y))
    except RuntimeError:
        pytest.skip(f"sklearn2pmml does not take scikit-learn {sklearn.__version__}")
    found = written(fitted(SVC()))
    for part in ("SupportVectorMachineModel", "RadialBasisKernelType"):
        assert found.count(part) == expected.count(part) > 0


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pickles_need_scikit_learn_alone(model):
    assert b"maxmargin" not in pickle.dumps(fitted(model))
