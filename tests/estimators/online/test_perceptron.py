"""The primal perceptron against its definition, Novikoff's bound and hard inputs."""

from __future__ import annotations

import _thread
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import NotFittedError, Perceptron, _core
from maxmargin.diagnostics import functional_margin, mistake_bound
from oracles.perceptron import FORMS, integers, perceptron, quiet_fit, separable


def fit(X, y, **parameters):
    return quiet_fit(Perceptron(**parameters), X, y)


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
    margin = (functional_margin(w, X, y, b=b) / np.linalg.norm([*w, b])).min()
    bound = (np.square(X.astype(float)).sum(axis=1).max() + 1) / margin**2
    assert mistake_bound(w, X, y, b=b) == pytest.approx(bound, rel=1e-12)
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
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
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


def parts_of(states):
    """The parts of a state of training by name."""
    names = ("w", "b", "average_w", "average_b", "n_steps", "n_averaged", "lost", "due")
    return {name: getattr(states, name) for name in names}


def test_a_state_of_training_holds_parts_that_fit_and_survives_pickling():
    X, _ = integers(60, 4)
    for parameters in ({}, {"average": True, "penalty": "l1"}, {"multi_class": "crammer_singer"}):
        model = fit(X, np.arange(60) % 3, max_iter=3, **parameters)
        parts = parts_of(model._model.states)
        for copy in (
            pickle.loads(pickle.dumps(model._model.states)),
            _core.OnlineStates(**parts),
            model._model.states.with_weights(parts["w"], parts["b"]),
        ):
            for name, part in parts.items():
                np.testing.assert_array_equal(getattr(copy, name), part)
        for name, part in parts.items():
            wrong = [np.append(part, part, axis=0)] if part.size else [np.ones((1, 3))]
            if part.dtype == np.float64 and part.size:
                wrong.append(np.full_like(part, np.nan))
            for value in wrong:
                with pytest.raises(ValueError, match="a state of training"):
                    _core.OnlineStates(**{**parts, name: value})
        with pytest.raises(ValueError, match="a row for every function"):
            model._model.states.with_weights(parts["w"][:, :-1], parts["b"])


def test_the_core_guards_its_memory():
    none = np.zeros(0)
    settings = _core.OnlineSettings()
    settings.passes.max_iter = 1
    other = (
        Perceptron(max_iter=1).partial_fit(np.ones((2, 3)), [0, 1], classes=[0, 1])._model.states
    )
    three = Perceptron(max_iter=1).partial_fit(np.ones((3, 2)), [0, 1, 2], [0, 1, 2])._model.states
    good = {
        "X": np.ones((4, 2)),
        "y": np.array([0, 1, 0, 1]),
        "weight": none,
        "validation_weight": none,
        "class_weight": np.ones((1, 2)),
        "positive": np.array([1]),
        "settings": settings,
    }
    _core.online_fit(**good)
    bad = [
        {"y": np.array([0, 1, 0])},
        {"weight": np.ones(3)},
        {"validation_weight": np.ones(3)},
        {"class_weight": np.ones(3)},
        {"class_weight": np.ones(1), "positive": np.zeros(0, dtype=np.int64)},
        {"y": np.array([0, 1, 2, 1]), "positive": np.zeros(0, dtype=np.int64)},
        {"start": other},
        {"start": three},
    ]
    for change in bad:
        with pytest.raises(ValueError):
            _core.online_fit(**{**good, **change})
