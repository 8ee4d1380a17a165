"""Inputs of public bug reports (the cases B..) that concern the formulations other than C-SVC."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVR, ConvergenceWarning, NuSVC, NuSVR, OneClassSVM
from oracles.formulations import MAKE, data, values_of
from oracles.problems import conflicting_duplicates, two_classes
from oracles.svm import kernel


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [*[(name, "rbf") for name in MAKE], *[(name, "linear") for name in MAKE if name != "NuSVC"]],
)
def test_b01_copies_with_targets_of_their_own_are_weights(name, kernel, container):
    X, y = conflicting_duplicates()
    distinct, counts = np.unique(np.c_[X, y], axis=0, return_counts=True)
    assert len(distinct) == 8
    Z, t = distinct[:, :2], distinct[:, 2]
    params = {"kernel": kernel, "gamma": 1.0, "tol": 1e-9}
    if name == "NuSVC":  # nu must be above the share of the copies in conflict
        params["nu"] = 0.85
    copies = MAKE[name](**params).fit(container(X), y)
    merged = MAKE[name](**params).fit(container(Z), t, sample_weight=counts)
    assert copies.certificate_.converged
    assert copies.certificate_.dual_objective == pytest.approx(
        merged.certificate_.dual_objective, rel=1e-6
    )
    np.testing.assert_allclose(values_of(copies, X), values_of(merged, X), atol=1e-5)


@pytest.mark.parametrize("nu", [0.5, 0.85])
def test_b01_copies_that_no_line_tells_apart_leave_a_nu_svc_no_margin(nu):
    X, y = conflicting_duplicates()
    with pytest.raises(ValueError, match="margin is 0"):
        NuSVC(nu=nu, kernel="linear").fit(X, y)
    assert (y > 0).sum() == 11
    constant = NuSVC(nu=0.9, kernel="linear").fit(X, y)  # the largest feasible nu
    np.testing.assert_allclose(constant.decision_function(X), np.ones(20), atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_b02_all_rows_equal(kernel, container):
    X, y = container(np.full((6, 3), 2.5)), np.array([1, -1, 1, -1, 1, 1])
    with pytest.raises(ValueError, match="margin is 0"):
        NuSVC(nu=0.5, kernel=kernel).fit(X, y)
    # The constant of least loss is the median of the targets, up to epsilon.
    z = np.array([1.0, 2.0, 3.0, 4.0, 9.0, 9.0])
    tube = SVR(kernel=kernel, epsilon=0.1, tol=1e-9).fit(X, z)
    assert 3.1 - 1e-6 <= tube.predict(X)[0] <= 3.9 + 1e-6
    found = NuSVR(kernel=kernel, nu=0.5, tol=1e-9).fit(X, z)
    one = OneClassSVM(kernel=kernel, nu=0.5).fit(X)
    for values in (tube.predict(X), found.predict(X), one.decision_function(X)):
        assert np.isfinite(values).all()
        assert (values == values[0]).all()
    assert one.decision_function(X)[0] == pytest.approx(0.0, abs=1e-9)
    loss = lambda c, epsilon: np.maximum(0, np.abs(z - c) - epsilon).sum()  # noqa: E731
    best = min(
        0.5 * 6 * epsilon + loss(c, epsilon)
        for c in np.linspace(0, 10, 101)
        for epsilon in np.linspace(0, 5, 51)
    )
    primal = 0.5 * 6 * found.epsilon_ + loss(found.predict(X)[0], found.epsilon_)
    assert primal == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", MAKE)
def test_b02_a_constant_column_changes_nothing(name, container):
    X, y = data(name, n=30, d=2)
    Z = np.c_[X, np.full(30, 7.0)]
    plain = MAKE[name](gamma=0.5, tol=1e-8).fit(container(X), y)
    more = MAKE[name](gamma=0.5, tol=1e-8).fit(container(Z), y)
    found, expected = values_of(more, container(Z)), values_of(plain, container(X))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_b03_one_class_is_refused_by_classifiers_only():
    with pytest.raises(ValueError, match="one class"):
        NuSVC().fit(np.eye(4), [7] * 4)
    assert OneClassSVM().fit(np.eye(4)).predict(np.eye(4)).shape == (4,)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("name", MAKE)
def test_b04_the_scale_of_the_samples_does_not_matter(name, scale):
    X, y = data(name)
    plain = MAKE[name](gamma=0.2, tol=1e-8).fit(X, y)
    scaled = MAKE[name](gamma=0.2 / scale**2, tol=1e-8).fit(X * scale, y)
    np.testing.assert_allclose(values_of(scaled, X * scale), values_of(plain, X), atol=1e-6)
    moved = MAKE[name](gamma=0.2, tol=1e-8).fit(X + 1e6, y)
    np.testing.assert_allclose(values_of(moved, X + 1e6), values_of(plain, X), atol=1e-5)


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**60, 2.0**990])
def test_the_scale_of_the_weights_does_not_change_a_bit_of_a_nu_svc(scale):
    X, y = two_classes(80, 3)
    weight = np.linspace(0.5, 2.0, 80)
    model = NuSVC(nu=0.4).fit(X, y, sample_weight=weight)
    other = NuSVC(nu=0.4).fit(X, y, sample_weight=scale * weight)
    assert other.certificate_.n_iter == model.certificate_.n_iter
    for name in ("dual_coef_", "intercept_"):
        assert getattr(other, name).tobytes() == getattr(model, name).tobytes()
    assert (scale * other.C_).tobytes() == model.C_.tobytes()


@pytest.mark.parametrize("C", [1e3, 1e9, 1e11, 1e12])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_a_nu_svr_of_a_huge_bound_has_converged_only_if_that_is_true(kind, C):
    """Rounding takes the coefficients' sum from 0; with "rbf" most of alpha and alpha* cancels."""
    r = np.random.default_rng(1)
    X = r.normal(size=(30, 2)) + 3.0
    y = X[:, 0] + 0.3 * r.normal(size=30)
    model = NuSVR(C=C, kernel=kind, gamma=0.3).fit(X, y)
    certificate, tol = model.certificate_, 1e-3
    assert certificate.converged == (certificate.kkt_violation < tol)
    if not certificate.converged:
        assert C >= 1e11
        return
    K = kernel(X, X, kind, gamma=0.3)
    beta = np.zeros(30)
    beta[model.support_] = model.dual_coef_[0]
    magnitude = np.abs(beta).sum()
    eps = np.finfo(float).eps
    assert abs(beta.sum()) <= max(30 * eps * magnitude, tol / K.max())
    off = np.abs(y - K @ beta - model.intercept_) - model.epsilon_
    rounding = 30 * eps * magnitude * K.max()
    assert off[beta == 0].max(initial=0.0) <= tol + rounding
    assert -off[np.abs(beta) >= C].min(initial=0.0) <= tol + rounding
    assert np.abs(off[(beta != 0) & (np.abs(beta) < C)]).max(initial=0.0) <= tol + rounding


