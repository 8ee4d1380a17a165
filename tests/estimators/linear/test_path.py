"""The path of linear models along a grid of C, and the choice of C by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, LinearSVCCV
from oracles.problems import rng

GRID = [0.01, 0.1, 1.0, 10.0]


def classes(n=150, d=8, n_classes=3):
    r = rng(3)
    X = r.normal(size=(n, d))
    return X, (X[:, :n_classes] + 0.7 * r.normal(size=(n, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("parameters", [{}, {"loss": "hinge"}, {"penalty": "l1"}], ids=str)
def test_a_path_has_the_solution_of_every_single_fit(parameters):
    X, y = classes()
    estimator = LinearSVC(tol=1e-6, **parameters)
    models = estimator.path(sp.csr_matrix(X), y, GRID)
    assert not hasattr(estimator, "coef_")
    assert [model.C for model in models] == GRID
    for model in models:
        alone = LinearSVC(C=model.C, tol=1e-6, **parameters).fit(X, y)
        assert model.certificate_.converged
        assert model.certificate_.primal_objective == pytest.approx(
            alone.certificate_.primal_objective, rel=1e-5
        )
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=0.02)
        assert len(model.certificate_.machines) == 3


def test_warm_starts_save_passes():
    X, y = classes(n=400, n_classes=2)
    grid = np.logspace(-2, 1, 30)
    models = LinearSVC(tol=1e-6).path(sp.csr_matrix(X), y, grid)
    alone = [LinearSVC(tol=1e-6, C=C).fit(sp.csr_matrix(X), y).n_iter_ for C in grid]
    assert sum(model.n_iter_ for model in models) < 0.8 * sum(alone)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cross_validation_scores_are_those_of_single_fits(n_classes):
    X, y = classes(n_classes=n_classes)
    weight = rng(4).random(len(y)) + 0.1
    model = LinearSVCCV(Cs=GRID, cv=4, tol=1e-6, random_state=7).fit(X, y, sample_weight=weight)
    assert model.scores_.shape == (4, 4)
    assert GRID[model.scores_.mean(axis=0).argmax()] == model.C_
    alone = LinearSVC(C=model.C_, tol=1e-6).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=5e-3)
    again = LinearSVCCV(Cs=GRID, cv=4, tol=1e-6, random_state=7, n_jobs=1)
    again.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(again.scores_, model.scores_)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_a_score_is_the_accuracy_on_what_was_held_out():
    # Eight points, of which one fold of two must hold out each twin; a far outlier is set apart.
    X = np.repeat([[-1.0], [1.0]], 10, axis=0)
    y = np.repeat([0, 1], 10)
    assert (LinearSVCCV(Cs=[1.0], cv=5).fit(X, y).scores_ == 1.0).all()
    random = LinearSVCCV(Cs=[1.0], cv=5).fit(rng(0).normal(size=(200, 1)), np.arange(200) % 2)
    assert 0.3 < random.scores_.mean() < 0.7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": 0}, "Cs must be an integer >= 1, got 0"),
        ({"Cs": [1.0, 0.5]}, "Cs must hold finite numbers > 0 in ascending order"),
        ({"Cs": []}, "Cs must be a 1D array"),
        ({"Cs": ["a"]}, "Cs must hold real numbers"),
        ({"cv": 1}, "cv must be an integer >= 2, got 1"),
        ({"cv": 60}, "class 2 has"),
    ],
)
def test_bad_grids_are_refused(parameters, message):
    X, y = classes()
    with pytest.raises(ValueError, match=message):
        LinearSVCCV(**parameters).fit(X, y)
