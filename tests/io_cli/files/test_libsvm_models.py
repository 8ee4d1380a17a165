"""LIBSVM model files: LIBSVM reads ours, we read LIBSVM's, and an estimator survives both."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
import re

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svm
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, NotFittedError, NuSVC, NuSVR, OneClassSVM, _core, kernels
from maxmargin._input.files import replacing
from maxmargin.io import load_model, save_model
from maxmargin.svm._machine import model_of
from oracles.libsvm_models import (
    KERNELS,
    decision_values,
    libsvm_decision_values,
    libsvm_load,
    libsvm_text,
    predicted,
    problem,
    sparse_samples,
    svmutil,
)

X_AWKWARD = np.array([[0.1, 1 / 3], [-1 / 7, np.pi], [2 / 3, -1e-17], [1e8, -3e-9]])


# -- the core's functions --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [(3, 5), (5, 3), (2, 9, -4), (-4, 2, 9), (7, 1, 0, 12)])
def test_libsvm_reads_ours(tmp_path, kernel, labels):
    text = libsvm_text(kernel, labels)
    loaded = libsvm_load(tmp_path / "ours", _core.KernelModel.from_libsvm(text).to_libsvm())
    assert sorted(loaded.get_labels()) == sorted(labels)
    X, _ = problem(len(labels), seed=1)
    ours = decision_values(_core.KernelModel.from_libsvm(text), X)
    np.testing.assert_allclose(
        libsvm_decision_values(loaded, X)[1], ours, rtol=1e-12, atol=1e-12 * np.abs(ours).max()
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [(3, 5), (5, 3), (2, 9, -4), (-4, 2, 9), (7, 1, 0, 12)])
def test_reads_libsvms_files(tmp_path, kernel, labels):
    """Sorting the classes changes no prediction, whatever LIBSVM's order was."""
    text = libsvm_text(kernel, labels)
    reloaded = libsvm_load(tmp_path / "theirs", text)
    model = _core.KernelModel.from_libsvm(text)
    assert model.labels.tolist() == sorted(labels)
    X, _ = problem(len(labels), n=300, seed=1)
    theirs, values = libsvm_decision_values(reloaded, X)
    np.testing.assert_array_equal(predicted(model, X), theirs)

    np.testing.assert_allclose(
        decision_values(model, X), values, rtol=1e-12, atol=1e-12 * np.abs(values).max()
    )


def test_probability_lines_are_read():
    text = libsvm_text("rbf", (1, 2, 3), "-b 1")
    assert b"probA" in text
    model = _core.KernelModel.from_libsvm(text)
    assert model.sigmoids.shape == (2, 3)
    again = _core.KernelModel.from_libsvm(model.to_libsvm())
    np.testing.assert_array_equal(again.sigmoids, model.sigmoids)


# -- the estimator ---------------------------------------------------------------------------------


