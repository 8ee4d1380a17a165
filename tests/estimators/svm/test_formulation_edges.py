"""NuSVC, SVR, NuSVR and OneClassSVM at the edges: bounds of nu, no support vectors, bad targets."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, ConvergenceWarning, NuSVC, NuSVR, OneClassSVM, diagnostics
from oracles.problems import rng, two_classes
from oracles.svm import beta_of, primal_objective

# -- bounds of nu, edges, errors -------------------------------------------------------------------


def test_nu_beyond_its_bound_is_refused_with_the_bound():
    X = rng(0).normal(size=(30, 2))
    y = np.r_[np.ones(18), -np.ones(12)]
    with pytest.raises(ValueError, match=r"nu must be <= 0\.8$"):
        NuSVC(gamma=0.5, nu=0.9).fit(X, y)
    # LIBSVM's values at its tolerance 1e-6, which is not small against r = 0.04: the optimum
    # there is 25.2030298, as the objectives on either side of it prove.
    known = ((0.79, 1.875054, -0.184516, 0.712930), (0.5, 25.201724, -0.088514, 24.735184))
    for nu, objective, rho, C in known:
        model = NuSVC(gamma=0.5, nu=nu, tol=1e-6).fit(X, y)
        assert model.certificate_.dual_objective == pytest.approx(objective, rel=1e-4)
        assert -model.certificate_.primal_objective == pytest.approx(
            model.certificate_.dual_objective, rel=1e-6
        )
        assert model.intercept_[0] == pytest.approx(-rho, abs=1e-4)
        assert model.C_[0] == pytest.approx(C, rel=1e-4)
    for nu in (0.8, 0.1 + 0.7):
        model = NuSVC(gamma=0.5, nu=nu, tol=1e-6).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("name", ["linear", "poly"])
@pytest.mark.parametrize("n", [40, 400])
def test_a_nu_at_which_the_margin_vanishes_is_told_of(n, name):
    r = rng(0)
    X, y = r.normal(size=(n, 2)), np.arange(n) % 2
    with pytest.raises(ValueError, match=r"the margin is 0: .* a larger nu may help, .* 1$"):
        NuSVC(kernel=name, degree=2, nu=0.3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"NuSVC stopped .* a greater nu"):
        model = NuSVC(nu=0.6, max_iter=3).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_nu_1_of_balanced_classes_works():
    X, y = np.r_[np.eye(2), -np.eye(2)], [1, 1, -1, -1]
    model = NuSVC(kernel="linear", nu=1.0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == y).all()
    model = NuSVC(kernel="linear", nu=1.0).fit(np.ones((4, 2)), y)
    np.testing.assert_array_equal(model.decision_function(X), np.zeros(4))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([0.0, 0.1, -1.0, 1.0, 2.0, -2.0], [1, 1, -1, -1, -1, -1]),
        ([0.0, -1.0, 1.0], [1, -1, -1]),
        (np.r_[np.zeros(100), np.linspace(-1.0, 1.0, 300)], np.repeat([1, -1], [100, 300])),
    ],
)
def test_no_margin_at_the_largest_nu_is_the_constant_of_the_heavier_class(X, y, sign):
    """It is a solution of the C-SVC with any C, as the objectives prove."""
    X, y = np.c_[X], sign * np.array(y)
    largest = 2 * min((y > 0).mean(), (y < 0).mean())
    for nu in (largest, np.nextafter(largest, 0)):
        model = NuSVC(kernel="linear", nu=nu, tol=1e-6).fit(X, y)
        assert model.certificate_.converged
        assert model.C_[0] == 1.0
        np.testing.assert_allclose(model.decision_function([[-9.0], [9.0]]), -sign, atol=1e-5)
        beta, b = beta_of(model, len(y)), model.intercept_[0]
        same = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
        assert primal_objective(X @ X.T, y, beta, b, np.ones(len(y))) == pytest.approx(
            same.certificate_.primal_objective, rel=1e-6
        )
    with pytest.raises(ValueError, match=rf"feasible one being {float(largest)!r}$"):
        NuSVC(kernel="linear", nu=0.99 * largest).fit(X, y)


@pytest.mark.parametrize(
    ("params", "weight", "sizes"),
    [
        ({}, None, "'few' (1 sample) and 'many' (3 samples), nu must be <= 0.5"),
        ({}, [2, 2, 2, 2], "'few' (1 sample) and 'many' (3 samples), nu must be <= 0.5"),
        ({}, [1, 1, 1, 0], "'few' (1 sample) and 'many' (2 samples), nu must be <= 0.66"),
        ({}, [2, 2, 2, 1], "'few' (weight 2) and 'many' (weight 5), nu must be <= 0.57"),
        ({"class_weight": {"few": 2}}, None, "'few' (weight 2) and 'many' (weight 3), nu must"),
    ],
)
def test_an_infeasible_nu_is_told_with_counts_where_weights_are_equal(params, weight, sizes):
    y = ["few", "many", "many", "many"]
    with pytest.raises(ValueError, match=re.escape(f"with classes as unequal as {sizes}")):
        NuSVC(nu=0.9, **params).fit(np.c_[[0.0, 1.0, 2.0, 3.0]], y, sample_weight=weight)


@pytest.mark.parametrize("seed", range(24))
def test_the_largest_nu_gives_a_finite_model(seed):
    r = rng(seed)
    few, many, d = r.integers(1, 20), r.integers(20, 60), r.integers(1, 4)
    X = r.normal(size=(few + many, d)) * 10.0 ** r.integers(-3, 3)
    y = np.repeat([1.0, -1.0] if seed % 2 else [-1.0, 1.0], [few, many])
    params = [{"kernel": "linear"}, {"gamma": "scale"}, {"kernel": "poly", "degree": 2}][seed % 3]
    largest = 2 * few / (few + many)
    for nu in (largest, np.nextafter(largest, 0), largest * (1 - 1e-13)):
        model = NuSVC(nu=nu, tol=1e-6, **params).fit(X, y)
        values = model.decision_function(X)
        assert model.certificate_.converged
        beta, C = beta_of(model, len(y)), model.C_[0]
        np.testing.assert_allclose(y[y == y[0]] * beta[y == y[0]], C, rtol=1e-12)
        # The gap of the C-SVC with the C it names, by values of f and sums alone.
        square = beta @ (values - model.intercept_[0])
        primal = 0.5 * square + C * np.maximum(0.0, 1.0 - y * values).sum()
        assert primal == pytest.approx(np.abs(beta).sum() - 0.5 * square, rel=1e-5)


@pytest.mark.parametrize("nu", [0.5, 0.02, 1e-3])
def test_one_class_with_a_tiny_nu_keeps_all_rows(nu):
    D = np.c_[np.ones((3, 2)), [0, 0.1, 0.2]]
    model = OneClassSVM(gamma=1 / 3, nu=nu, tol=1e-3).fit(D)
    scale = nu * 3
    assert model.dual_coef_.sum() == pytest.approx(scale, rel=1e-12)
    assert (model.decision_function(D) >= -1e-3 * min(1.0, scale)).all()
    if nu == 0.02:
        np.testing.assert_allclose(beta_of(model, 3), [0.03, 0, 0.03], atol=1e-4)
        assert model.offset_ == pytest.approx(0.0596027, rel=1e-3)


def test_one_class_with_nu_1_and_with_very_small_nu():
    X = rng(0).normal(size=(30, 2))
    model = OneClassSVM(gamma=1.0, nu=1.0).fit(X)
    np.testing.assert_array_equal(model.dual_coef_, np.ones((1, 30)))
    assert model.certificate_.dual_objective == pytest.approx(120.311347, rel=1e-8)
    assert 12.176505 - 1e-6 <= model.offset_ < np.inf
    twice = OneClassSVM(gamma=1.0, nu=1.0).fit(X, sample_weight=np.full(30, 2.0))
    np.testing.assert_array_equal(model.predict(X), twice.predict(X))
    R = rng(3).random((2000, 4))
    model = OneClassSVM(gamma=1.0, nu=1e-6).fit(R)
    assert model.certificate_.converged
    assert (model.decision_function(R) >= -1e-3 * 2e-3).all()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_svr_without_support_vectors(container):
    X = np.eye(4)[[1, 3, 2, 3]]
    y = np.array([0.05, 0.05, 0.10, 0.15])
    model = SVR(kernel="linear", C=300.0, epsilon=0.1).fit(container(X), y)
    assert model.support_.shape == (0,)
    assert model.dual_coef_.shape == (1, 0)
    assert model.certificate_.dual_objective == 0
    assert model.intercept_[0] == pytest.approx(0.1)
    coef = model.coef_.toarray() if container is sp.csr_matrix else model.coef_
    np.testing.assert_array_equal(coef, np.zeros((1, 4)))
    for A in (X, X[:3], X[:1], sp.csr_matrix(X)):
        np.testing.assert_allclose(model.predict(A), np.full(A.shape[0], 0.1))
    rbf = SVR(C=300.0, epsilon=0.1).fit(container(X), y)
    np.testing.assert_allclose(rbf.predict(container(X[:3])), np.full(3, 0.1))


def test_constant_targets_and_single_rows():
    for model in (SVR(), NuSVR(), SVR(kernel="linear"), NuSVR(kernel="linear")):
        model.fit(np.eye(4), np.full(4, 7.0))
        np.testing.assert_allclose(model.predict(np.eye(4)), np.full(4, 7.0), atol=1e-9)
        assert len(model.support_) == 0 or isinstance(model, NuSVR)
    for model in (SVR(), NuSVR(gamma=1.0)):
        assert model.fit([[1.0, 2.0]], [3.0]).predict([[0.0, 9.0]])[0] == pytest.approx(3.0)
    one = OneClassSVM(gamma=1.0).fit([[1.0, 2.0]])
    assert one.decision_function([[1.0, 2.0]])[0] == 0
    assert one.predict([[1.0, 2.0]])[0] == 1


@pytest.mark.parametrize("estimator", [NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("nu", [0, -0.1, 1.1, np.nan, "a", None, True])
def test_nu_must_be_in_0_to_1(estimator, nu):
    X, y = two_classes(20)
    with pytest.raises(ValueError, match="nu must be a number > 0 and <= 1"):
        estimator(nu=nu).fit(X, y)


@pytest.mark.parametrize(
    "y", [[1.0, np.nan], [1.0, np.inf], ["a", "b"], [1j, 2], [1e200, 1], [[1], [2, 3]], None, [1.0]]
)
@pytest.mark.parametrize("estimator", [SVR, NuSVR])
def test_targets_must_be_finite_numbers(estimator, y):
    target = y if y is None or isinstance(y[-1], list) is False else np.array(y, dtype=object)
    with pytest.raises(ValueError, match=r"y|target"):
        estimator().fit([[0.0], [1.0]], target)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.0, 1e-6])
def test_a_tube_of_no_width_ends_soon(epsilon, seed):
    """float32 kernel values alone would leave the violation above the tolerance for ever."""
    X = sp.random(600, 50, 0.5, "csr", random_state=seed)
    z = rng(seed).normal(size=600) + X[:, [0]].toarray().ravel()
    model = SVR(gamma=0.01, C=100, epsilon=epsilon, tol=1e-5).fit(X, z)
    assert model.certificate_.converged
    assert model.certificate_.n_iter < 1_000_000
    known = diagnostics.certificate(model, X, z)
    assert known.kkt_violation < 1.1e-5


@pytest.mark.parametrize("tol", [1e-7, 1e-8])
def test_a_tube_that_nu_closes_ends_soon(tol):
    """alpha and alpha* of one sample are both free there: their columns make K_FF singular."""
    X = np.abs(rng(0).normal(size=(80, 5)))
    X[X < 0.4] = 0
    X /= X.sum(axis=1, keepdims=True)
    K = np.minimum(X[:, None], X).sum(axis=2)
    model = NuSVR(C=5.0, kernel="precomputed", tol=tol).fit(K, np.sin(4 * X[:, 0]) + X[:, 1])
    assert model.certificate_.converged
    assert model.certificate_.n_iter < 20_000
    assert model.epsilon_ < 1e-7


def test_the_margin_that_vanishes_is_an_error_at_any_tolerance():
    r = rng(0)
    X, y = r.normal(size=(150, 3)), r.integers(0, 2, 150)
    for tol in (1e-3, 1e-6):
        with pytest.raises(ValueError, match="the margin is 0"):
            NuSVC(nu=0.5, kernel="linear", tol=tol).fit(X, y)


def test_a_wide_margin_is_converged():
    X, y = two_classes(40)
    model = NuSVC(kernel="linear", nu=0.8, tol=1e-5).fit(X * 1e8, y)
    assert model.certificate_.converged
    assert model.certificate_.kkt_violation < 1e-5


@pytest.mark.parametrize("n", [200, 300])
def test_certificates_do_not_drift_where_the_samples_lie_far_off(n):
    """The products are as large as 5e7, so that float64 itself leaves some 3e-4 open."""
    r = rng(5)
    X = r.normal(size=(n, 50)) + 1000
    y = (X[:, 0] - 1000 + 0.5 * r.normal(size=n) > 0) * 1
    model = SVC(C=1e3, kernel="linear", max_iter=200_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    again = diagnostics.certificate(model, X, y)
    assert model.certificate_.kkt_violation == pytest.approx(again.kkt_violation, abs=5e-4)


@pytest.mark.parametrize("n", [60, 300, 3000])
@pytest.mark.parametrize("name", ["SVC", "squared", "hard", "NuSVC", "SVR", "NuSVR"])
def test_an_offset_of_the_samples_changes_no_linear_machine(name, n):
    """The coefficients sum up to 0, so that samples are centred for the linear kernel too."""
    r = rng(0)
    X = r.normal(size=(n, 4))
    f = X @ [1.0, -0.5, 0.2, 0.0]
    y = np.where(f + 0.5 * r.normal(size=n) > 0, 1, -1)
    make = {
        "SVC": lambda: SVC(kernel="linear", tol=1e-6),
        "squared": lambda: SVC(kernel="linear", loss="squared_hinge", tol=1e-6),
        "hard": lambda: SVC(kernel="linear", C=np.inf, tol=1e-6),
        "NuSVC": lambda: NuSVC(kernel="linear", nu=0.6, tol=1e-6),
        "SVR": lambda: SVR(kernel="linear", tol=1e-6),
        "NuSVR": lambda: NuSVR(kernel="linear", tol=1e-6),
    }[name]
    target = f + 0.1 * y if name.endswith("SVR") else y
    if name == "hard":
        keep = np.abs(f) > 0.2
        X, target = X[keep], np.where(f[keep] > 0, 1, -1)
    plain, moved = make().fit(X, target), make().fit(X + 1e6, target)
    assert moved.certificate_.converged
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-4 * np.abs(plain.coef_).max())
    values = plain.predict(X) if name.endswith("SVR") else plain.decision_function(X)
    others = moved.predict(X + 1e6) if name.endswith("SVR") else moved.decision_function(X + 1e6)
    np.testing.assert_allclose(others, values, atol=1e-3 * np.abs(values).max())


# -- what training blames when it overflows --------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [SVC(kernel="linear", loss="squared_hinge"), OneClassSVM()],
    ids=repr,
)
def test_huge_weights_are_named(model):
    X, y = two_classes(12)
    with pytest.raises(ValueError, match=r"C times the weights, are as large as 1e\+300.*reduce C"):
        model.fit(X, y, sample_weight=np.full(12, 1e300))


def test_bounds_too_small_for_a_ridge_are_named():
    X, y = two_classes(60)
    text = r"C times the weights must be >= 5e-141 .* got 1e-160; increase C or the weights"
    with pytest.raises(ValueError, match=text):
        SVC(loss="squared_hinge", C=1e-160).fit(X, y)
    with pytest.raises(ValueError, match=text):
        SVC(loss="squared_hinge").fit(X, y, sample_weight=np.r_[1e-160, np.ones(59)])
    weight = np.r_[0.0, np.ones(59)]
    model = SVC(loss="squared_hinge", C=1e-120).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
def test_kernels_that_are_not_positive_semidefinite_are_named(kernel):
    X, y = two_classes(60)
    data = -X @ X.T if kernel == "precomputed" else X
    params = {"kernel": kernel, "gamma": 0.5, "coef0": -1.0}
    text = "squared hinge loss needs a positive semidefinite kernel"
    with pytest.raises(ValueError, match=text):
        SVC(loss="squared_hinge", C=1e3, **params).fit(data, y)
    with pytest.raises(ValueError, match=r"C=inf.* separated by this kernel, .* semidef"):
        SVC(C=np.inf, **params).fit(data, y)
    assert SVC(C=1.0, **params).fit(data, y).certificate_.converged


def test_an_indefinite_kernel_that_only_overflow_shows_is_named():
    X = rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * rng(1).normal(size=60) > 0, 1, -1)
    model = SVC(kernel="sigmoid", gamma=0.5, coef0=-1.0, C=1e3, loss="squared_hinge")
    with pytest.raises(ValueError, match="positive semidefinite"):
        model.fit(X, y)


def test_copies_in_a_steep_kernel_are_not_taken_for_an_indefinite_one():
    X, y = two_classes(100, 2)
    X, y = np.repeat(X, 3, axis=0) * 1e3, np.repeat(y, 3)
    for C in (1e-3, 1.0):
        model = SVC(kernel="linear", loss="squared_hinge", C=C, tol=1e-3, max_iter=20_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert np.isfinite(model.coef_).all()
