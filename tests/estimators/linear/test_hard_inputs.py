"""LinearSVC and LinearSVR on inputs that broke other libraries, from public bug reports."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, Cancelled, ConvergenceWarning, LinearSVC, LinearSVR, NotFittedError
from oracles.linear import primal_objective
from oracles.problems import rng
from oracles.svm import unconverged_fit

FORMS = [np.asarray, sp.csr_matrix]


def cloud(n=60, d=4, seed=0):
    r = rng(seed)
    X = r.normal(size=(n, d))
    return X, (X[:, 0] + 0.7 * r.normal(size=n) > 0.1).astype(int)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shift", [0.0, 5.0])
@pytest.mark.parametrize("shape", [(60, 4), (30, 50)], ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_bias_without_penalty_is_that_of_svc(form, shift, shape, loss):
    X, y = cloud(*shape)
    X = X + shift
    model = LinearSVC(loss=loss, C=0.3, tol=1e-5, intercept_scaling=np.inf).fit(form(X), y)
    reference = SVC(kernel="linear", loss=loss, C=0.3, tol=1e-8).fit(X, y)
    objectives = [
        primal_objective(X, 2 * y - 1, m.coef_[0], m.intercept_[0], 0.3, loss, scaling=np.inf)
        for m in (model, reference)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-5)
    assert model.certificate_.converged
    assert model.certificate_.primal_objective == pytest.approx(objectives[0], rel=1e-9)
    assert -model.certificate_.dual_objective <= objectives[1] * (1 + 1e-9)


def test_a_regression_without_penalty_on_the_bias_is_that_of_svr():
    X, _ = cloud()
    z = X @ [1.0, -2.0, 0.0, 3.0] + 40.0 + rng(2).normal(size=len(X))
    model = LinearSVR(C=0.5, epsilon=0.2, tol=1e-7, intercept_scaling=np.inf).fit(X, z)
    reference = SVR(kernel="linear", C=0.5, epsilon=0.2, tol=1e-8).fit(X, z)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-2)
    constant = LinearSVR(intercept_scaling=np.inf).fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0, atol=1e-6)


def test_one_class_or_no_samples_are_refused():
    for X, y, message in [
        (np.eye(4), [7] * 4, "only one class"),
        (np.empty((4, 0)), [0, 1, 0, 1], r"0 feature\(s\)"),
        (np.empty((0, 2)), [], r"0 sample\(s\)"),
        ([[1.0, 2.0]], [1], "only one class"),
        ([1.0, 2.0], [0, 1], "Expected 2D array"),
        (np.eye(4), [0, 1, 0], "4 samples, but y has 3 labels"),
        ([[np.nan], [1.0]], [0, 1], "NaN"),
        ([[np.inf], [1.0]], [0, 1], "infinity"),
        (np.eye(2), [0.5, 1.5], "continuous"),
    ]:
        with pytest.raises(ValueError, match=message):
            LinearSVC().fit(X, y)
    with pytest.raises(NotFittedError):
        LinearSVC().predict(np.eye(2))
    one = LinearSVR(C=1e6, intercept_scaling=np.inf).fit([[1.0, 2.0]], [3.0])
    assert one.predict([[5.0, 5.0]]) == pytest.approx([3.0])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("form", FORMS)
def test_samples_of_weight_zero_might_as_well_not_be_there(loss, form):
    X, y = cloud()
    w = rng(1).random(60)
    w[::3] = 0
    model = LinearSVC(loss=loss, tol=1e-7).fit(form(X), y, sample_weight=w)
    without = LinearSVC(loss=loss, tol=1e-7).fit(form(X[w > 0]), y[w > 0], sample_weight=w[w > 0])
    np.testing.assert_allclose(model.coef_, without.coef_, atol=1e-3)
    for bad in (np.zeros(60), -w, np.full(60, np.nan), np.ones(59), np.where(y == 1, 0.0, 1.0)):
        with pytest.raises(ValueError, match="weight"):
            LinearSVC().fit(X, y, sample_weight=bad)
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_class_weights_follow_the_label():
    X, y = cloud()
    by_class = LinearSVC(class_weight={0: 0.3, 1: 2.0}, tol=1e-8).fit(X, y)
    by_sample = LinearSVC(tol=1e-8).fit(X, y, sample_weight=np.where(y == 1, 2.0, 0.3))
    np.testing.assert_array_equal(by_class.coef_, by_sample.coef_)
    named = np.array(["b", "a"])[y]
    swapped = LinearSVC(class_weight={"b": 0.3, "a": 2.0}, tol=1e-8).fit(X, named)
    np.testing.assert_allclose(swapped.coef_, -by_class.coef_, atol=1e-4)
    balanced = LinearSVC(class_weight="balanced", tol=1e-8).fit(X, y)
    counts = np.bincount(y)
    by_hand = LinearSVC(class_weight=dict(enumerate(30 / counts)), tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(balanced.coef_, by_hand.coef_)


@pytest.mark.parametrize("n_features", [6, 60])
def test_forms_of_one_sparse_matrix_give_one_model(n_features):
    dense = rng(0).integers(0, 3, size=(40, n_features)).astype(float)
    dense[5] = 0
    y = np.arange(40) % 2
    csr = sp.csr_matrix(dense)
    twice = (np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), csr.indptr * 2)
    unsorted = csr.copy()
    for i in range(40):
        row = slice(*csr.indptr[i : i + 2])
        unsorted.indices[row] = csr.indices[row][::-1]
        unsorted.data[row] = csr.data[row][::-1]
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy()
    model = LinearSVC(tol=1e-6).fit(csr, y)
    forms = [csr.tocsc(), csr.tocoo(), sp.csr_matrix(twice, shape=csr.shape), unsorted]
    for form in forms:
        again = LinearSVC(tol=1e-6).fit(form, y)
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_allclose(again.decision_function(dense), model.decision_function(form))
    np.testing.assert_array_equal(unsorted.indices, before)
    np.testing.assert_allclose(LinearSVC(tol=1e-6).fit(dense, y).coef_, model.coef_, atol=1e-3)


def test_memory_layouts_and_types_give_one_model():
    X = rng(0).integers(-9, 10, size=(40, 6)) / 4.0
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    read_only = X.copy()
    read_only.flags.writeable = False
    wide = np.zeros((80, 12))
    wide[::2, ::2] = X
    model = LinearSVC().fit(X, y)
    for form in (np.asfortranarray(X), read_only, wide[::2, ::2], X[::-1][::-1], X.astype(">f8"),
                 X.astype(object), X.tolist(), X.astype("f4"), X.astype("f2")):  # fmt: skip
        np.testing.assert_allclose(LinearSVC().fit(form, y).coef_, model.coef_, rtol=1e-9)
    for labels in (y.astype(bool), np.array(["no", "yes"])[y], y.astype("u8")):
        np.testing.assert_array_equal(LinearSVC().fit(X, labels).coef_, model.coef_)
    counts = rng(0).integers(-128, 128, size=(50, 3), dtype=np.int8)
    small, large = (LinearSVC().fit(counts.astype(t), np.arange(50) % 2) for t in (np.int8, float))
    np.testing.assert_allclose(small.coef_, large.coef_, rtol=1e-9)


@pytest.mark.parametrize("n_features", [4, 80])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_cap_on_iterations_leaves_a_usable_model_and_warns(n_features, loss):
    X, y = cloud(d=n_features)
    for cap in (0, 1, 2, 5):
        model = LinearSVC(loss=loss, C=100.0, tol=1e-14, max_iter=cap)
        unconverged_fit(model, X, y)
        assert model.n_iter_ <= cap
        assert np.isfinite(model.coef_).all()
        assert cap >= 2 or not model.certificate_.converged
        assert model.certificate_.duality_gap >= 0
    with pytest.warns(ConvergenceWarning, match=r"max_iter\): relative duality gap \(") as caught:
        model = LinearSVC(loss=loss, C=100.0, tol=1e-14, max_iter=1).fit(X, y)
    gap = f"(gap / primal objective) {model.certificate_.relative_gap:.4g} > tol=1e-14."
    assert gap in str(caught[0].message)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        LinearSVC(loss=loss, C=1e4, tol=1e-15, time_limit=1e-9).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a finite number > 0, got 0"),
        ({"C": np.inf}, "C must be a finite number > 0, got inf"),
        ({"tol": 0}, "tol must be a finite number > 0"),
        ({"max_iter": -2}, "max_iter must be an integer >= -1"),
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge', got 'log'"),
        ({"penalty": "l3"}, "penalty must be one of 'l1', 'l2'"),
        ({"dual": "maybe"}, "dual must be True or False"),
        ({"multi_class": "ovo"}, "multi_class must be one of 'ovr', 'crammer_singer', got 'ovo'"),
        ({"intercept_scaling": 0}, "intercept_scaling must be a number > 0, or inf"),
        ({"intercept_scaling": np.nan}, "intercept_scaling must be a number > 0, or inf"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"verbose": -1}, "verbose must be an integer >= 0"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_parameters_are_refused_and_the_model_survives(parameters, message):
    X, y = cloud()
    model = LinearSVC().fit(X, y)
    before = model.coef_.copy(), model.certificate_
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:30], y[:30])
    np.testing.assert_array_equal(model.coef_, before[0])
    assert model.certificate_ is before[1]


@pytest.mark.parametrize("n_features", [4, 80])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("C", [1e-10, 1e10])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_extreme_scales_stay_finite_and_certified(n_features, scale, C, loss):
    X, y = cloud(d=n_features)
    X = X * scale
    model = unconverged_fit(LinearSVC(loss=loss, C=C, max_iter=300), sp.csr_matrix(X), y)
    c = model.certificate_
    w, b = model.coef_[0], model.intercept_[0]
    rounding = C * len(y) * np.finfo(float).eps  # of losses that should be 0
    assert c.primal_objective == pytest.approx(
        primal_objective(X, 2 * y - 1, w, b, C, loss), rel=1e-6, abs=rounding
    )
    assert c.duality_gap >= 0.0
    assert c.converged == (c.duality_gap <= 1e-4 * c.primal_objective * (1 + 1e-9))


def test_overflow_is_an_error_that_says_so():
    X, y = cloud()
    with pytest.raises(ValueError, match="overflow"):
        LinearSVC(C=1e308).fit(X, y, sample_weight=np.full(60, 1e10))
    model = LinearSVC().fit(X, y)
    model.coef_ = model.coef_ * 1e300
    with pytest.raises(ValueError, match="a decision value is not finite"):
        model.decision_function(X * 1e100)


@pytest.mark.parametrize("n_features", [6, 80])
def test_fits_in_threads_give_one_model(n_features):
    X, y = cloud(80, n_features)
    y = y + 2 * (np.arange(80) % 2)
    found = set()

    def fit():
        for _ in range(5):
            found.add(LinearSVC(loss="hinge").fit(sp.csr_matrix(X), y).coef_.tobytes())

    threads = [threading.Thread(target=fit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1


def test_a_callback_sees_the_gap_and_ends_the_fit():
    r = rng(0)
    X = sp.random(4000, 3000, density=0.01, random_state=0, format="csr")
    y = r.integers(0, 2, 4000)
    seen = []

    def stop(report):
        seen.append(report)
        return True

    model = LinearSVC(loss="hinge", C=1e4, tol=1e-10, callback=stop)
    with pytest.raises(Cancelled):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    assert set(seen[0]) == {
        *("n_iter", "relative_gap", "dual_objective", "n_free", "n_bounded", "seconds"),
    }


def test_progress_tells_the_gap(capsys):
    X, y = cloud()
    LinearSVC(verbose=1).fit(X, y)
    assert "relative gap" in capsys.readouterr().err


@pytest.mark.parametrize(("n", "d", "C"), [(33, 200, 1e3), (100, 160, 1e5), (40, 200, 1e7)])
def test_steps_whose_squares_are_lost_in_rounding_still_close_the_gap(n, d, C):
    r = rng(0)
    X = r.standard_normal((n, d))
    y = np.where(r.standard_normal(n) > 0, 1, -1)
    model = unconverged_fit(LinearSVC(loss="hinge", C=C, intercept_scaling=np.inf), X, y)
    assert model.certificate_.converged
    hard = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
    assert model.certificate_.primal_objective == pytest.approx(
        hard.certificate_.primal_objective, rel=1e-4
    )
    assert unconverged_fit(LinearSVC(loss="hinge", C=C), X, y).certificate_.converged
    z = 10.0 + X[:, 0] + r.standard_normal(n)
    assert unconverged_fit(LinearSVR(C=C, epsilon=0.1), X, z).certificate_.converged


def test_coordinate_descent_goes_on_where_newton_takes_hundreds_of_steps():
    r = rng(0)
    X = r.standard_normal((2000, 300))
    y = np.sign(X @ r.standard_normal(300))
    model = unconverged_fit(LinearSVC(C=100.0), X, y)
    assert model.certificate_.converged
    objective = primal_objective(X, y, model.coef_[0], model.intercept_[0], 100.0, "squared_hinge")
    assert model.certificate_.primal_objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVR()])
@pytest.mark.parametrize("scaling", [1.0, np.inf])
def test_no_bound_is_worse_than_that_of_no_dual_variables(estimator, scaling):
    r = rng(0)
    X = r.standard_normal((400, 60))
    y = np.sign(X @ r.standard_normal(60))
    for cap in range(12):
        estimator.set_params(C=1e3, tol=1e-9, max_iter=cap, intercept_scaling=scaling)
        c = unconverged_fit(estimator, X, y).certificate_
        assert 0.0 <= c.relative_gap <= 1.0


def test_rounding_takes_no_gap_below_zero():
    for seed in range(60):
        r = rng(seed)
        X, z = r.standard_normal((2, 2)), r.standard_normal(2)
        for model, y in [
            (LinearSVC(C=0.01, tol=1e-15, max_iter=300), [0, 1]),
            (LinearSVC("l1", tol=1e-15, max_iter=300), [0, 1]),
            (LinearSVR(C=0.01, tol=1e-15, max_iter=300, loss="squared_epsilon_insensitive"), z),
        ]:
            assert unconverged_fit(model, X, y).certificate_.duality_gap >= 0.0


def test_a_bias_without_penalty_begins_where_the_targets_are():
    X = rng(0).standard_normal((3, 8))
    z = 1e4 + np.arange(3.0)
    model = unconverged_fit(LinearSVR(C=0.1, intercept_scaling=np.inf), X, z)
    assert model.certificate_.converged
    near = SVR(kernel="linear", C=0.1, epsilon=0.0, tol=1e-8).fit(X, z - 1e4)
    assert model.certificate_.primal_objective == pytest.approx(
        near.certificate_.primal_objective, rel=1e-4
    )
