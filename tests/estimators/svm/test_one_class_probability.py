"""Probabilities of one-class models: LIBSVM's marks, in training, files and on the command line."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from libsvm import svmutil

from maxmargin import OneClassSVM, _core
from maxmargin.cli import main
from maxmargin.io import load_model, save_model
from maxmargin.svm._machine import model_of
from oracles.problems import rng

X = rng(0).normal(size=(90, 2))
Z = 1.5 * rng(1).normal(size=(60, 2))
NU, GAMMA = 0.3, 0.7


def libsvm(samples=X):
    options = f"-s 2 -n {NU} -g {GAMMA} -b 1 -e 1e-9 -q"
    return svmutil.svm_train(np.ones(len(samples)), samples, options)


def libsvm_probabilities(model, samples):
    _, _, probabilities = svmutil.svm_predict([], samples, model, "-b 1 -q")
    return np.array(probabilities)


@pytest.fixture
def libsvm_file(tmp_path):
    path = tmp_path / "libsvm.model"
    svmutil.svm_save_model(str(path), libsvm())
    return path


def density_marks(model):
    return model_of(model).core.density_marks


def make(**params):
    return OneClassSVM(nu=NU, gamma=GAMMA, tol=1e-9, probability=True, **params)


def marks_by_definition(values):
    """Middles of five bins of equal counts on either side of 0; the edge is inside."""
    values = np.sort(np.where(np.abs(values) < 1e-7, 0.0, values))
    outside, inside = values[values < 0], values[values >= 0]
    ends = [outside[i * len(outside) // 5] for i in range(5)]
    ends += [0.0, *(inside[i * len(inside) // 5 - 1] for i in range(1, 6))]
    return (np.array(ends[:-1]) + ends[1:]) / 2


def test_marks_are_libsvms_at_its_own_decision_values():
    theirs = libsvm()
    _, _, values = svmutil.svm_predict([], X, theirs, "-q")
    marks = _core.density_marks(np.array(values)[:, 0], np.ones(len(X)))
    np.testing.assert_array_equal(marks, theirs.prob_density_marks[:10])


def test_marks_and_probabilities_follow_their_definition():
    model = make().fit(X)
    marks = marks_by_definition(model.decision_function(X))
    np.testing.assert_allclose(density_marks(model), marks, rtol=1e-7, atol=1e-12)
    p = np.searchsorted(marks, model.decision_function(Z), side="right") / 10
    p = np.where(p == 0.0, 0.001, np.where(p == 1.0, 0.999, p))
    np.testing.assert_allclose(model.predict_proba(Z), np.column_stack([p, 1.0 - p]))
    np.testing.assert_array_equal(model.predict_log_proba(Z), np.log(model.predict_proba(Z)))


def test_probabilities_are_near_libsvms():
    difference = make().fit(X).predict_proba(Z) - libsvm_probabilities(libsvm(), Z)
    assert np.abs(difference).max() < 0.21  # two bins, by where LIBSVM's rounding puts the edge
    assert np.abs(difference).mean() < 0.05


def test_a_file_of_libsvm_keeps_its_marks(libsvm_file, tmp_path):
    model = load_model(libsvm_file)
    assert model.probability
    np.testing.assert_array_equal(model.predict_proba(Z), libsvm_probabilities(libsvm(), Z))
    save_model(model, tmp_path / "ours")
    theirs = svmutil.svm_load_model(str(tmp_path / "ours"))
    np.testing.assert_array_equal(model.predict_proba(Z), libsvm_probabilities(theirs, Z))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(Z), model.predict_proba(Z))


@pytest.mark.parametrize("marks", ["1 2 3", "9 8 7 6 5 4 3 2 1 0", "0 1 2 3 4 5 6 7 8 nan"])
def test_damaged_marks_are_refused(libsvm_file, marks):
    lines = libsvm_file.read_text().splitlines(keepends=True)
    lines = [f"prob_density_marks {marks}\n" if "marks" in line else line for line in lines]
    with pytest.raises(ValueError, match="line 7: prob_density_marks must"):
        load_model("".join(lines).encode())


def test_weights_count_as_copies():
    times = rng(3).integers(0, 3, len(X))
    weighted = make().fit(X, sample_weight=times.astype(float))
    copies = make().fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(density_marks(weighted), density_marks(copies), atol=1e-7)


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: np.exp(-GAMMA * distances(A, B))])
def test_given_kernels_have_the_same_probabilities(kernel):
    expected = make().fit(X).predict_proba(Z)
    samples, others = X, Z
    if not callable(kernel):
        samples, others = np.exp(-GAMMA * distances(X, X)), np.exp(-GAMMA * distances(Z, X))
    model = OneClassSVM(nu=NU, tol=1e-9, probability=True, kernel=kernel).fit(samples)
    np.testing.assert_array_equal(model.predict_proba(others), expected)


def distances(A, B):
    return np.square(A[:, np.newaxis] - B).sum(axis=2)


def test_too_few_samples_outside_have_no_probabilities():
    with pytest.warns(UserWarning, match="fewer than five training samples"):
        model = make().fit(X[:12])
    with pytest.raises(ValueError, match="probability=False"):
        model.predict_proba(Z)


def test_without_probability_there_is_none():
    model = OneClassSVM(nu=NU, gamma=GAMMA).fit(X)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(Z), make(max_iter=-1).fit(X).predict(Z))


def test_commands_train_and_predict_probabilities(tmp_path, capsys):
    data, model, output = (str(tmp_path / name) for name in ("data", "model", "output"))
    lines = [f"1 1:{a!r} 2:{b!r}\n" for a, b in X.tolist()]
    (tmp_path / "data").write_text("".join(lines))
    flags = f"-s 2 -n {NU} -g {GAMMA} -e 1e-9 -b 1 -q".split()
    assert main(["svm-train", *flags, data, model]) == 0
    assert main(["svm-predict", "-b", "1", "-q", data, model, output]) == 0
    head, *rows = (tmp_path / "output").read_text().splitlines()
    assert head == "labels normal outlier"
    written = np.array([row.split() for row in rows], dtype=float)
    loaded = load_model(model)
    np.testing.assert_allclose(written[:, 1:], loaded.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(written[:, 0], loaded.predict(X))
    assert capsys.readouterr().err == ""
