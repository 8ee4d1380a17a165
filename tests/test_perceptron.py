"""The primal perceptron against its definition, Novikoff's bound and hard inputs."""

from __future__ import annotations

import _thread
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, NotFittedError, Perceptron, _core
from maxmargin.diagnostics import functional_margin, mistake_bound
from oracles import rng

FORMS = {
    "float64": lambda X: np.asarray(X, dtype=np.float64),
    "float32": lambda X: np.asarray(X, dtype=np.float32),
    "csr": lambda X: sp.csr_matrix(np.asarray(X, dtype=np.float64)),
    "csr float32": lambda X: sp.csr_matrix(np.asarray(X, dtype=np.float32)),
    "csr int64": lambda X: sp.csr_matrix(
        (
            (S := sp.csr_matrix(np.asarray(X, dtype=np.float64))).data,
            S.indices.astype(np.int64),
            S.indptr.astype(np.int64),
        ),
        shape=S.shape,
    ),
}


def perceptron(X, y, max_iter, fit_intercept=True, weight=None, w=None, b=0.0):
    """Rosenblatt's rule as it is written; y in {-1, +1}."""
    X = np.asarray(X, dtype=np.float64)
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    weight = np.ones(len(y)) if weight is None else weight
    mistakes = []
    for _ in range(max_iter):
        mistakes.append(0)
        for x, label, rate in zip(X, y, weight, strict=True):
            if rate > 0 and label * (w @ x + b) <= 0:
                w += rate * label * x
                b += rate * label * fit_intercept
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return w, b, mistakes


def integers(n, d, seed=0, density=1.0):
    """Data on which sums are exact in every order, and labels that no line separates."""
    X = rng(seed).integers(-4, 5, size=(n, d)).astype(float)
    X[rng(seed + 1).random((n, d)) > density] = 0.0
    y = rng(seed + 2).integers(0, 2, n)
    y[: min(n, 2)] = [0, 1][: min(n, 2)]
    return X, y


def separable(n, d, seed=0, gap=0.1):
    """Data with a unit separator (w, b) and no point closer to it than about `gap`."""
    X = rng(seed).normal(size=(n, d))
    separator = rng(seed + 1).normal(size=d + 1)
    separator /= np.linalg.norm(separator)
    w, b = separator[:-1], separator[-1]
    X = X[np.abs(X @ w + b) > gap]
    return X, (X @ w + b > 0).astype(int), w, b


