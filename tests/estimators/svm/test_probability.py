"""Probabilities: calibrated, coupled, consistent, deterministic, and in LIBSVM's files."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svmutil
from scipy.optimize import minimize

from maxmargin import SVC, NuSVC, _core
from maxmargin.io import load_model, save_model
from maxmargin.svm._probability import fit_sigmoid
from oracles.problems import rng, two_classes


def probabilities(values, sigmoids):
    """Those of a model with these sigmoids, from the values of its machines."""
    n_machines = sigmoids.shape[1]
    n_classes = next(n for n in range(2, 99) if n * (n - 1) // 2 == n_machines)
    classes = np.arange(n_classes)
    model = _core.KernelModel(
        "c_svc", _core.KernelParams("linear"), 1, np.empty((0, 1)), np.empty((n_classes - 1, 0)),
        np.zeros(n_machines), n_support=0 * classes, vote_order=classes, sigmoids=sigmoids,
    )  # fmt: skip
    return model.probabilities(values)


def blobs(n=200, n_classes=3, seed=0):
    r = rng(seed)
    y = r.integers(0, n_classes, n)
    return r.normal(size=(n, 3)) + 1.5 * np.eye(n_classes, 3)[y], y


def test_the_sigmoid_has_the_greatest_likelihood():
    r = rng(0)
    values = r.normal(size=300)
    first = r.random(300) < 1 / (1 + np.exp(-(1.7 * values - 0.4)))
    A, B = fit_sigmoid(values, first, np.ones(300))
    n1, n0 = first.sum(), (~first).sum()
    t = np.where(first, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(parameters):
        p = 1 / (1 + np.exp(parameters[0] * values + parameters[1]))
        return -(t * np.log(p) + (1 - t) * np.log(1 - p)).sum()

    best = minimize(loss, [0.0, 0.0])
    np.testing.assert_allclose([A, B], best.x, atol=1e-3)
    assert A < 0


def test_a_sigmoid_never_answers_backwards():
    values = np.linspace(-1, 1, 20)
    np.testing.assert_allclose(fit_sigmoid(values, values < 0, np.ones(20)), [0.0, 0.0], atol=1e-12)
    A, B = fit_sigmoid(np.r_[-1e300, 1e300, np.zeros(18)], np.arange(20) < 10, np.ones(20))
    assert A <= 0
    assert np.isfinite([A, B]).all()


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_coupled_probabilities_minimise_their_objective(n_classes):
    r = rng(n_classes)
    pairwise = r.uniform(0.05, 0.95, size=(5, n_classes, n_classes))
    for i in range(n_classes):
        pairwise[:, i, i] = 0
        for j in range(i):
            pairwise[:, i, j] = 1 - pairwise[:, j, i]

    pairs = list(combinations(range(n_classes), 2))
    offsets = [[np.log(q[j, i] / q[i, j]) for i, j in pairs] for q in pairwise]
    for q, B in zip(pairwise, offsets, strict=True):
        (p,) = probabilities(np.zeros((1, len(pairs))), np.array([np.zeros(len(pairs)), B]))

        def objective(x, q=q):
            return sum(
                (q[j, i] * x[i] - q[i, j] * x[j]) ** 2
                for i in range(n_classes) for j in range(n_classes) if i != j
            )  # fmt: skip

        best = minimize(
            objective, np.full(n_classes, 1 / n_classes), bounds=[(0, 1)] * n_classes,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1}, tol=1e-14,
        )  # fmt: skip
        np.testing.assert_allclose(p, best.x, atol=1e-4)
        assert p.sum() == pytest.approx(1)


@pytest.mark.parametrize("make", [SVC, NuSVC])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("sparse", [False, True])
def test_probabilities_are_consistent(make, n_classes, sparse):
    X, y = blobs(n_classes=min(n_classes, 3)) if n_classes < 5 else blobs(300, 3)
    if n_classes == 5:
        y = rng(1).integers(0, 5, 300)
        X = rng(2).normal(size=(300, 3)) + y[:, None]
    labels = np.array(["e", "a", "d", "b", "c"])[y]
    data = sp.csr_matrix(X) if sparse else X
    params = {"nu": 0.6} if make is NuSVC else {}
    model = make(probability=True, **params).fit(data, labels)
    p = model.predict_proba(data)
    assert p.shape == (len(y), len(set(y)))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p > 0).all()
    assert (model.predict(data) == make(**params).fit(data, labels).predict(data)).all()
    np.testing.assert_allclose(model.predict_log_proba(data), np.log(p))
    again = make(probability=True, random_state=0, n_jobs=1, **params).fit(data, labels)
    assert again.predict_proba(data).tobytes() == p.tobytes()
    other = make(probability=True, random_state=1, **params).fit(data, labels)
    assert other.probA_.tobytes() != model.probA_.tobytes()
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba(data).tobytes() == p.tobytes()


def test_probability_rises_with_the_decision_value():
    X, y = two_classes(200)
    model = SVC(probability=True).fit(X, y)
    values, p = model.decision_function(X), model.predict_proba(X)[:, 1]
    order = np.argsort(values)
    assert (np.diff(p[order]) >= 0).all()
    share = np.mean(y == 1)
    assert abs(p.mean() - share) < 0.05


def test_probabilities_are_about_those_of_libsvm(tmp_path):
    X, y = blobs(600)
    model = SVC(probability=True, gamma=0.3).fit(X, y)
    problem = svmutil.svm_problem(y.astype(float), sp.csr_matrix(X))
    known = svmutil.svm_train(problem, svmutil.svm_parameter("-q -b 1 -g 0.3"))
    svmutil.svm_save_model(str(tmp_path / "k"), known)
    known = svmutil.svm_load_model(str(tmp_path / "k"))
    _, _, values = svmutil.svm_predict([], sp.csr_matrix(X), known, "-b 1 -q")
    ours = model.predict_proba(X)[:, [int(label) for label in known.get_labels()]]
    assert np.abs(ours - np.array(values)).mean() < 0.02


@pytest.mark.parametrize("labels", [(1, 2), (5, 3), (2, 9, -4)])
def test_libsvm_files_carry_the_sigmoids(tmp_path, labels):
    X, y = blobs(150, len(labels))
    y = np.array(labels)[y]
    model = SVC(probability=True, gamma=0.3).fit(X, y)
    save_model(model, tmp_path / "m")
    assert b"probA" in (tmp_path / "m").read_bytes()
    loaded = load_model(tmp_path / "m")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    theirs = svmutil.svm_load_model(str(tmp_path / "m"))
    _, _, values = svmutil.svm_predict([], sp.csr_matrix(X), theirs, "-b 1 -q")
    columns = [sorted(labels).index(label) for label in theirs.get_labels()]
    # LIBSVM couples several classes to a tolerance of its own.
    np.testing.assert_allclose(model.predict_proba(X)[:, columns], np.array(values), atol=5e-3)
    problem = svmutil.svm_problem(y.astype(float), sp.csr_matrix(X))
    known = svmutil.svm_train(problem, svmutil.svm_parameter("-q -b 1 -g 0.3"))
    svmutil.svm_save_model(str(tmp_path / "k"), known)
    reloaded = svmutil.svm_load_model(str(tmp_path / "k"))
    _, _, values = svmutil.svm_predict([], sp.csr_matrix(X), reloaded, "-b 1 -q")
    columns = [sorted(labels).index(label) for label in reloaded.get_labels()]
    found = load_model(tmp_path / "k", n_features=3).predict_proba(X)[:, columns]
    np.testing.assert_allclose(found, np.array(values), atol=5e-3)


def test_given_kernels_have_probabilities_too():
    X, y = blobs(150)
    named = SVC(kernel="linear", probability=True, tol=1e-8).fit(X, y)
    given = SVC(kernel="precomputed", probability=True, tol=1e-8).fit(X @ X.T, y)
    np.testing.assert_allclose(given.predict_proba(X @ X.T), named.predict_proba(X), atol=1e-3)


def test_tiny_sets_are_refused():
    X, y = np.arange(9.0)[:, None], np.repeat([0, 1], [5, 4])
    with pytest.raises(ValueError, match=r"at least 5 samples of every class.* class 1 has 4"):
        SVC(probability=True).fit(X, y)
    model = SVC().fit(X, y)
    with pytest.raises(AttributeError, match="probability=True"):
        model.predict_proba(X)
    assert not hasattr(model, "predict_proba")
    assert hasattr(SVC(probability=True), "predict_proba")
    with pytest.raises(ValueError, match="probability must be True or False"):
        SVC(probability="yes").fit(X, y)


def test_probabilities_of_far_values_stay_inside():
    p = probabilities(np.array([[1e308], [-1e308], [0.0]]), np.array([[-1.0], [0.0]]))
    assert (p > 0).all()
    assert (p < 1).all()


@pytest.mark.parametrize("p", [[1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1], [0.9, 0.09, 0.009, 0.001]])
def test_pairwise_probabilities_that_agree_are_coupled_exactly(p):
    pairs = [(i, j) for i in range(len(p)) for j in range(i + 1, len(p))]
    # Machines of slope 0, whose probability of the first class is 1 / (1 + exp(B)).
    offsets = [np.log(p[j] / p[i]) for i, j in pairs]
    sigmoids = np.array([np.zeros(len(pairs)), offsets])
    found = probabilities(np.zeros((2, len(pairs))), sigmoids)
    np.testing.assert_allclose(found, [p, p], rtol=1e-10)


def test_a_fold_that_overflows_is_a_value_error(monkeypatch):
    X, y = blobs(60)
    fit, calls = _core.svc_fit, []

    def fails_in_a_fold(*args):
        calls.append(1)
        if len(calls) == 3:
            raise _core.NumericError("kernel values overflow")
        return fit(*args)

    monkeypatch.setattr(_core, "svc_fit", fails_in_a_fold)
    model = SVC(probability=True)
    with pytest.raises(ValueError, match="overflows on these data"):
        model.fit(X, y)
    assert not hasattr(model, "support_")


def shares_of_time(model, X, y, monkeypatch):
    """The seconds that the core is given, fit by fit."""
    shares = []
    make = _core.TrainingOptions

    def recorded(**settings):
        shares.append(settings["time_limit"])
        return make(**settings)

    with monkeypatch.context() as patch:
        patch.setattr(_core, "TrainingOptions", recorded)
        model.fit(X, y)
    return np.array(shares)


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_a_time_limit_is_that_of_all_fits(monkeypatch):
    X, y = blobs()
    shares = shares_of_time(SVC(probability=True, time_limit=6e5), X, y, monkeypatch)
    np.testing.assert_allclose(shares, 6e5 / np.arange(6, 0, -1), rtol=1e-3)
    assert np.isinf(shares_of_time(SVC(probability=True), X, y, monkeypatch)).all()
    np.testing.assert_allclose(shares_of_time(SVC(time_limit=6e5), X, y, monkeypatch), 6e5)
    long = rng(0).normal(size=(20_000, 10)), rng(1).integers(0, 2, 20_000)
    model = SVC(C=1e5, tol=1e-8, probability=True, time_limit=0.6)
    shares = shares_of_time(model, *long, monkeypatch)
    assert len(shares) == 6
    assert (shares <= 0.1 + 1e-9).all()  # none takes less than its share
    assert model.certificate_.stop_reason == "time_limit"
    assert np.isfinite(model.predict_proba(long[0][:100])).all()


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_folds_that_take_longer_leave_the_model_its_share(monkeypatch):
    X, y = blobs()
    shares = shares_of_time(SVC(probability=True, time_limit=6e-9), X, y, monkeypatch)
    assert list(shares[1:]) == [0.0, 0.0, 0.0, 0.0, pytest.approx(1e-9)]
