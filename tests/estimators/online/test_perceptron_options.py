"""The perceptron's options: learning rate, weights, warm start, single passes, tol and order."""

from __future__ import annotations

import re

import numpy as np
import pytest

from maxmargin import ConvergenceWarning, Perceptron
from oracles.perceptron import FORMS, integers, perceptron, quiet_fit
from oracles.problems import rng


def fit(X, y, **parameters):
    return quiet_fit(Perceptron(**parameters), X, y)


def test_a_warning_tells_the_mistakes_of_the_last_pass():
    X, y = integers(50, 3)
    _, _, mistakes = perceptron(X, 2 * y - 1, 5)
    message = f"^Perceptron did not converge: {mistakes[-1]} mistakes in the last of 5 passes"
    with pytest.warns(ConvergenceWarning, match=message):
        model = Perceptron(max_iter=5).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 5
    with pytest.warns(ConvergenceWarning, match="converge: 2 mistakes in the last of 1 pass\\."):
        Perceptron(max_iter=1).fit([[1.0], [2.0]], [1, 0])


def test_verbose_tells_the_mistakes_of_the_last_pass(capsys):
    X, y = integers(50, 3)
    mistakes = perceptron(X, 2 * y - 1, 5)[2]
    model = fit(X, y, max_iter=5, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    line = f"iteration 5  share of mistakes {mistakes[-1] / 50:.3g}  "
    assert re.fullmatch(re.escape(line) + r"\d+\.\d s\n", err)
    model.partial_fit(X, y)
    assert capsys.readouterr().err.startswith("iteration 1  share of mistakes ")
    fit(X, y, max_iter=5, verbose=0)
    assert capsys.readouterr().err == ""
    fit(X, y, max_iter=5, early_stopping=True, verbose=2, random_state=0)
    assert re.match(r"iteration \d  validation error 0\.\d+  ", capsys.readouterr().err)
    with pytest.raises(ValueError, match="verbose must be"):
        Perceptron(verbose=-1).fit(X, y)


@pytest.mark.parametrize("tol", [0.0, 0.02, 0.5])
def test_tol_stops_after_passes_without_progress_and_does_not_warn(tol):
    X = rng(0).normal(size=(200, 10))
    y = (X[:, 0] + 0.2 * rng(1).normal(size=200) > 0).astype(int)
    model = Perceptron(tol=tol, max_iter=10**6).fit(X, y)
    mistakes = perceptron(X, 2 * y - 1, model.n_iter_)[2]
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    assert not model.converged_
    least, stalled = [len(y)], []
    for count in mistakes:
        stalled.append(count > min(least) - tol * len(y))
        least.append(count)
    assert all(stalled[-5:])
    assert not any(all(stalled[k : k + 5]) for k in range(len(stalled) - 5))


def test_the_learning_rate_scales_the_weights_and_nothing_else():
    X, y = integers(70, 4)
    one, four = fit(X, y, max_iter=6), fit(X, y, max_iter=6, eta0=4.0)
    np.testing.assert_array_equal(four.coef_, 4.0 * one.coef_)
    np.testing.assert_array_equal(four.intercept_, 4.0 * one.intercept_)
    np.testing.assert_array_equal(four.n_mistakes_, one.n_mistakes_)


def test_sample_weights_scale_updates():
    X, y = integers(60, 4)
    weight = rng(5).integers(0, 4, 60).astype(float)
    w, b, mistakes = perceptron(X, 2 * y - 1, 8, weight=weight)
    for form in FORMS.values():
        with pytest.warns(ConvergenceWarning):
            model = Perceptron(max_iter=8).fit(form(X), y, sample_weight=weight)
        np.testing.assert_array_equal(model.coef_, [w])
        np.testing.assert_array_equal(model.intercept_, [b])
        assert model.mistakes_per_pass_[0].tolist() == mistakes


@pytest.mark.parametrize("shuffle", [False, True])
def test_samples_of_weight_zero_might_as_well_not_be_there(shuffle):
    X, y = integers(60, 4)
    weight = (np.arange(60) % 3 > 0).astype(float)
    parameters = {"max_iter": 8, "shuffle": shuffle, "random_state": 3}
    with pytest.warns(ConvergenceWarning):
        weighted = Perceptron(**parameters).fit(X, y, sample_weight=weight)
    without = fit(X[weight > 0], y[weight > 0], **parameters)
    np.testing.assert_array_equal(weighted.coef_, without.coef_)
    np.testing.assert_array_equal(weighted.n_mistakes_, without.n_mistakes_)


def test_class_weights_are_sample_weights_by_class():
    X, y = integers(60, 4)
    weighted = fit(X, y, max_iter=8, class_weight={0: 2.0, 1: 0.5})
    w, b, _ = perceptron(X, 2 * y - 1, 8, weight=np.where(y == 0, 2.0, 0.5))
    np.testing.assert_array_equal(weighted.coef_, [w])
    np.testing.assert_array_equal(weighted.intercept_, [b])
    three = np.arange(60) % 3
    weighted = fit(X, three, max_iter=8, class_weight={0: 2.0, 1: 0.5, 2: 1.0})
    for k, factor in enumerate((2.0, 0.5, 1.0)):
        signs = np.where(three == k, 1, -1)
        w, _, _ = perceptron(X, signs, 8, weight=np.where(signs > 0, factor, 1.0))
        np.testing.assert_array_equal(weighted.coef_[k], w)
    counts = np.bincount(y)
    balanced = fit(X, y, max_iter=8, class_weight="balanced")
    by_hand = fit(X, y, max_iter=8, class_weight=dict(enumerate(60 / (2 * counts))))
    np.testing.assert_array_equal(balanced.coef_, by_hand.coef_)


def test_warm_start_goes_on_where_fit_ended():
    X, y = integers(60, 4)
    model = Perceptron(max_iter=3, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y).fit(X, y)
    np.testing.assert_array_equal(model.coef_, fit(X, y, max_iter=6).coef_)
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, y + 5)
    with pytest.raises(ValueError, match="3 features"):
        model.fit(X[:, :3], y)


