"""Bad options, kernel matrices of wrong form, the order of rows: every formulation (cases B..)."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVR, ConvergenceWarning, NuSVC, io
from oracles.formulations import FIVE, MAKE, data, values_of


def test_b16_a_model_without_support_vectors_is_pickled_and_saved(tmp_path):
    X = np.eye(4)[[1, 3, 2, 3]]
    empty = SVR(C=300.0, epsilon=0.1).fit(X, [0.05, 0.05, 0.10, 0.15])
    assert len(empty.support_) == 0
    path = tmp_path / "model"
    io.save_model(empty, path)
    path_of_one = tmp_path / "one_class"  # a fit never leaves one without
    path_of_one.write_text(
        "svm_type one_class\nkernel_type rbf\ngamma 0.25\nnr_class 2\ntotal_sv 0\nrho 0.5\nSV\n"
    )
    one = io.load_model(path_of_one, n_features=4)
    assert (one.decision_function(X) == -0.5).all()
    for model in (empty, io.load_model(path, n_features=4), one):
        again = pickle.loads(pickle.dumps(model))
        for A in (X, X[:1], sp.csr_matrix(X)):
            assert values_of(again, A).tobytes() == values_of(model, A).tobytes()
            assert values_of(again, A).shape == (A.shape[0],)


@pytest.mark.parametrize("name", FIVE)
def test_b18_wrong_shapes_of_a_given_kernel_matrix(name):
    X, y = data(name, n=30, d=3)
    K = X @ X.T
    make = lambda: FIVE[name](kernel="precomputed")  # noqa: E731
    for bad, message in (
        (K[:, :20], r"\(30, 20\)"),
        (K[:20], r"\(20, 30\)"),
        (sp.csr_matrix(K), "dense matrix"),
        (np.where(np.eye(30) > 0, np.nan, K), "row 0, column 0"),
        (np.where(np.eye(30, k=1) > 0, K + 0.5, K), "symmetric"),
    ):
        with pytest.raises(ValueError, match=message):
            make().fit(bad, y[: bad.shape[0]])
    model = make().fit(K, y)
    known = values_of(model, K)
    for form in (K[:, model.support_], np.asfortranarray(K)):
        np.testing.assert_allclose(values_of(model, form), known, atol=1e-12)
    for bad, message in (
        (K[:5, :29], "29 features.*30 features"),
        (np.c_[K, K], "60 features.*30 features"),
        (sp.csr_matrix(K), "dense matrix"),
        (np.full((1, 30), np.nan), "row 0, column 0"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
    with pytest.raises(ValueError, match="kernel"):
        FIVE[name](kernel=lambda A, B: A @ A.T).fit(X, y).predict(X[:3])


@pytest.mark.parametrize("name", MAKE)
def test_b25_the_order_of_the_rows_does_not_matter(name):
    X, y = data(name, n=30, d=2)
    model = MAKE[name](gamma=0.5, tol=1e-8).fit(X, y)
    for order in (np.argsort(y, kind="stable"), np.argsort(-y, kind="stable"), np.arange(30)[::-1]):
        other = MAKE[name](gamma=0.5, tol=1e-8).fit(X[order], y[order])
        np.testing.assert_allclose(values_of(other, X), values_of(model, X), atol=1e-6)


@pytest.mark.parametrize(
    "pair", [(-1, 1), (0, 1), (2, 1), (False, True), ("b", "a"), (3.0, -2.0)], ids=str
)
def test_b25_positive_is_the_greater_label(pair):
    X, y = data("NuSVC", n=20, d=2)
    known = NuSVC(nu=0.5, tol=1e-8).fit(X, y).decision_function(X)
    labels = np.array(pair)[y]
    model = NuSVC(nu=0.5, tol=1e-8).fit(X, labels)
    assert model.classes_.tolist() == sorted(pair)
    sign = 1.0 if pair[1] > pair[0] else -1.0
    np.testing.assert_allclose(sign * model.decision_function(X), known, atol=1e-6)
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert (predicted == model.classes_[(model.decision_function(X) >= 0).astype(int)]).all()


@pytest.mark.parametrize(
    ("parameter", "bad"),
    [
        *[("tol", bad) for bad in (0, -1, np.nan, np.inf, "1", None)],
        *[("max_iter", bad) for bad in (-2, 1.5, "1", None, True)],
    ],
)
@pytest.mark.parametrize("name", FIVE)
def test_b26_bad_limits_are_refused_and_change_nothing(name, parameter, bad):
    X, y = data(name)
    model = FIVE[name]().fit(X, y)
    known = values_of(model, X).tobytes()
    with pytest.raises(ValueError, match=f"^{parameter} must be .*, got "):
        model.set_params(**{parameter: bad}).fit(X[:20], y[:20])
    assert values_of(model, X).tobytes() == known


@pytest.mark.parametrize("tol", [3.0, 1.0, 1e-16])
@pytest.mark.parametrize("name", MAKE)
def test_b26_extreme_tolerances_end(name, tol):
    X, y = np.array([[0.1, 0.7], [0.6, 0.2]]), np.array([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MAKE[name](kernel="linear", tol=tol).fit(X, y)
    assert np.isfinite(values_of(model, X)).all()
    assert np.isfinite(model.intercept_).all()
