"""QuantileSVR: the optimum of the pinball loss, the meaning of a quantile, several of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score

from maxmargin import SVR, ConvergenceWarning, QuantileSVR, diagnostics, io, kernels
from oracles.problems import rng
from oracles.svm import kernel, solve_in_box

GAMMA = 0.3
THREE = [0.1, 0.5, 0.9]


def regression_data(n=120, d=3):
    r = rng(4)
    X = r.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + (0.3 + 0.5 * np.abs(X[:, 1])) * r.normal(size=n)


def coefficients(model, n):
    beta = np.zeros((len(model.dual_coef_), n))
    beta[:, model.support_] = model.dual_coef_
    return beta


def violation(K, z, beta, low, high):
    """By how much the values of those that may grow and of those that may fall cross."""
    descent = z - K @ beta
    return descent[beta < high].max() - descent[beta > low].min()


# -- the optimum -----------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("C", [0.3, 20.0])
def test_the_dual_optimum_is_that_of_a_dense_solver(q, C):
    X, z = regression_data()
    w = rng(1).uniform(0.2, 2.0, len(z))
    model = QuantileSVR(quantile=q, C=C, gamma=GAMMA, tol=1e-9).fit(X, z, sample_weight=w)
    K = kernel(X, X, gamma=GAMMA)
    expected = solve_in_box(K, z, -(1 - q) * C * w, q * C * w)
    (beta,) = coefficients(model, len(z))
    np.testing.assert_allclose(K @ beta, K @ expected, atol=1e-5)
    dual = 0.5 * beta @ K @ beta - z @ beta
    assert dual == pytest.approx(0.5 * expected @ K @ expected - z @ expected, rel=1e-8)
    assert model.certificate_.dual_objective == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize("precision", ["auto", "float32"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize(("n", "q", "C"), [(60, 0.9, 1.0), (700, 0.25, 5.0), (700, 0.02, 100.0)])
def test_kkt_conditions_and_objectives(n, q, C, container, precision, monkeypatch):
    from maxmargin import _core

    options = _core.TrainingOptions
    monkeypatch.setattr(
        _core, "TrainingOptions", lambda **given: options(precision=precision, **given)
    )
    X, z = regression_data(n)
    X = np.float64(np.float32(np.where(np.abs(X) > 0.7, X, 0.0)))
    model = QuantileSVR(quantile=q, gamma=GAMMA, C=C, tol=1e-4).fit(container(X), z)
    K, (beta,) = kernel(X, X, gamma=GAMMA), coefficients(model, n)
    low, high = -(1 - q) * C, q * C
    assert ((low <= beta) & (beta <= high)).all()
    assert abs(beta.sum()) < 1e-9 * C * n
    assert violation(K, z, beta, low, high) < 1.01e-4
    error = z - K @ beta - model.intercept_[0]
    losses = np.maximum(q * error, (q - 1) * error)
    square = beta @ K @ beta
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.dual_objective == pytest.approx(0.5 * square - z @ beta, rel=1e-6)
    assert certificate.primal_objective == pytest.approx(0.5 * square + C * losses.sum(), rel=1e-6)
    assert certificate.duality_gap >= -1e-9 * certificate.primal_objective
    is_bounded = (beta == low) | (beta == high)
    assert certificate.n_bounded == is_bounded.sum()
    assert certificate.n_free == (beta != 0).sum() - is_bounded.sum()
    np.testing.assert_allclose(model.predict(container(X)), z - error, atol=1e-9)
    again = diagnostics.certificate(model, container(X), z)
    assert again.primal_objective == pytest.approx(certificate.primal_objective, rel=1e-6)
    assert again.kkt_violation < 1.01e-4
    np.testing.assert_allclose(diagnostics.slacks(model, container(X), z), losses, atol=1e-9)


@pytest.mark.parametrize(
    "kind", ["linear", "poly", kernels.RBF(0.2) + 0.5 * kernels.Linear(), "precomputed"]
)
def test_kernels(kind):
    X, z = regression_data(80)
    gram = kernel(X, X, gamma=GAMMA)
    samples = gram if kind == "precomputed" else X
    K = {"precomputed": lambda: gram, "linear": lambda: X @ X.T}.get(
        kind, lambda: kind(X, X) if callable(kind) else kernel(X, X, "poly", gamma=1 / 3)
    )()
    model = QuantileSVR(quantile=[0.3, 0.7], kernel=kind, gamma="auto", tol=1e-7)
    if callable(kind):
        model.set_params(gamma="scale")
    for q, beta in zip(model.quantile, coefficients(model.fit(samples, z), 80), strict=True):
        assert violation(K, z, beta, q - 1, q) < 1e-6


def test_the_median_is_half_of_an_svr_without_a_tube():
    X, z = regression_data()
    median = QuantileSVR(C=3.0, gamma=GAMMA, tol=1e-8).fit(X, z)
    tube = SVR(C=1.5, epsilon=0.0, gamma=GAMMA, tol=1e-8).fit(X, z)
    np.testing.assert_allclose(median.predict(X), tube.predict(X), atol=1e-6)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.75])
def test_the_direction_is_that_of_scikit_learns_linear_model(q):
    X, z = regression_data(200)
    ours = QuantileSVR(quantile=q, kernel="linear", C=1e4, tol=1e-8, max_iter=10**7).fit(X, z)
    theirs = QuantileRegressor(quantile=q, alpha=0.0).fit(X, z)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_[0], theirs.intercept_, atol=1e-3)


# -- what a quantile means -------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.05, 0.3, 0.5, 0.9])
def test_the_share_of_samples_below_is_the_quantile(q):
    X, z = regression_data(400)
    model = QuantileSVR(quantile=q, gamma=GAMMA, tol=1e-6).fit(X, z)
    errors = z - model.predict(X)
    assert (errors < -1e-5).mean() <= q <= (errors < 1e-5).mean()
    assert (np.abs(errors) < 1e-5).sum() == pytest.approx(model.certificate_.n_free, abs=3)


def test_weights_are_removal_and_repetition():
    X, z = regression_data(90)
    w = rng(2).integers(0, 4, 90)
    model = QuantileSVR(quantile=THREE, gamma=GAMMA, tol=1e-8)
    weighted = model.fit(X, z, sample_weight=w).predict(X)
    crossing, score = model.crossing_, model.score(X, z, w)
    order = rng(3).permutation(np.repeat(np.arange(90), w))
    repeated = model.fit(X[order], z[order])
    np.testing.assert_allclose(repeated.predict(X), weighted, atol=1e-6)
    assert model.crossing_ == pytest.approx(crossing)
    assert model.score(X[order], z[order]) == pytest.approx(score)
    for q, beta in zip(THREE, repeated.dual_coef_, strict=True):
        assert -(1 - q) <= beta.min()
        assert beta.max() <= q


# -- several ---------------------------------------------------------------------------------------


def test_several_are_each_alone():
    X, z = regression_data()
    several = QuantileSVR(quantile=THREE, gamma=GAMMA).fit(X, z)
    assert several.predict(X).shape == (120, 3)
    assert several.dual_coef_.shape == (3, len(several.support_))
    parts = several.certificate_.machines
    assert several.n_iter_ == sum(part.n_iter for part in parts)
    for k, q in enumerate(THREE):
        alone = QuantileSVR(quantile=q, gamma=GAMMA).fit(X, z)
        np.testing.assert_allclose(several.predict(X)[:, k], alone.predict(X), atol=1e-12)
        np.testing.assert_array_equal(coefficients(several, 120)[k], coefficients(alone, 120)[0])
        assert parts[k].primal_objective == alone.certificate_.primal_objective
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(several)).predict(X), several.predict(X)
    )
    one = QuantileSVR(quantile=[0.5], gamma=GAMMA).fit(X, z)
    assert one.predict(X).shape == (120, 1)
    assert one.crossing_ == 0.0


def test_certificates_and_slacks_of_several():
    X, z = regression_data()
    model = QuantileSVR(quantile=THREE, gamma=GAMMA).fit(X, z)
    again = diagnostics.certificate(model, X, z)
    for found, expected in zip(again.machines, model.certificate_.machines, strict=True):
        assert found.primal_objective == pytest.approx(expected.primal_objective, rel=1e-6)
    losses = diagnostics.slacks(model, X, z)
    for k, q in enumerate(THREE):
        error = z - model.predict(X)[:, k]
        np.testing.assert_allclose(losses[:, k], np.maximum(q * error, (q - 1) * error))


def test_crossing_is_the_share_of_samples_out_of_order():
    r = rng(8)
    X, z = r.normal(size=(40, 1)), r.normal(size=40)
    model = QuantileSVR(quantile=np.linspace(0.05, 0.95, 19), C=100.0, gamma=5.0).fit(X, z)
    falls = np.diff(model.predict(X), axis=1).min(axis=1)
    assert 0 < model.crossing_ == (falls < -model.tol).mean()
    apart = QuantileSVR(quantile=[0.1, 0.9], C=0.1, gamma=0.1).fit(X, z)
    assert apart.crossing_ == 0.0
    assert pickle.loads(pickle.dumps(model)).crossing_ == model.crossing_


def test_the_score_is_the_share_of_the_loss_that_is_saved():
    X, z = regression_data()
    model = QuantileSVR(quantile=THREE, gamma=GAMMA).fit(X, z)
    by_quantile = [
        d2_pinball_score(z, values, alpha=q)
        for q, values in zip(THREE, model.predict(X).T, strict=True)
    ]
    assert model.score(X, z) == pytest.approx(np.mean(by_quantile), abs=1e-3)
    same = QuantileSVR(quantile=0.2).fit(X, np.ones(120))
    assert same.score(X, np.ones(120)) == 1.0


@pytest.mark.parametrize(
    "quantile",
    [0.0, 1.0, -0.1, np.nan, [], [0.9, 0.1], [0.5, 0.5], [[0.5]], "half", None, [0.1, 2]],
)
def test_what_is_no_quantile_is_refused(quantile):
    with pytest.raises(ValueError, match="quantile must"):
        QuantileSVR(quantile=quantile).fit([[0.0], [1.0]], [0.0, 1.0])


def test_a_quantile_that_is_changed_after_the_fit_is_named():
    X, z = regression_data(40)
    model = QuantileSVR(quantile=[0.2, 0.8]).fit(X, z).set_params(quantile=0.5)
    assert model.predict(X).shape == (40, 2)
    for call in (
        model.score,
        lambda X, z: diagnostics.slacks(model, X, z),
        lambda X, z: diagnostics.certificate(model, X, z),
    ):
        with pytest.raises(ValueError, match=r"quantile=0.5 is not what .* has 2 machines"):
            call(X, z)


def test_the_warning_counts_quantiles():
    X, z = regression_data()
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 quantiles: KKT violation"):
        QuantileSVR(quantile=THREE, max_iter=2).fit(X, z)


def test_model_files_do_not_hold_it(tmp_path):
    X, z = regression_data(30)
    with pytest.raises(TypeError, match=r"got maxmargin\.svm\.regression\.QuantileSVR"):
        io.save_model(QuantileSVR().fit(X, z), tmp_path / "model")