def fit(X, y, **parameters):
    """Fit without the warning that the data are not separable."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Perceptron(**parameters).fit(X, y)


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (3, 7), (50, 4), (101, 33), (60, 100), (64, 257)])
def test_equals_the_definition_exactly_on_integers(form, fit_intercept, shape):
    X, y = integers(*shape)
    w, b, mistakes = perceptron(X, 2 * y - 1, 25, fit_intercept)
    model = fit(FORMS[form](X), y, max_iter=25, fit_intercept=fit_intercept)
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    assert model.n_iter_ == len(mistakes)
    assert model.n_mistakes_.tolist() == [sum(mistakes)]
    assert model.converged_ == (mistakes[-1] == 0)
    np.testing.assert_array_equal(model.coef_, [w])
    np.testing.assert_array_equal(model.intercept_, [b])


@pytest.mark.parametrize("form", FORMS)
def test_equals_the_definition_on_real_numbers(form):
    X, y, _, _ = separable(400, 30)
    X = X.astype(np.float32)
    w, b, mistakes = perceptron(X, 2 * y - 1, 1000)
    model = Perceptron().fit(FORMS[form](X), y)
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-12)
    assert model.intercept_[0] == b


def test_sparse_rows_equal_dense_ones():
    X, y = integers(80, 50, density=0.1)
    X[7] = 0.0
    dense = fit(X, y, max_iter=9)
    for form in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        sparse = fit(form(X), y, max_iter=9)
        np.testing.assert_array_equal(sparse.coef_, dense.coef_)
        np.testing.assert_array_equal(sparse.decision_function(form(X)), dense.decision_function(X))


def test_float32_samples_have_float64_weights():
    # 2^24 + 1 is not a float32: the first feature's weight would stay at 2^24.
    X = np.array([[2.0**24, 0.0], [1.0, 1.0]], dtype=np.float32)
    model = fit(X, [0, 1], max_iter=1, fit_intercept=False)
    assert model.coef_.tolist() == [[-(2.0**24) + 1.0, 1.0]]
    assert model.coef_.dtype == np.float64


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shuffle", [False, True])
def test_mistakes_are_within_novikoffs_bound(form, seed, shuffle):
    X, y, w, b = separable(500, 5, seed=10 * seed)
    X = X.astype(np.float32)
    model = Perceptron(max_iter=10**6, shuffle=shuffle, random_state=seed)
    model.fit(FORMS[form](X), y)
    assert model.converged_
    assert (model.predict(FORMS[form](X)) == y).all()
    margin = (functional_margin(X, y, w, b) / np.linalg.norm([*w, b])).min()
    bound = (np.square(X.astype(float)).sum(axis=1).max() + 1) / margin**2
    assert mistake_bound(X, y, w, b) == pytest.approx(bound, rel=1e-12)
    assert 1 <= model.n_mistakes_[0] <= bound


def test_a_zero_score_is_a_mistake_in_training_and_positive_in_prediction():
    X = [[0.0], [0.0]]
    model = fit(X, ["a", "b"], max_iter=1)
    assert model.n_mistakes_[0] == 2
    assert model.decision_function(X).tolist() == [0.0, 0.0]
    assert model.predict(X).tolist() == ["b", "b"]


def test_labels_keep_their_type_and_order_of_first_appearance_does_not_matter():
    X, y, _, _ = separable(60, 3)
    values = Perceptron().fit(X, y).decision_function(X)
    for pair in ((-1, 1), (0, 1), (1, 2), (False, True), ("a", "b"), (-2.0, 3.0)):
        model = Perceptron().fit(X, np.array(pair)[y])
        assert model.classes_.tolist() == list(pair)
        np.testing.assert_array_equal(model.decision_function(X), values)
        np.testing.assert_array_equal(model.predict(X), np.array(pair)[y])
        assert model.score(X, np.array(pair)[y]) == 1.0


# -- several classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4])
def test_several_classes_are_one_problem_each_against_the_rest(n_jobs):
    X, _ = integers(90, 6)
    y = np.arange(90) % 3
    model = fit(X, y, max_iter=7, n_jobs=n_jobs)
    for k in range(3):
        w, b, mistakes = perceptron(X, np.where(y == k, 1, -1), 7)
        np.testing.assert_array_equal(model.coef_[k], w)
        assert model.intercept_[k] == b
        assert model.mistakes_per_pass_[k].tolist() == mistakes
    assert model.decision_function(X).shape == (90, 3)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


# -- options ---------------------------------------------------------------------------------------


def test_a_warning_tells_the_mistakes_of_the_last_pass():
    X, y = integers(50, 3)
    _, _, mistakes = perceptron(X, 2 * y - 1, 5)
    with pytest.warns(ConvergenceWarning, match=rf"made {mistakes[-1]} mistake.*max_iter=5"):
        model = Perceptron(max_iter=5).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 5


def test_tol_stops_after_passes_without_progress_and_does_not_warn():
    X, y = integers(200, 3)
    model = Perceptron(tol=1e-3, max_iter=10**6).fit(X, y)
    mistakes = perceptron(X, 2 * y - 1, model.n_iter_)[2]
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    assert not model.converged_
    least, stalled = [len(y)], []
    for count in mistakes:
        stalled.append(count > min(least) - 1e-3 * len(y))
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
    for state in (np.random.default_rng(1), np.random.RandomState(1), None, 2**64 - 1):
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


# -- layouts, threads, states ----------------------------------------------------------------------


def test_memory_layout_does_not_matter_and_nothing_is_changed():
    X, y = integers(40, 6)
    reference = fit(X, y, max_iter=5).coef_
    big = np.ones((80, 12))
    big[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    for form in (
        np.asfortranarray(X),
        read_only,
        big[::2, ::2],
        X[::-1].copy()[::-1],
        X.astype(">f8"),
        X.astype(object),
        X.astype(np.int8),
        X.tolist(),
    ):
        before = np.array(form, copy=True)
        np.testing.assert_array_equal(fit(form, y, max_iter=5).coef_, reference)
        np.testing.assert_array_equal(np.asarray(form), before)
    S = sp.csr_matrix(X)
    for array in (S.data, S.indices, S.indptr):
        array.flags.writeable = False
    np.testing.assert_array_equal(fit(S, y, max_iter=5).coef_, reference)


def test_threads_do_not_change_the_result():
    X, _ = integers(300, 20)
    y = np.arange(300) % 5
    with ThreadPoolExecutor(8) as pool:
        runs = [
            pool.submit(
                Perceptron(
                    max_iter=40, tol=1e-9, shuffle=True, random_state=1, n_jobs=1 + k % 3
                ).fit,
                X,
                y,
            )
            for k in range(40)
        ]
        models = [run.result() for run in runs]
    assert len({model.coef_.tobytes() for model in models}) == 1


def test_a_model_survives_pickling_and_refitting():
    X, y, _, _ = separable(60, 3)
    model = Perceptron().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 3), np.nan), [0, 1, 1])
    np.testing.assert_array_equal(copy.coef_, model.coef_)


def test_ctrl_c_ends_a_fit():
    X, y = integers(3000, 50)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    model = Perceptron(max_iter=2**62)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.monotonic() - begin < 5.0
    timer.join()
    with pytest.raises(NotFittedError):
        model.predict(X)
    fit(X, y, max_iter=2)


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"eta0": 0.0}, "eta0 must be a finite number > 0, got 0.0"),
        ({"eta0": np.inf}, "eta0"),
        ({"tol": -1.0}, "tol must be a finite number >= 0, got -1.0"),
        ({"tol": "1"}, "tol"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"shuffle": None}, "shuffle"),
        ({"warm_start": "no"}, "warm_start"),
        ({"random_state": -1}, "random_state must be None"),
        ({"random_state": 1.5}, "random_state"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = integers(10, 2)
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit(X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e308, 1e150, 1e-300, 1e-320])
def test_extreme_scales_give_finite_weights_or_an_error(form, scale):
    X, y, _, _ = separable(60, 3)
    with np.errstate(over="ignore", under="ignore"):
        X = FORMS[form](X * scale)
    try:
        model = fit(X, y, max_iter=50)
    except ValueError as error:
        assert "X" in str(error) or "overflow" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


def test_weights_that_overflow_are_an_error():
    X = np.array([[1e150, 1.0], [1e150, -1.0]])
    with pytest.raises(ValueError, match="overflow"):
        fit(X, [0, 1], eta0=1e160, max_iter=3)
    with pytest.raises(ValueError, match="overflows; reduce them"):
        Perceptron(eta0=1e200).fit(X, [0, 1], sample_weight=[1e200, 1.0])


def test_bad_data_are_refused():
    X, y = integers(10, 2)
    for bad_y, message in ((np.zeros(10), "one class"), (y[:9], "9 labels"), (y + 0.5, "contin")):
        with pytest.raises(ValueError, match=message):
            Perceptron().fit(X, bad_y)
    for bad_x in (X[:0], X[:, :0], X[0], np.full_like(X, np.inf)):
        with pytest.raises(ValueError):
            Perceptron().fit(bad_x, y)
    with pytest.raises(ValueError, match="sample_weight is zero"):
        Perceptron().fit(X, y, sample_weight=np.zeros(10))
    with pytest.raises(NotFittedError):
        Perceptron().predict(X)
    model = fit(X, y, max_iter=3)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])


# -- the core --------------------------------------------------------------------------------------


def test_the_core_guards_its_memory():
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    one = np.array([1])
    good = [X, y, np.zeros(0), one, np.zeros((1, 2)), np.zeros(1), np.ones((1, 2))]
    _core.perceptron_fit(*good, max_iter=1)
    bad = {
        1: y[:3],
        2: np.ones(3),
        4: np.zeros((1, 3)),
        5: np.zeros(2),
        6: np.ones((1, 1)),
    }
    for place, value in bad.items():
        arguments = [value if k == place else argument for k, argument in enumerate(good)]
        with pytest.raises(ValueError):
            _core.perceptron_fit(*arguments, max_iter=1)
