"""Subgradient steps that do not lead towards the optimum."""

import numpy as np
import pytest

from maxmargin import ConvergenceWarning, SGDClassifier
from oracles.online import noisy

RATES = ["optimal", "pegasos"]


@pytest.mark.parametrize("rate", RATES)
def test_weights_that_end_worse_than_0_are_not_called_converged(rate):
    """With the squared hinge, whose slope grows with w, steps may grow as well."""
    X, y = noisy(300, 30, seed=3)
    model = SGDClassifier(loss="squared_hinge", learning_rate=rate, alpha=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"no better than weights of 0.*'constant'"):
        model.fit(X, y)
    assert model.objective_[0] > 1.0  # that of weights of 0
    assert not model.converged_


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("average", [False, True])
def test_weights_that_overflow_are_refused_and_leave_the_fit_before(rate, average):
    X, y = noisy(300, 30, seed=3)
    model = SGDClassifier(learning_rate="constant", average=average, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.set_params(loss="squared_hinge", learning_rate=rate)
    with pytest.raises(ValueError, match=r"overflow.*'constant' or 'invscaling' with a small eta0"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_penalty_l1_may_lead_the_steps_of_pegasos_astray():
    X, y = noisy(400, 6, seed=4)
    model = SGDClassifier(penalty="l1", alpha=1e-3, learning_rate="pegasos", random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"no better than weights of 0|did not converge"):
        model.fit(X, y)
    assert not model.converged_
