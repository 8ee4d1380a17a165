"""LIBSVM model files: LIBSVM reads ours, we read LIBSVM's, and an estimator survives both."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
import scipy.sparse as sp

from libsvm_files import (
    KERNELS,
    decision_values,
    libsvm_decision_values,
    libsvm_load,
    libsvm_text,
    predicted,
    problem,
    svmutil,
)
from maxmargin import SVC, NotFittedError, _core
from maxmargin._files import replacing
from maxmargin.io import load_model, save_model

X_AWKWARD = np.array([[0.1, 1 / 3], [-1 / 7, np.pi], [2 / 3, -1e-17], [1e8, -3e-9]])


# -- the core's functions --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [(3, 5), (5, 3), (2, 9, -4), (-4, 2, 9), (7, 1, 0, 12)])
def test_libsvm_reads_ours(tmp_path, kernel, labels):
    text = libsvm_text(kernel, labels)
    loaded = libsvm_load(tmp_path / "ours", _core.write_svc_model(**_core.read_svc_model(text)))
    assert sorted(loaded.get_labels()) == sorted(labels)
    X, _ = problem(len(labels), seed=1)
    ours = decision_values(_core.read_svc_model(text), X)
    np.testing.assert_allclose(
        libsvm_decision_values(loaded, X)[1], ours, rtol=1e-12, atol=1e-12 * np.abs(ours).max()
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [(3, 5), (5, 3), (2, 9, -4), (-4, 2, 9), (7, 1, 0, 12)])
def test_reads_libsvms_files(tmp_path, kernel, labels):
    """Sorting the classes changes no prediction, whatever LIBSVM's order was."""
    text = libsvm_text(kernel, labels)
    reloaded = libsvm_load(tmp_path / "theirs", text)
    model = _core.read_svc_model(text)
    assert model["labels"].tolist() == sorted(labels)
    X, _ = problem(len(labels), n=300, seed=1)
    theirs, values = libsvm_decision_values(reloaded, X)
    np.testing.assert_array_equal(predicted(model, X), theirs)

    np.testing.assert_allclose(
        decision_values(model, X), values, rtol=1e-12, atol=1e-12 * np.abs(values).max()
    )


def test_probability_lines_are_read_over():
    text = libsvm_text("rbf", (1, 2, 3), "-b 1")
    assert b"probA" in text
    assert len(_core.read_svc_model(text)["rho"]) == 3


@pytest.mark.parametrize(
    ("number", "name"), [(1, "nu_svc"), (2, "one_class"), (3, "epsilon_svr"), (4, "nu_svr")]
)
def test_libsvms_other_models_are_named(number, name):
    text = libsvm_text("rbf", (1, 2), f"-s {number} -b {int(number == 2)}")
    with pytest.raises(ValueError, match=f"line 1: svm_type '{name}' is not supported"):
        _core.read_svc_model(text)


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
    model.classes_ = np.unique(y)
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
    with pytest.raises(AttributeError, match="no attribute 'support_'"):
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
    with pytest.raises(TypeError, match="estimator must be an SVC, got dict"):
        save_model({}, tmp_path / "m")
    with pytest.raises(NotFittedError):
        save_model(SVC(), tmp_path / "m")
