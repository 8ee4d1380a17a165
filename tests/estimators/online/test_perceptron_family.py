"""The perceptron's variants: margin, average, penalties, and streams in mapped files."""

from __future__ import annotations

import subprocess
import sys
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


def separators(X, y, passes):
    """All separators of a run and how many examples each survived; y in {-1, +1}."""
    w, b, found, survived = np.zeros(X.shape[1]), 0.0, [], []
    for _ in range(passes):
        for x, label in zip(X, y, strict=True):
            if label * (w @ x + b) <= 0:
                w, b = w + label * x, b + label
                found.append((w, b))
                survived.append(1)
            else:
                survived[-1] += 1
    return found, np.array(survived)


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
        ({"penalty": "l3"}, "penalty"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = integers(10, 2)
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit(X, y)


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


def test_indices_in_memory_outlive_values_in_a_mapped_file(tmp_path):
    n_rows, n_stored = 4000, 500
    X = sp.csr_matrix((n_rows, 2 * n_stored))
    rng(0).normal(size=n_rows * n_stored).tofile(tmp_path / "values")
    X.data = np.memmap(tmp_path / "values", dtype=np.float64, mode="r")
    X.indices = np.tile(2 * np.arange(n_stored, dtype=np.int32), n_rows)
    X.indptr = n_stored * np.arange(n_rows + 1, dtype=np.int32)
    expected = X.indices.copy()
    fit(X, np.arange(n_rows) % 2, max_iter=1).predict(X)
    np.testing.assert_array_equal(X.indices, expected)


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
