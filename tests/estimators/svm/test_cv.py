"""SVCCV: the scores, certificates and models of a search are those of a fit for every cell."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics, model_selection
from sklearn.base import clone
from sklearn.utils import estimator_checks

from maxmargin import SVC, SVCCV, Cancelled, ConvergenceWarning, kernels
from oracles.problems import rng

CS, GAMMAS = [0.1, 1.0, 10.0, 1e3], [0.02, 0.3, 4.0]
TOL = 1e-6


def problem(n_classes=2, n=150):
    r = rng(n_classes)
    X = r.normal(size=(n, 4))
    y = np.argmax(X[:, :n_classes] + 0.7 * r.normal(size=(n, n_classes)), axis=1)
    return X, np.array(["c", "a", "b"])[y]


def splits_of(X, y, n_folds=3):
    return list(model_selection.StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))


def cold(X, y, splits, weight=None, scorer=None, gammas=GAMMAS, **params):
    """Scores and models by fold, C and gamma, of a fit for each."""
    weight = np.ones(len(y)) if weight is None else weight
    shape = (len(splits), len(CS), len(gammas))
    scores, models = np.empty(shape), np.empty(shape, dtype=object)
    for (f, (train, test)), (c, C), (g, gamma) in itertools.product(
        enumerate(splits), enumerate(CS), enumerate(gammas)
    ):
        model = SVC(C=C, gamma=gamma, tol=TOL, **params)
        models[f, c, g] = model.fit(X[train], y[train], sample_weight=weight[train])
        if scorer is None:
            scores[f, c, g] = model.score(X[test], y[test], sample_weight=weight[test])
        else:
            scores[f, c, g] = metrics.get_scorer(scorer)(model, X[test], y[test])
    return scores, models


# A cache for all values of 150 samples in float64, in float32, and for none of them.
CACHES = [1000.0, 0.15, 0.01]


@pytest.mark.parametrize("cache_size", CACHES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_scores_and_certificates_are_those_of_cold_fits(n_classes, loss, cache_size):
    X, y = problem(n_classes)
    X[100:] = X[:50]  # equal samples, of equal and of other labels, on both sides of a split
    splits = splits_of(X, y)
    weight = rng(1).integers(0, 3, len(y)).astype(float)
    scores, models = cold(X, y, splits, weight, loss=loss, class_weight="balanced")
    search = SVCCV(
        Cs=CS, gammas=GAMMAS, cv=splits, tol=TOL, loss=loss, class_weight="balanced",
        cache_size=cache_size,
    ).fit(X, y, sample_weight=weight)  # fmt: skip
    np.testing.assert_array_equal(search.scores_, scores)
    for place, model in np.ndenumerate(models):
        found, own = search.certificates_[place], model.certificate_
        assert found.converged
        assert found.kkt_violation < TOL
        assert found.dual_objective == pytest.approx(own.dual_objective, rel=1e-5, abs=1e-7)
        assert found.primal_objective == pytest.approx(own.primal_objective, rel=1e-5, abs=1e-7)
    best = scores.mean(axis=0)
    assert search.best_score_ == best.max()
    c, g = np.argwhere(best == best.max())[0]
    assert (search.C_, search.gamma_) == (CS[c], GAMMAS[g])


def test_the_model_is_that_of_a_fit_on_all_samples():
    X, y = problem(3)
    search = SVCCV(Cs=CS, gammas=GAMMAS, cv=3, tol=TOL, class_weight={"a": 2.0}).fit(X, y)
    model = SVC(C=search.C_, gamma=search.gamma_, tol=TOL, class_weight={"a": 2.0}).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(search.dual_coef_, model.dual_coef_)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.scores_, search.scores_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificates_[0, 0, 0] == search.certificates_[0, 0, 0]
    assert not hasattr(search, "predict_proba")
    calibrated = clone(model).set_params(probability=True).fit(X, y).predict_proba(X)
    search.set_params(probability=True).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), calibrated)


@pytest.mark.parametrize("cache_size", CACHES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_depends_on_the_number_of_threads(n_classes, cache_size):
    X, y = problem(n_classes)
    found = []
    for n_jobs in (1, 2, 3):
        search = SVCCV(Cs=CS, gammas=GAMMAS, cv=4, cache_size=cache_size, n_jobs=n_jobs).fit(X, y)
        names = ("dual_objective", "primal_objective", "kkt_violation", "n_iter")
        numbers = [[getattr(one, name) for name in names] for one in search.certificates_.flat]
        found.append((search.scores_.tolist(), numbers, search.dual_coef_.tolist()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("container", [sp.csr_matrix, np.asarray])
@pytest.mark.parametrize("kernel", ["linear", "precomputed", "object", "callable"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels_without_gamma_have_one_column_of_scores(kernel, n_classes, container):
    X, y = problem(n_classes, 90)
    X += 3.0  # which the linear kernel centres
    splits = splits_of(X, y)
    given = {"object": kernels.RBF(0.2), "callable": lambda A, B: np.asarray((A @ B.T) ** 2)}
    samples, kernel = container(X), given.get(kernel, kernel)
    if kernel == "precomputed":
        samples, container = X @ X.T, np.asarray
    elif not isinstance(kernel, str) and not isinstance(kernel, kernels.RBF):
        samples = X
    expected = np.empty((3, len(CS), 1))
    for (f, (train, test)), (c, C) in itertools.product(enumerate(splits), enumerate(CS)):
        own = samples[np.ix_(train, train)] if kernel == "precomputed" else samples[train]
        rest = samples[np.ix_(test, train)] if kernel == "precomputed" else samples[test]
        expected[f, c, 0] = SVC(C=C, kernel=kernel, tol=TOL).fit(own, y[train]).score(rest, y[test])
    for scoring in (None, "accuracy"):
        search = SVCCV(Cs=CS, kernel=kernel, cv=splits, tol=TOL, scoring=scoring).fit(samples, y)
        np.testing.assert_array_equal(search.scores_, expected)
        assert not hasattr(search, "gamma_")
        assert not hasattr(search, "gammas_")


@pytest.mark.parametrize("cache_size", CACHES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro"])
def test_a_scorer_gets_the_model_of_every_cell(scoring, n_classes, cache_size):
    X, y = problem(n_classes)
    splits = splits_of(X, y)
    scores, models = cold(X, y, splits, scorer=scoring, break_ties=True)
    search = SVCCV(
        Cs=CS, gammas=GAMMAS, cv=splits, tol=TOL, scoring=scoring, cache_size=cache_size,
        break_ties=True,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(search.scores_, scores, rtol=1e-12)
    values = []

    def scorer(model, X, y):
        values.append((model.C, model.gamma, model.decision_function(X)))
        return metrics.accuracy_score(y, model.predict(X))

    SVCCV(
        Cs=CS, gammas=GAMMAS, cv=splits, tol=TOL, scoring=scorer, cache_size=cache_size
    ).fit(X, y)  # fmt: skip
    assert len(values) == models.size
    cells = itertools.product(range(len(GAMMAS)), range(len(CS)), range(len(splits)))
    for (C, gamma, found), (g, c, f) in zip(values, cells, strict=True):
        assert (C, gamma) == (CS[c], GAMMAS[g])
        expected = models[f, c, g].decision_function(X[splits[f][1]])
        np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_samples_may_be_held_out_more_than_once_or_never():
    X, y = problem(3)
    cv = model_selection.ShuffleSplit(4, test_size=0.3, train_size=0.5, random_state=0)
    # Of classes with equal votes, the first wins among the rows trained on, in their order in X.
    scores, _ = cold(X, y, [(np.sort(train), test) for train, test in cv.split(X, y)])
    search = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv, tol=TOL).fit(X, y)
    np.testing.assert_array_equal(search.scores_, scores)


def test_grids_by_default_are_those_of_libsvm():
    X, y = problem(2, 40)
    search = SVCCV(cv=2).fit(X, y)
    np.testing.assert_allclose(search.Cs_, 2.0 ** np.arange(-5, 16, 2))
    np.testing.assert_allclose(search.gammas_, 2.0 ** np.arange(-15, 4, 2))
    assert search.scores_.shape == search.certificates_.shape == (2, 11, 10)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, "Cs must be a 1D array of at least one number"),
        ({"Cs": [0.0, 1.0]}, "Cs must hold finite numbers > 0 in ascending order"),
        ({"Cs": [1.0, np.inf]}, "Cs must hold finite numbers > 0"),
        ({"gammas": 0}, "gammas must be an integer >= 1"),
        ({"gammas": [1.0, np.nan]}, "gammas must hold finite numbers"),
        ({"cv": 1}, "cv must be an integer >= 2"),
        ({"cv": 149}, "cv=149 needs at least 149 samples of every class"),
        ({"cv": []}, "cv must yield at least one fold"),
        ({"scoring": 3}, "scoring must be None, a name or a callable"),
        ({"scoring": lambda *_: "good"}, "scoring must return a number, got 'good'"),
        ({"loss": "log"}, "loss must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"kernel": kernels.RBF(1.0), "coef0": 1.0}, "coef0 must be"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_bad_input_is_refused_and_the_model_of_before_survives(params, message):
    X, y = problem()
    search = SVCCV(Cs=[1.0], gammas=[0.3], cv=3).fit(X, y)
    before = search.predict(X)
    with pytest.raises(ValueError, match=message):
        search.set_params(**params).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), before)


def test_a_scorer_that_raises_ends_the_search():
    def scorer(model, X, y):
        raise RuntimeError("no score")

    with pytest.raises(RuntimeError, match="no score"):
        SVCCV(Cs=[1.0], gammas=[0.3], cv=3, scoring=scorer).fit(*problem())


def test_a_callback_sees_the_share_done_and_stops_the_search():
    r = rng(0)
    X, y = r.normal(size=(1500, 5)), r.integers(0, 2, 1500)
    reports = []
    search = SVCCV(Cs=[1.0, 10.0, 100.0, 1e3], gammas=[0.1, 1.0], cv=3, callback=reports.append)
    search.fit(X, y)
    shares = [report["share_done"] for report in reports if "share_done" in report]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0
    assert reports[-1]["kkt_violation"] == search.certificate_.kkt_violation
    dual_coef = search.dual_coef_
    with pytest.raises(Cancelled):
        search.set_params(callback=lambda report: True).fit(X, y)
    np.testing.assert_array_equal(search.dual_coef_, dual_coef)


@pytest.mark.parametrize("params", [{}, {"cache_size": 0.01}, {"scoring": "accuracy"}], ids=str)
def test_what_the_time_limit_left_out_has_no_score(params):
    X, y = rng(0).normal(size=(400, 5)), np.arange(400) % 2
    search = SVCCV(Cs=CS, gammas=GAMMAS, cv=3, time_limit=1e-9, **params)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        search.fit(X, y)
    assert np.isnan(search.scores_).all()
    assert {one.stop_reason for one in search.certificates_.flat} == {"time_limit"}
    assert (search.C_, search.gamma_) == (CS[0], GAMMAS[0])
    search.predict(X)


@pytest.mark.parametrize("data", ["dense", "sparse"])
def test_weights_count_as_copies_in_scikit_learns_checks(data):
    check = getattr(estimator_checks, f"check_sample_weight_equivalence_on_{data}_data")
    check("SVCCV", SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 1.0], cv=3, tol=1e-12))
