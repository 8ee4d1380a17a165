"""Folds of a cross-validation: every class shared out, samples without weight in none."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVC, LinearSVCCV
from maxmargin._estimator.folds import stratified_folds

CODES = np.repeat([0, 1, 2], [17, 8, 24])
WEIGHT = np.where(np.arange(49) % 7 == 3, 0.0, 2.0)


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("n_folds", [2, 5])
def test_every_class_is_shared_out(n_folds, goes_on):
    fold_of = stratified_folds(CODES, WEIGHT, n_folds, 3, goes_on=goes_on)
    assert (fold_of == -1).tolist() == (WEIGHT == 0.0).tolist()
    sizes = np.array(
        [np.bincount(fold_of[(c == CODES) & (WEIGHT > 0.0)], minlength=n_folds) for c in range(3)]
    )
    assert (sizes.max(axis=1) - sizes.min(axis=1) <= 1).all()
    if goes_on:
        assert np.ptp(sizes.sum(axis=0)) <= 1
    else:
        assert (np.diff(sizes) <= 0).all()


def test_the_seed_decides():
    same = [stratified_folds(CODES, WEIGHT, 5, seed).tolist() for seed in (3, 3, 4)]
    assert same[0] == same[1] != same[2]


@pytest.mark.parametrize(
    ("estimator", "what"),
    [(SVC(probability=True), "probability=True needs at least 5"),
     (LinearSVCCV(cv=5), "cv=5 needs at least 5")],
    ids=["SVC", "LinearSVCCV"],
)  # fmt: skip
def test_a_class_that_is_too_small_is_named(estimator, what):
    X, y = np.arange(18.0)[:, np.newaxis], ["a"] * 6 + ["b"] * 5 + ["c"] * 7
    message = rf"{what} samples of every class, of positive weight, .* but class 'b' has 4"
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, np.arange(18.0) != 8.0)
