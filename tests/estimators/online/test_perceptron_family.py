"""The perceptron's variants: margin, average, votes, penalties, and streams in mapped files."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Perceptron, SGDClassifier
from oracles.online import subgradient
from oracles.perceptron import FORMS, integers, perceptron, quiet_fit
from oracles.problems import rng


def fit(X, y, **parameters):
    return quiet_fit(Perceptron(**parameters), X, y)


def separators(X, y, passes, fit_intercept=True, weight=None):
    """All separators of a run and how many examples each survived; y in {-1, +1}."""
    weight = np.ones(len(y)) if weight is None else weight
    w, b, found, survived = np.zeros(X.shape[1]), 0.0, [], []
    for _ in range(passes):
        for x, label, c in zip(X, y, weight, strict=True):
            if c == 0:
                continue
            if label * (w @ x + b) <= 0:
                w, b = w + c * label * x, b + c * label * fit_intercept
                found.append((w, b))
                survived.append(1)
            else:
                survived[-1] += 1
    return found, np.array(survived)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_votes_are_those_of_all_separators(form, fit_intercept):
    X, y = integers(60, 5, density=0.7)
    queries = rng(8).integers(-4, 5, size=(50, 5)).astype(float)
    found, survived = separators(X, 2 * y - 1, 6, fit_intercept)
    votes = sum(
        count * np.where(queries @ w + b >= 0, 1, -1)
        for (w, b), count in zip(found, survived, strict=True)
    )
    model = fit(FORMS[form](X), y, voted=True, max_iter=6, fit_intercept=fit_intercept)
    expected = votes / survived.sum()
    np.testing.assert_allclose(model.decision_function(FORMS[form](queries)), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(queries), (votes >= 0).astype(int))
    np.testing.assert_array_equal(model.coef_[0], found[-1][0])
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(queries), votes / survived.sum())


def test_votes_of_sparse_data_leave_the_rows_sparse():
    n, d = 200, 200_000
    columns = rng(0).integers(0, d, size=(n, 5))
    X = sp.csr_matrix((np.ones(5 * n), (np.repeat(np.arange(n), 5), columns.ravel())), shape=(n, d))
    y = np.arange(n) % 2
    model = fit(X, y, voted=True, fit_intercept=False)
    used = X[:, np.unique(columns)].toarray()
    found, survived = separators(used, 2 * y - 1, model.n_iter_, False)
    votes = sum(
        count * np.where(used @ w + b >= 0, 1, -1)
        for (w, b), count in zip(found, survived, strict=True)
    )
    tracemalloc.start()
    shares = model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(shares, votes / survived.sum(), rtol=1e-12)
    assert peak < n * d * 8 / 2


def test_votes_of_several_classes_with_weights_and_a_random_order():
    X, _ = integers(60, 5)
    y = np.arange(60) % 3
    weight = rng(5).integers(0, 3, 60).astype(float)
    model = quiet_fit(Perceptron(voted=True, max_iter=4), X, y, sample_weight=weight)
    for k in range(3):
        found, survived = separators(X, np.where(y == k, 1, -1), 4, weight=weight)
        votes = sum(
            count * np.where(X @ w + b >= 0, 1, -1)
            for (w, b), count in zip(found, survived, strict=True)
        )
        np.testing.assert_allclose(model.decision_function(X)[:, k], votes / survived.sum())
    runs = [fit(X, y, voted=True, shuffle=True, random_state=3, max_iter=3) for _ in range(2)]
    np.testing.assert_array_equal(*(run.decision_function(X) for run in runs))


@pytest.mark.parametrize("form", FORMS)
def test_the_average_is_the_mean_of_all_separators_by_survival(form):
    X, y = integers(60, 5)
    found, survived = separators(X, 2 * y - 1, 6)
    w = np.average([w for w, _ in found], axis=0, weights=survived)
    b = np.average([b for _, b in found], weights=survived)
    model = fit(FORMS[form](X), y, average=True, max_iter=6)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-12, atol=1e-14)
    # Training is the same, only what is kept of it differs.
    np.testing.assert_array_equal(model.n_mistakes_, fit(X, y, max_iter=6).n_mistakes_)


@pytest.mark.parametrize("form", FORMS)
def test_the_margin_perceptron_updates_up_to_its_margin(form):
    X, y = integers(60, 5)
    w, b, *_, mistakes = subgradient(X, 2 * y - 1, 6, margin=5.0)
    model = fit(FORMS[form](X), y, margin=5.0, max_iter=6)
    np.testing.assert_array_equal(model.coef_, [w])
    np.testing.assert_array_equal(model.intercept_, [b])
    assert model.mistakes_per_pass_[0].tolist() == mistakes


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
def test_equals_scikit_learns_perceptron(penalty):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X = rng(0).normal(size=(90, 4))
    y = rng(1).integers(0, 3, 90)
    parameters = {"penalty": penalty, "alpha": 0.003, "l1_ratio": 0.4, "eta0": 0.7, "max_iter": 5}
    theirs = linear_model.Perceptron(**parameters, shuffle=False, tol=None).fit(X, y)
    ours = fit(X, y, **parameters)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-11)


def test_a_penalty_goes_on_after_a_pass_without_a_mistake():
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    assert fit(X, y, max_iter=9).n_iter_ < 9
    model = fit(X, y, max_iter=9, penalty="l2", alpha=1e-6)
    assert model.n_iter_ == 9
    assert model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin": -1.0}, "margin must be a finite number >= 0, got -1.0"),
        ({"voted": "yes"}, "voted must be True or False"),
        ({"voted": True, "penalty": "l2"}, "voted=True cannot be combined with penalty='l2'"),
        ({"voted": True, "warm_start": True}, "warm_start"),
        ({"voted": True, "average": True}, "average"),
        ({"voted": True, "multi_class": "crammer_singer"}, "multi_class"),
        ({"penalty": "l3"}, "penalty"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = integers(10, 2)
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit(X, y)
    if parameters == {"voted": True, "average": True}:
        with pytest.raises(ValueError, match="voted must be False in partial_fit"):
            Perceptron(voted=True).partial_fit(X, y, classes=[0, 1])


@pytest.mark.filterwarnings("ignore:Perceptron did not converge")
def test_forty_fits_from_eight_threads_are_one():
    X, _ = integers(200, 12)
    y = np.arange(200) % 4
    for make in (
        lambda k: Perceptron(
            shuffle=True, random_state=1, max_iter=10, average=True, penalty="l1", n_jobs=1 + k % 3
        ),
        lambda k: SGDClassifier(random_state=1, max_iter=10, tol=None, n_jobs=1 + k % 3),
    ):
        with ThreadPoolExecutor(8) as pool:
            models = list(pool.map(lambda k: make(k).fit(X, y), range(40)))  # noqa: B023
        assert len({model.coef_.tobytes() for model in models}) == 1


def test_a_stream_of_perceptron_chunks_is_one_pass():
    X, y = integers(60, 4)
    chunks = [(X[:20], y[:20]), (X[20:], y[20:])]
    model = Perceptron().fit_stream(iter(chunks), classes=[0, 1])
    w, b, mistakes = perceptron(X, 2 * y - 1, 1)
    np.testing.assert_array_equal(model.coef_, [w])
    np.testing.assert_array_equal(model.intercept_, [b])
    assert [one.tolist() for one in model.mistakes_per_pass_] == [mistakes]


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mapped_file_is_read_in_place(mode, dtype, tmp_path):
    X, y = integers(4000, 6)
    X = X.astype(dtype)
    X.tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", dtype=dtype, mode=mode, shape=X.shape)
    if mode == "c":
        mapped[0] += 1  # in memory only, which must not be lost
        X[0] += 1
    for parameters in ({}, {"shuffle": True, "random_state": 0}, {"average": True}):
        expected, model = (fit(data, y, max_iter=4, **parameters) for data in (X, mapped))
        assert model.coef_.tobytes() == expected.coef_.tobytes()
        np.testing.assert_array_equal(
            model.decision_function(mapped), expected.decision_function(X)
        )
    part = Perceptron().partial_fit(mapped[1000:2000], y[1000:2000], classes=[0, 1])
    same = Perceptron().partial_fit(X[1000:2000], y[1000:2000], classes=[0, 1])
    assert part.coef_.tobytes() == same.coef_.tobytes()
    np.testing.assert_array_equal(np.asarray(mapped), X)


MEMORY = """
import re, sys, warnings
import numpy as np
from maxmargin import Perceptron, SGDClassifier

warnings.simplefilter("ignore")
X = np.memmap(sys.argv[1], dtype=np.float64, mode="r", shape=(65536, 512))
y = (np.arange(len(X)) % 2).astype(np.int8)
model = Perceptron(max_iter=2).fit(X[:100], y[:100])
SGDClassifier(max_iter=1).fit(X[:100], y[:100])


def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024


before = peak()
Perceptron(max_iter=2).fit(X, y)
Perceptron(max_iter=1, shuffle=True).fit(X, y).predict(X)
SGDClassifier(max_iter=1).partial_fit(X, y, classes=[0, 1])
SGDClassifier(max_iter=1).fit(X, y)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_mapped_file_is_never_resident_as_a_whole(tmp_path):
    path = tmp_path / "X"
    with path.open("wb") as file:  # 256 MB of zeros, of which the disk holds no block
        file.truncate(65536 * 512 * 8)
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 160