def test_partial_fit_is_one_pass():
    X, y = integers(60, 4)
    model = Perceptron()
    for start in (0, 20, 40):
        model.partial_fit(X[start : start + 20], y[start : start + 20], classes=[1, 0])
        assert model.n_iter_ == 1
    whole = fit(X, y, max_iter=1)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    # A batch may hold one class only.
    model.partial_fit(X[y == 0], y[y == 0])


@pytest.mark.parametrize("form", FORMS)
def test_partial_fit_with_zero_weights_changes_nothing(form):
    X, y = integers(40, 4)
    X = FORMS[form](X)
    model = Perceptron().partial_fit(X, y, classes=[0, 1])
    coef, intercept = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(X, y, sample_weight=np.zeros(40))
    assert model.coef_.tobytes() == coef.tobytes()
    assert model.intercept_.tobytes() == intercept.tobytes()
    fresh = Perceptron().partial_fit(X, y, classes=[0, 1], sample_weight=np.zeros(40))
    assert not fresh.coef_.any()
    assert fresh.n_mistakes_.tolist() == [0]


def test_partial_fit_refuses_what_it_cannot_go_on_with():
    X, y = integers(40, 4)
    with pytest.raises(ValueError, match="classes must be passed"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    model = Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="7, which is not in"):
        model.partial_fit(X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="at least two classes"):
        Perceptron().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], y)


def test_shuffling_follows_the_seed():
    X, y = integers(80, 4)
    first = fit(X, y, max_iter=5, shuffle=True, random_state=7)
    again = fit(X, y, max_iter=5, shuffle=True, random_state=7)
    other = fit(X, y, max_iter=5, shuffle=True, random_state=8)
    given = fit(X, y, max_iter=5)
    assert first.coef_.tobytes() == again.coef_.tobytes()
    assert first.coef_.tobytes() != other.coef_.tobytes()
    assert first.coef_.tobytes() != given.coef_.tobytes()
    none, zero = (fit(X, y, max_iter=5, shuffle=True, random_state=state) for state in (None, 0))
    assert none.coef_.tobytes() == zero.coef_.tobytes()
    for state in (np.random.default_rng(1), np.random.RandomState(1), 2**64 - 1):
        fit(X, y, max_iter=5, shuffle=True, random_state=state)


def test_every_order_of_a_pass_is_equally_likely():
    # Three points at 0, so that f is b: in the order +, +, - there are two mistakes, in +, -, + and
    # -, +, + there are three.
    X, y = np.zeros((3, 1)), [1, 1, 0]
    mistakes = [
        fit(X, y, max_iter=1, shuffle=True, random_state=seed).n_mistakes_[0]
        for seed in range(3000)
    ]
    assert np.mean(np.array(mistakes) == 2) == pytest.approx(1 / 3, abs=0.04)