@pytest.mark.parametrize("name", MAKE)
def test_b07_overflow_is_an_error_or_a_finite_model(name):
    X, y = data(name, n=60, d=20)
    for params in ({"degree": 10, "gamma": 1.0}, {"degree": 30, "gamma": 25.0}, {"degree": 300}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model = MAKE[name](kernel="poly", max_iter=20_000, **params)
                model.fit((5 * X).astype(np.float32), y)
            except ValueError as error:
                assert any(word in str(error) for word in ("overflow", "margin is 0"))  # noqa: PT017
            else:
                assert np.isfinite(model.dual_coef_).all()
                assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("name", MAKE)
def test_b09_an_indefinite_kernel_ends(name):
    X, y = data(name, n=30, d=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MAKE[name](kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert np.isfinite(values_of(model, X)).all()
    if name == "OneClassSVM":
        assert set(model.predict(X)) <= {-1, 1}


def test_b12_class_weights_of_nu_svc_go_to_their_class():
    X, y = two_classes(60)
    factors = {-1: 0.4, 1: 1.6}
    known = NuSVC(nu=0.2, gamma=0.5, tol=1e-8).fit(
        X, y, sample_weight=np.where(y > 0, factors[1], factors[-1])
    )
    for names in ((-1, 1), (1, 0), ("b", "a")):  # of the classes -1 and 1
        weight = {names[0]: factors[-1], names[1]: factors[1]}
        labels = np.where(y > 0, names[1], names[0])
        model = NuSVC(nu=0.2, gamma=0.5, tol=1e-8, class_weight=weight).fit(X, labels)
        sign = 1.0 if names[1] > names[0] else -1.0
        found = sign * model.decision_function(X)
        np.testing.assert_allclose(found, known.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", MAKE)
def test_b19_b21_the_form_of_the_samples_does_not_matter(name):
    X, y = data(name)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    X[5] = 0.0
    big = np.zeros((80, 12))
    big[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    forms = [np.asfortranarray(X), read_only, big[::2, ::2], X[::-1][::-1], X.astype(">f8"),
             X.astype(object), X.tolist()]  # fmt: skip
    make = lambda: MAKE[name](gamma=0.2, tol=1e-8)  # noqa: E731
    known = values_of(make().fit(X, y), X)
    for form in forms:
        assert values_of(make().fit(form, y), X).tobytes() == known.tobytes()
    narrow = values_of(make().fit(X.astype("f4"), y), X)
    np.testing.assert_allclose(narrow, known, atol=1e-4)
    S = sp.csr_matrix(X)
    twice = sp.csr_matrix(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), S.indptr * 2), shape=S.shape
    )
    unsorted = S.copy()
    for i in range(len(X)):
        row = slice(*S.indptr[i : i + 2])
        unsorted.indices[row], unsorted.data[row] = S.indices[row][::-1], S.data[row][::-1]
    unsorted.has_sorted_indices = False
    for form in (S, S.tocsc(), S.tocoo(), twice, unsorted):
        before = form.copy()
        np.testing.assert_allclose(values_of(make().fit(form, y), form), known, atol=1e-7)
        assert (before != form).nnz == 0


@pytest.mark.parametrize("name", MAKE)
def test_b22_shapes(name):
    X, y = data(name, n=30, d=3)
    make = MAKE[name]
    for bad in (np.empty((4, 0)), np.empty((0, 2)), np.ones(4)):
        with pytest.raises(ValueError, match=r"0 (feature|sample)|2D"):
            make().fit(bad, np.arange(len(bad)) % 2)
    model = make().fit(X, y)
    predict = model.predict
    for bad in (X[:, :2], np.c_[X, X], np.empty((0, 3)), X[0]):
        with pytest.raises(ValueError, match=r"features|sample|2D"):
            predict(bad)
    if name != "OneClassSVM":
        with pytest.raises(ValueError, match="29"):
            make().fit(X, y[:29])
    for value in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[4, 1] = value
        for call in (lambda A: make().fit(A, y), predict):
            with pytest.raises(ValueError, match="row 4, column 1"):
                call(spoilt)
    assert make().fit(X[:, :1], y).predict(X[:, :1]).shape == (30,)


@pytest.mark.parametrize("name", MAKE)
def test_b23_the_cache_does_not_change_a_bit(name):
    X, y = data(name, n=700)
    models = [
        MAKE[name](gamma=0.2, cache_size=mb).fit(X, y) for mb in (1e-9, 0.1, 1.0, 5000.0, 1e7)
    ]
    for model in models[1:]:
        assert model.dual_coef_.tobytes() == models[0].dual_coef_.tobytes()
        assert model.intercept_.tobytes() == models[0].intercept_.tobytes()


@pytest.mark.parametrize("name", MAKE)
def test_b26_a_model_of_few_iterations_is_usable(name):
    X, y = data(name, n=300, d=2)
    if name == "NuSVC":
        y = two_classes(300)[1]
    objectives = []
    for max_iter in (0, 1, 10, 100, -1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = MAKE[name](gamma=5.0, max_iter=max_iter, tol=1e-4).fit(X, y)
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        assert warned == (not model.certificate_.converged)
        assert np.isfinite(values_of(model, X)).all()
        if max_iter >= 0:
            assert np.all(model.n_iter_ <= max_iter)
        objectives.append(model.certificate_.dual_objective)
    if name != "NuSVC":  # whose scale changes with the margin
        assert (np.diff(objectives) <= 1e-9).all()


def test_b32_ctrl_c_ends_a_fit_and_leaves_the_process_healthy():
    code = """
import signal, threading
import numpy as np
from maxmargin import SVR
X = np.random.default_rng(0).normal(size=(6000, 20))
z = np.random.default_rng(1).normal(size=6000)
threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
model = SVR(C=1e5, gamma=0.5, tol=1e-9, epsilon=0.0)
try:
    model.fit(X, z)
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("not interrupted")
assert not hasattr(model, "support_")
SVR().fit(X[:50], z[:50])
print("healthy")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "healthy", done.stderr
