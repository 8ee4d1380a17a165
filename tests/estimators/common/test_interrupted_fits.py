"""Ctrl-C and MemoryError at every line of a fit: the old model or the new one, never a mixture."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import SVC
from oracles.problems import rng
from support.interrupt import assert_old_or_new_at_every_line


def samples(seed, classes, n=20):
    X = rng(seed).normal(size=(n, 3))
    codes = np.arange(n) % len(classes)
    X[:, 0] += 4 * codes
    return X, np.array(classes)[codes]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("estimator", [SVC()], ids=repr)
def test_a_refit_on_other_data(estimator, error):
    model = clone(estimator).set_params(n_jobs=1).fit(*samples(1, [0, 1, 2]))
    new = samples(2, [5, 6, 7, 8])
    assert_old_or_new_at_every_line(model, lambda model: model.fit(*new), new[0], error=error)
