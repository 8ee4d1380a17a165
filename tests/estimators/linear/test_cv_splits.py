"""`cv` of LinearSVCCV: splitters and iterables of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.utils import estimator_checks

from maxmargin import LinearSVC, LinearSVCCV
from oracles.online import noisy

X, y = noisy(90, 4)
WEIGHT = np.random.default_rng(0).integers(0, 3, 90).astype(float)
CS = [0.01, 1.0]


def scores_of(splits, weight):
    """Accuracies by fold and C, of machines that are fitted on the rows of each fold."""
    return [
        [
            LinearSVC(C=C, tol=1e-8)
            .fit(X[train], y[train], sample_weight=weight[train])
            .score(X[test], y[test], sample_weight=weight[test])
            for C in CS
        ]
        for train, test in splits
    ]


@pytest.mark.parametrize(
    "cv",
    [
        model_selection.KFold(3),
        model_selection.StratifiedKFold(4, shuffle=True, random_state=1),
        model_selection.ShuffleSplit(5, random_state=2),
        model_selection.TimeSeriesSplit(3),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_a_splitter_and_its_list_train_on_the_rows_it_says(cv):
    splits = list(cv.split(X, y))
    model = LinearSVCCV(Cs=CS, cv=cv, tol=1e-8).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.scores_, scores_of(splits, WEIGHT), rtol=1e-12)
    best = LinearSVC(C=model.C_, tol=1e-8).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-4)
    listed = LinearSVCCV(Cs=CS, cv=iter(splits), tol=1e-8).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(listed.scores_, model.scores_)


def test_folds_may_be_masks_and_lists():
    half = np.arange(90) < 45
    by_mask = LinearSVCCV(Cs=CS, cv=[(half, ~half)]).fit(X, y)
    rows = LinearSVCCV(Cs=CS, cv=[(list(range(45)), range(45, 90))]).fit(X, y)
    np.testing.assert_array_equal(by_mask.scores_, rows.scores_)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv must yield at least one fold"),
        ([(np.arange(90), [90])], "cv must be an integer, a splitter"),
        ([1, 2], "cv must be an integer, a splitter"),
        ("ab", "cv must be an integer"),
        ([([0.5], [1])], "cv must be an integer, a splitter"),
        ([(np.arange(90), [])], "fold 1 holds no sample"),
        ([(np.flatnonzero(y == 1), np.arange(90))], "fold 1 trains on no sample.* of class 0"),
        (1, "cv must be an integer >= 2"),
        (2.5, "cv must be an integer"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        LinearSVCCV(Cs=CS, cv=cv).fit(X, y)


@pytest.mark.parametrize("data", ["dense", "sparse"])
def test_weights_count_as_copies_in_scikit_learns_checks(data):
    check = getattr(estimator_checks, f"check_sample_weight_equivalence_on_{data}_data")
    check("LinearSVCCV", LinearSVCCV(Cs=[0.1, 1.0], cv=3, tol=1e-12))
