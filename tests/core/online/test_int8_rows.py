"""The perceptron on int8 rows makes the mistakes that it makes on the rows themselves."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from maxmargin import Perceptron, SGDClassifier
from oracles.perceptron import quiet_fit
from oracles.problems import rng

N, D = 6000, 60  # enough for int8 rows, if passes are four at least


def clouds(dtype, distance=4.0, seed=0):
    """Two clouds, some of whose labels are wrong."""
    random = rng(seed)
    y = random.integers(0, 2, N)
    X = random.normal(size=(N, D)) + distance / np.sqrt(D) * (2.0 * y[:, None] - 1.0)
    return X.astype(dtype), np.where(random.random(N) < 0.01, 1 - y, y)


def pass_by_pass(X, y, n_passes, **parameters):
    """The same passes in the order given, a call for each."""
    model = Perceptron(max_iter=1, warm_start=True, **parameters)
    mistakes = []
    for _ in range(n_passes):
        quiet_fit(model, X, y)
        mistakes.append([int(m[0]) for m in model.mistakes_per_pass_])
    return model, np.transpose(mistakes).tolist()


def assert_same(X, y, n_passes=6, **parameters):
    wanted, mistakes = pass_by_pass(X, y, n_passes, **parameters)
    model = quiet_fit(Perceptron(max_iter=n_passes, **parameters), X, y)
    assert [m.tolist() for m in model.mistakes_per_pass_] == mistakes
    assert model.coef_.tobytes() == wanted.coef_.tobytes()
    assert model.intercept_.tobytes() == wanted.intercept_.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("distance", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_mistakes_are_those_of_the_rows(dtype, distance, fit_intercept):
    X, y = clouds(dtype, distance)
    assert_same(X, y, fit_intercept=fit_intercept)


def test_with_a_margin_and_class_weights():
    X, y = clouds(np.float64)
    assert_same(X, y, margin=30.0, class_weight={0: 1.0, 1: 2.5})


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_with_several_classes(n_jobs):
    X, y = clouds(np.float64)
    y = y + 2 * (X[:, 0] > 0.3)
    assert_same(X, y, n_jobs=n_jobs)


def test_margins_that_codes_cannot_decide():
    """Every score is an integer, most often 0 or next to it: on the very edge of a mistake."""
    random = rng(3)
    X = np.zeros((N, D))
    X[np.arange(N), random.integers(0, D, N)] = random.choice([-1.0, 1.0], N)
    X[:, 0] = 127.0
    X[::7] = 0.0
    assert_same(X, random.integers(0, 2, N))


def test_products_as_large_as_their_integers():
    """Equal elements and weights in the most columns: the largest products that codes have."""
    random = rng(4)
    X = np.where(random.random((21, 1)) < 0.5, -1.0, 1.0) * np.ones((21, 1 << 16))
    assert_same(X, random.integers(0, 2, 21), fit_intercept=False)


def assert_goes_on(model, X, y, n_passes=6):
    """Whether passes from the weights of the model are those of calls for one pass each."""
    one_by_one, at_once = copy.deepcopy(model), copy.deepcopy(model)
    one_by_one.max_iter, at_once.max_iter = 1, n_passes
    mistakes = []
    for _ in range(n_passes):
        mistakes += quiet_fit(one_by_one, X, y).n_mistakes_.tolist()
    quiet_fit(at_once, X, y)
    assert at_once.mistakes_per_pass_[0].tolist() == mistakes
    assert at_once.coef_.tobytes() == one_by_one.coef_.tobytes()


def test_from_weights_that_are_there():
    X, y = clouds(np.float64)
    model = quiet_fit(Perceptron(max_iter=1, warm_start=True), X[:1000], y[:1000])
    assert_goes_on(model, X, y)


def test_weights_that_are_rounded_to_nothing():
    """One weight is so large that integers keep nothing of the others, which outweigh it."""
    random = rng(5)
    signs = random.choice([-1.0, 1.0], 2000)
    X = 127.0 * np.where(random.random((400, 1)) < 0.5, signs, random.choice([-1.0, 1.0], 2000))
    X[:, 0] = 1.0
    y = np.arange(400) % 2
    model = Perceptron(max_iter=1, warm_start=True, fit_intercept=False, eta0=1e-9)
    quiet_fit(model, X, y)
    model.coef_ = -0.4 / 32767 * signs[None, :]
    model.coef_[0, 0] = 1.0
    assert_goes_on(model, X, y)


@pytest.mark.parametrize("factor", [1e-12, 1e12, 1e40])
def test_offsets_of_any_size(factor):
    """Far below, or above, what the rows add."""
    X, y = clouds(np.float64, distance=1.0)
    assert_same(X * factor, y)


@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e-25, 1e25, 1e40, 1e120])
def test_numbers_of_any_size(scale):
    X, y = clouds(np.float64)
    X[: N // 2] *= scale
    assert_same(X, y)


def test_columns_and_rows_of_different_scales():
    X, y = clouds(np.float64)
    assert_same(X * np.logspace(-6, 6, D), y)
    assert_same(X * np.logspace(-6, 6, N)[:, None], y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shuffled_passes_are_those_of_a_fit_too_short_for_codes(dtype):
    X, y = clouds(dtype)
    few = quiet_fit(Perceptron(max_iter=3, shuffle=True, random_state=5), X, y)
    many = quiet_fit(Perceptron(max_iter=7, shuffle=True, random_state=5), X, y)
    assert many.mistakes_per_pass_[0][:3].tolist() == few.mistakes_per_pass_[0].tolist()
    assert many.n_iter_ == 7


def test_examples_without_weight_are_left_out():
    X, y = clouds(np.float64)
    weight = np.where(np.arange(N) % 3 == 0, 0.0, 1.0)
    kept = weight > 0
    model = quiet_fit(Perceptron(max_iter=6), X, y, sample_weight=weight)
    alone = quiet_fit(Perceptron(max_iter=6), X[kept], y[kept])
    assert model.coef_.tobytes() == alone.coef_.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (N // 2, D // 2), (N - 1, D - 1)])
@pytest.mark.parametrize("max_iter", [3, 6])  # without int8 rows, and with them
def test_what_is_not_finite_is_refused(dtype, value, place, max_iter):
    X, y = clouds(dtype)
    model = quiet_fit(Perceptron(max_iter=max_iter), X, y)
    coef = model.coef_.copy()
    X[place] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=rf"{kind}.*row {place[0]}, column {place[1]}$"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("max_iter", [3, 6])
def test_too_large_numbers_are_refused(max_iter):
    X, y = clouds(np.float64)
    X[N // 3, 5] = 1e160
    with pytest.raises(ValueError, match="squares overflow"):
        Perceptron(max_iter=max_iter).fit(X, y)
    with pytest.raises(ValueError, match="squares overflow"):
        Perceptron().partial_fit(X, y, classes=[0, 1], sample_weight=np.zeros(N))


def test_subgradient_descent_without_penalty_is_the_same():
    X, y = clouds(np.float64)
    parameters = {"loss": "perceptron", "penalty": None, "learning_rate": "constant", "eta0": 1.0}
    online = quiet_fit(
        SGDClassifier(max_iter=6, tol=None, shuffle=False, average=False, **parameters), X, y
    )
    wanted, _ = pass_by_pass(X, y, 6)
    np.testing.assert_array_equal(online.coef_, wanted.coef_)