def fitted(X, y, **params):
    return SVC(**params).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_estimator_round_trip(tmp_path, kernel, n_classes, is_sparse):
    X, y = problem(n_classes)
    y = np.array([4, -2, 7, 0, 9])[y]
    Z = problem(n_classes, seed=1)[0]
    model = fitted(sp.csr_matrix(X) if is_sparse else X, y, kernel=kernel, gamma=0.3, coef0=0.5)
    path = tmp_path / "m"
    save_model(model, path)
    loaded = load_model(path, n_features=3)
    assert loaded.classes_.dtype.kind == "i"
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.predict(Z), model.predict(Z))
    expected = model.decision_function(Z)
    np.testing.assert_allclose(loaded.decision_function(Z), expected, rtol=1e-12, atol=1e-12)
    if not is_sparse:  # dense support vectors come back dense
        assert loaded.decision_function(Z).tobytes() == expected.tobytes()
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_estimator_round_trip_of_awkward_numbers(tmp_path):
    y = [1, -1, 1, -1]
    model = fitted(X_AWKWARD, y, gamma=1 / 3, C=1.1)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.support_vectors_, model.support_vectors_)
    np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(
        loaded.decision_function(X_AWKWARD), model.decision_function(X_AWKWARD)
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_libsvm_reads_the_estimator(tmp_path, kernel, n_classes):
    X, y = problem(n_classes)
    Z = problem(n_classes, seed=1)[0]
    model = fitted(X, y, kernel=kernel, gamma=0.3, coef0=0.5, decision_function_shape="ovo")
    save_model(model, tmp_path / "m")
    loaded = svmutil.svm_load_model(str(tmp_path / "m"))
    theirs, values = libsvm_decision_values(loaded, Z)
    ours = model.decision_function(Z).reshape(len(Z), -1)
    if n_classes == 2:
        ours = -ours  # positive is classes_[1] in Python, the first class in LIBSVM
    np.testing.assert_allclose(ours, values, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(model.predict(Z), theirs)


def test_a_file_does_not_tell_of_features_that_are_zero(tmp_path):
    X, y = problem(2)
    wider = np.hstack([X, np.zeros((len(X), 1))])
    save_model(SVC().fit(wider, y), tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    with pytest.raises(ValueError, match=r"4 features.* 3 features.* pass n_features to"):
        loaded.predict(wider)
    widened = load_model(tmp_path / "m", n_features=4)
    with pytest.raises(ValueError, match=r"expecting 4 features as input$"):
        widened.predict(X)
    with pytest.raises(ValueError, match=r"expecting 4 features as input$"):
        loaded.fit(wider, y).predict(X)


@pytest.mark.parametrize("labels", [(5, 3), (2, 9, -4)])
def test_estimator_from_libsvms_file(tmp_path, labels):
    text = libsvm_text("rbf", labels)
    theirs = libsvm_load(tmp_path / "theirs", text)
    model = load_model(tmp_path / "theirs")
    assert model.classes_.tolist() == sorted(labels)
    assert model.n_features_in_ == 3
    Z = problem(len(labels), seed=1)[0]
    np.testing.assert_array_equal(model.predict(Z), libsvm_decision_values(theirs, Z)[0])


@pytest.mark.parametrize("y", [["a", "b"] * 20, [0.5, 1.5] * 20])
def test_labels_that_are_not_integers(tmp_path, y):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = SVC().fit(X, np.arange(40) % 2)
    model._model = dataclasses.replace(model._model, classes=np.unique(y))
    with pytest.raises(ValueError, match="only integer classes"):
        save_model(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_a_loaded_model_says_what_the_file_does_not_hold(tmp_path):
    X, y = problem(2)
    save_model(fitted(X, y, C=3.0), tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.C == SVC().C
    for name in ("certificate_", "support_", "n_iter_", "fit_status_", "shape_fit_"):
        with pytest.raises(AttributeError, match=f"^{name} .* SVC was loaded from a model file"):
            getattr(loaded, name)
    with pytest.raises(AttributeError, match="no attribute 'other_'"):
        loaded.other_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted yet"):
        SVC().support_  # noqa: B018
    loaded.fit(X, y)
    assert loaded.certificate_.converged


def test_errors_name_the_path_given(tmp_path):
    model = fitted(*problem(2))
    for path, error in (
        (tmp_path / "none" / "m", FileNotFoundError),
        (tmp_path, IsADirectoryError),
    ):
        with pytest.raises(error) as caught:
            save_model(model, path)
        assert caught.value.filename == str(path)
    with pytest.raises(OSError, match=r"m'$") as caught, replacing(tmp_path / "m"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "m")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write there")
def test_a_folder_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        save_model(fitted(*problem(2)), tmp_path / "m")
    assert caught.value.filename == str(tmp_path / "m")


def test_save_refuses_other_things(tmp_path):
    with pytest.raises(
        TypeError,
        match=r"one of maxmargin's SVC, NuSVC, SVR, NuSVR, OneClassSVM, got builtins\.dict",
    ):
        save_model({}, tmp_path / "m")
    with pytest.raises(NotFittedError):
        save_model(SVC(), tmp_path / "m")


# -- all formulations ------------------------------------------------------------------------------

ESTIMATORS = {
    "nu_svc": (1, lambda **k: NuSVC(nu=0.6, **k), "-n 0.6"),
    "one_class": (2, lambda **k: OneClassSVM(nu=0.3, **k), "-n 0.3"),
    "epsilon_svr": (3, lambda **k: SVR(C=2.0, epsilon=0.2, **k), "-c 2 -p 0.2"),
    "nu_svr": (4, lambda **k: NuSVR(C=2.0, nu=0.3, **k), "-c 2 -n 0.3"),
}


def values_of(model, X):
    return model.predict(X) if hasattr(model, "C") else model.decision_function(X)


def libsvm_values(model, X):
    """LIBSVM's first value of every sample."""
    buffer, values = (ctypes.c_double * 10)(), []
    for row in sparse_samples(X):
        svm.libsvm.svm_predict_values(model, svm.gen_svm_nodearray(row)[0], buffer)
        values.append(buffer[0])
    return np.array(values)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_type_goes_both_ways(tmp_path, name, kernel, is_sparse):
    number, make, flags = ESTIMATORS[name]
    X, y = problem(2)
    Z = problem(2, seed=1)[0]
    target = y if name == "nu_svc" else X[:, 0] + 0.1 * y
    model = make(kernel=kernel, gamma=0.3, coef0=0.4, degree=2)
    model.fit(sp.csr_matrix(X) if is_sparse else X, target)
    path = tmp_path / "m"
    save_model(model, path)
    assert path.read_bytes().startswith(f"svm_type {name}\n".encode())
    loaded = load_model(path, n_features=3)
    assert type(loaded) is type(model)
    found = values_of(model, Z)
    np.testing.assert_allclose(values_of(loaded, Z), found, rtol=1e-12, atol=1e-12)
    if not is_sparse:
        assert values_of(loaded, Z).tobytes() == found.tobytes()
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    sign = -1 if name == "nu_svc" else 1  # positive is classes_[1] here, the first class there
    theirs = sign * libsvm_values(svmutil.svm_load_model(str(path)), Z)
    np.testing.assert_allclose(found, theirs, rtol=1e-10, atol=1e-10 * np.abs(found).max())
    with pytest.raises(AttributeError, match=r"loaded from a model file"):
        loaded.certificate_  # noqa: B018

    flags = f"-q -s {number} -t {KERNELS.index(kernel)} -g 0.3 -r 0.4 -d 2 {flags}"
    trained = svmutil.svm_train(list(target), sparse_samples(X), flags)
    svmutil.svm_save_model(str(tmp_path / "theirs"), trained)
    known = svmutil.svm_load_model(str(tmp_path / "theirs"))
    ours = load_model(tmp_path / "theirs", n_features=3)
    first = known.get_labels()[0] if name == "nu_svc" else 1
    expected = libsvm_values(known, Z) * (1 if first == 1 else -1)
    np.testing.assert_allclose(
        values_of(ours, Z), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
    )


@pytest.mark.parametrize("name", ["epsilon_svr", "nu_svr"])
def test_the_scale_of_a_regressions_errors_goes_both_ways(tmp_path, name):
    number, make, _ = ESTIMATORS[name]
    X = problem(2)[0]
    trained = svmutil.svm_train(list(X[:, 0]), sparse_samples(X), f"-q -s {number} -b 1")
    svmutil.svm_save_model(str(tmp_path / "theirs"), trained)
    ours = load_model(tmp_path / "theirs", n_features=3)
    assert model_of(ours).core.noise_scale == trained.get_svr_probability() > 0
    save_model(ours, tmp_path / "ours")
    again = svmutil.svm_load_model(str(tmp_path / "ours"))
    assert again.get_svr_probability() == model_of(ours).core.noise_scale
    fresh = make().fit(X, X[:, 0])
    save_model(fresh, tmp_path / "m")
    assert b"probA" not in (tmp_path / "m").read_bytes()
    assert model_of(load_model(tmp_path / "m")).core.noise_scale is None
    ours.fit(X, X[:, 0])
    assert model_of(ours).core.noise_scale is None
    bad = (tmp_path / "ours").read_bytes().replace(b"probA ", b"probA -")
    with pytest.raises(ValueError, match=r"line \d+: probA must be >= 0"):
        load_model(bad)
    with pytest.raises(ValueError, match="noise_scale must be finite"):
        ours._model.changed(noise_scale=np.nan)


@pytest.mark.parametrize("labels", [(-1, 1), (1, -1), (-1, 2), (3, 1, 2)])
def test_the_classes_stand_in_libsvms_order(tmp_path, labels):
    X, y = problem(len(labels))
    y = np.array(labels)[y]
    y[0] = labels[0]
    y[1] = labels[1]
    save_model(SVC().fit(X, y), tmp_path / "ours")
    trained = svmutil.svm_train(list(map(float, y)), sparse_samples(X), "-q")
    theirs = " ".join(map(str, trained.get_labels()))
    assert f"\nlabel {theirs}\n".encode() in (tmp_path / "ours").read_bytes()


def test_a_regression_without_support_vectors(tmp_path):
    model = SVR(epsilon=1.0).fit(np.eye(4), [0.1, 0.2, 0.3, 0.4])
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").predict([[5.0]])[0] == model.predict(np.eye(4))[0]
    loaded = load_model(tmp_path / "m", n_features=4)
    np.testing.assert_array_equal(loaded.predict(np.eye(4)), model.predict(np.eye(4)))


@pytest.mark.parametrize("name", ["c_svc", *ESTIMATORS])
def test_precomputed_kernels_name_their_rows(tmp_path, name):
    X, y = problem(2)
    K = X @ X.T + 1.0
    target = y if name.endswith("svc") else X[:, 0] + 0.1 * y
    make = ESTIMATORS[name][1] if name in ESTIMATORS else SVC
    model = make(kernel="precomputed").fit(K, target)
    save_model(model, tmp_path / "m")
    assert f" 0:{model.support_[0] + 1} \n".encode() in (tmp_path / "m").read_bytes()
    loaded = load_model(tmp_path / "m", n_features=60)
    assert values_of(loaded, K).tobytes() == values_of(model, K).tobytes()
    theirs = svmutil.svm_load_model(str(tmp_path / "m"))
    row = {0: 1, **{j + 1: float(value) for j, value in enumerate(K[0])}}
    buffer = (ctypes.c_double * 10)()
    svm.libsvm.svm_predict_values(theirs, svm.gen_svm_nodearray(row, isKernel=True)[0], buffer)
    sign = -1 if name.endswith("svc") else 1
    assert sign * buffer[0] == pytest.approx(
        model.decision_function(K[:1])[0]
        if sign < 0 or name == "one_class"
        else values_of(model, K[:1])[0]
    )
    bad = (tmp_path / "m").read_bytes().replace(b" 0:", b" 0:0.5", 1)
    with pytest.raises(ValueError, match="must be row numbers"):
        load_model(bad)


def test_kernels_that_the_format_does_not_know(tmp_path):
    X, y = problem(2)
    for kernel in (lambda A, B: A @ B.T, kernels.RBF() + 1.0, kernels.PowerSum(2)):
        with pytest.raises(ValueError, match="does not know kernels that are callables or comp"):
            save_model(SVC(kernel=kernel).fit(X, y), tmp_path / "m")
    assert os.listdir(tmp_path) == []
    save_model(SVC(kernel=kernels.RBF(0.5)).fit(X, y), tmp_path / "m")
    assert load_model(tmp_path / "m", n_features=3).gamma == 0.5


def test_what_to_save_of_a_pipeline_and_of_a_search_is_told(tmp_path):
    X, y = problem(2)
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2).fit(X, y)
    for model, part in ((pipeline, "model[-1]"), (search, "best_estimator_")):
        with pytest.raises(TypeError, match=rf"got sklearn\.\S+;.* {re.escape(part)}"):
            save_model(model, tmp_path / "m")
    save_model(pipeline[-1], tmp_path / "m")
    save_model(search.best_estimator_, tmp_path / "m")
