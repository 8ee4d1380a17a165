"""Predictions of many classes and of wide sparse samples: their values, and their memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

from maxmargin import SVC, SVR, NuSVC, OneClassSVM
from maxmargin._estimator.certificate import Certificates, together
from maxmargin.svm import _model, _weights
from oracles.problems import rng
from support.fresh_process import needs_linux
from support.memory import peak_growth

# A sanitizer's allocator takes memory of its own.
pytestmark = pytest.mark.no_sanitizer


def values_by_definition(model, X, gamma):
    """The value of every pair of classes, from the public attributes."""
    n_support = model.n_support_
    begin = np.r_[0, np.cumsum(n_support)]
    K = np.exp(-gamma * ((X[:, None, :] - model.support_vectors_) ** 2).sum(axis=2))
    columns = []
    for i in range(len(n_support)):
        for j in range(i + 1, len(n_support)):
            own, other = slice(*begin[i : i + 2]), slice(*begin[j : j + 2])
            columns.append(
                K[:, own] @ model.dual_coef_[j - 1, own] + K[:, other] @ model.dual_coef_[i, other]
            )
    return np.array(columns).T + model.intercept_


def votes_of(values, n_classes):
    votes = np.zeros((len(values), n_classes), int)
    for p, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
        votes[:, i] += values[:, p] > 0
        votes[:, j] += values[:, p] <= 0
    return votes


@pytest.mark.parametrize("estimator", [SVC, NuSVC])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_many_classes_of_few_samples_predict_by_the_definition(estimator, form):
    random = rng(3)
    X, y = random.normal(size=(120, 4)), np.arange(120) // 3
    model = estimator(gamma=0.3, decision_function_shape="ovo").fit(form(X), y)
    if form is sp.csr_matrix:
        model.fit(form(X), y)
    Q = random.normal(size=(37, 4))
    dense = estimator(gamma=0.3).fit(X, y)
    expected = values_by_definition(dense, Q, 0.3)
    values = model.decision_function(form(Q))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
    votes = votes_of(values, 40)
    np.testing.assert_array_equal(model.predict(form(Q)), votes.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [3, 40])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_predictions_do_not_depend_on_the_blocks_of_rows(n_classes, kernel, monkeypatch):
    random = rng(5)
    X, y = random.normal(size=(6 * n_classes, 4)), np.arange(6 * n_classes) % n_classes
    model = SVC(kernel=kernel, probability=True, random_state=0).fit(X, y)
    Q = random.normal(size=(23, 4))

    def asked():
        return [
            form(Q) for form in (model.predict, model.decision_function, model.predict_proba)
        ] + [model.predict(sp.csr_matrix(Q))]

    whole = asked()
    for rows in (1, 5):
        monkeypatch.setattr(_model, "_MOST_VALUES", rows * len(model.intercept_))
        for found, expected in zip(asked(), whole, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_rows_of_many_classes_do_not_depend_on_the_others():
    random = rng(6)
    X, y = random.normal(size=(120, 4)), np.arange(120) // 3
    model = SVC(decision_function_shape="ovo").fit(X, y)
    Q = random.normal(size=(70, 4))
    whole = model.decision_function(Q)
    for rows in (slice(3, 4), slice(1, 5), slice(20, 60)):
        np.testing.assert_array_equal(model.decision_function(Q[rows]), whole[rows])


@pytest.mark.parametrize(
    ("estimator", "kernel", "form"),
    [
        *((SVC, kernel, np.asarray) for kernel in ("rbf", "linear", "precomputed")),
        *((SVC, kernel, sp.csr_matrix) for kernel in ("rbf", "linear")),
        *((NuSVC, "rbf", form) for form in (np.asarray, sp.csr_matrix)),
    ],
)
def test_machines_of_many_classes_are_those_of_their_pairs(estimator, kernel, form):
    random = rng(8)
    n_classes, tol = 35, 1e-9
    y = np.r_[np.arange(n_classes), random.integers(0, n_classes, 4 * n_classes)]
    X = random.normal(size=(len(y), 4)).round(1)  # with equal rows
    X[-20:], y[-20:] = X[:20], y[:20]
    weight = random.integers(1, 3, len(y))
    options = {"tol": tol, "kernel": kernel, "decision_function_shape": "ovo"}
    options |= {"C": 0.7} if estimator is SVC else {"nu": 0.1}
    if kernel == "precomputed":
        X = X @ X.T + 1.0
    elif kernel == "rbf":
        options["gamma"] = 0.3
    model = estimator(**options).fit(form(X), y, sample_weight=weight)
    certificates = model.certificate_.machines
    begin = np.r_[0, np.cumsum(model.n_support_)]
    for p, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
        if p % 23:
            continue
        rows = np.flatnonzero((y == i) | (y == j))
        some = X[np.ix_(rows, rows)] if kernel == "precomputed" else form(X[rows])
        pair = estimator(**options).fit(some, y[rows], sample_weight=weight[rows])
        found = np.zeros(len(y))
        found[model.support_[begin[i] : begin[i + 1]]] = model.dual_coef_[
            j - 1, begin[i] : begin[i + 1]
        ]
        found[model.support_[begin[j] : begin[j + 1]]] = model.dual_coef_[
            i, begin[j] : begin[j + 1]
        ]
        objective = pair.certificate_.dual_objective
        assert certificates[p].dual_objective == pytest.approx(objective, rel=1e-7)
        assert certificates[p].converged
        assert certificates[p].n_free + certificates[p].n_bounded == np.count_nonzero(found)
        if kernel == "rbf":  # its coefficients are unique
            expected = np.zeros(len(y))
            expected[rows[pair.support_]] = -pair.dual_coef_[0]
            merged = [np.bincount(np.unique(X, axis=0, return_inverse=True)[1].ravel(), v)
                      for v in (found, expected)]  # fmt: skip
            np.testing.assert_allclose(*merged, atol=1e-6)
    for name in ("n_iter", "n_free", "n_bounded", "kernel_values", "dual_objective"):
        total = sum(getattr(machine, name) for machine in certificates)
        assert getattr(model.certificate_, name) == total
    assert model.n_iter_.dtype == np.int64


@needs_linux
def test_a_fit_of_many_classes_keeps_little_of_every_pair():
    setup = """
r = np.random.default_rng(0)
X, y = r.normal(size=(1800, 4)), np.arange(1800) // 3
"""
    # The coefficients are 9 MB; 12 numbers for each of 179,700 pairs are 17.
    assert peak_growth(setup, "model = mm.SVC(n_jobs=1).fit(X, y)") < 40


@needs_linux
def test_many_classes_take_no_values_of_all_rows_and_pairs():
    setup = """
r = np.random.default_rng(0)
X, y, Q = r.normal(size=(1200, 4)), np.arange(1200) // 3, r.normal(size=(1500, 4))
model = mm.SVC(C=10.0).fit(X, y)
"""
    # The values of all pairs are 958 MB, the coefficients 4 MB.
    assert peak_growth(setup, "model.predict(Q)") < 130
    assert peak_growth(setup, "model.decision_function(Q)") < 130


@needs_linux
def test_ten_classes_of_many_rows():
    setup = """
r = np.random.default_rng(0)
X, y, Q = r.normal(size=(100, 4)), np.arange(100) % 10, r.normal(size=(600_000, 4))
model = mm.SVC().fit(X, y)
"""
    assert peak_growth(setup, "model.predict(Q)") < 130  # the values of all pairs are 216 MB


# -- the linear kernel on sparse samples -----------------------------------------------------------


def wide_problem(n_samples, n_classes, n_features=1 << 18):
    random = rng(7)
    entries = 20
    y = np.arange(n_samples) % n_classes
    columns = np.sort(random.integers(0, n_features, (n_samples, entries)), axis=1)
    indptr = np.arange(0, n_samples * entries + 1, entries)
    X = sp.csr_matrix(
        (random.normal(size=n_samples * entries), columns.ravel(), indptr),
        shape=(n_samples, n_features),
    )
    X.sum_duplicates()
    return X, y


@pytest.mark.parametrize("n_classes", [2, 5])
def test_weights_of_sparse_samples_are_sparse_as_those_of_scikit_learn(n_classes):
    X, y = wide_problem(60, n_classes, 300)
    model = SVC(kernel="linear", tol=1e-8).fit(X, y)
    peer = sklearn.svm.SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert sp.issparse(model.coef_)
    assert model.coef_.shape == peer.coef_.shape
    np.testing.assert_allclose(model.coef_.toarray(), peer.coef_.toarray(), atol=1e-6)
    dense = SVC(kernel="linear", tol=1e-8).fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_.toarray(), dense.coef_, atol=1e-6)
    for estimator, target in (
        (SVR(kernel="linear"), 1.0 * y),
        (OneClassSVM(kernel="linear"), None),
    ):
        assert sp.issparse(estimator.fit(X, target).coef_)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_matrix.toarray])
@pytest.mark.parametrize("n_features", [30, 1 << 15])
def test_weights_and_support_vectors_give_the_same_values(form, n_features, monkeypatch):
    X, y = wide_problem(60, 5, n_features)
    model = SVC(kernel="linear", decision_function_shape="ovo", C=0.1).fit(X, y)
    expected = (X @ model.coef_.T).toarray() + model.intercept_
    np.testing.assert_allclose(model.decision_function(form(X)), expected, atol=1e-10)
    monkeypatch.setattr(_weights, "_FEW_WEIGHTS", 0)
    monkeypatch.setattr(_weights, "_MOST_GROWTH", 0)
    other = SVC(kernel="linear", decision_function_shape="ovo", C=0.1).fit(X, y)
    assert other._model.weights is None
    np.testing.assert_allclose(other.decision_function(form(X)), expected, atol=1e-10)


def test_certificates_of_many_machines_are_kept_in_few_bytes():
    """2,000 classes have 2 million machines; what these have in common is pickled once."""
    r, n = rng(3), 70_000
    few = SVC().fit(r.normal(size=(90, 3)), np.arange(90) % 3).certificate_.machines
    assert pickle.loads(pickle.dumps(few)) == few
    fields = {name: np.resize(values, n) for name, values in few.fields.items()}
    fields["seconds"] = r.random(n)
    for name in ("kernel_rows", "kernel_values", "cache_hits", "cache_misses"):
        fields[name] = np.zeros(n, np.int64)
    fields["kernel_values"][0] = 10**9
    whole = together(Certificates(fields), 1.0)
    assert whole.primal_objective == pytest.approx(fields["primal_objective"].sum(), rel=1e-9)
    pickled = pickle.dumps(whole, protocol=5)
    assert len(pickled) < 21 * n
    loaded = pickle.loads(pickled)
    assert len(loaded.machines) == n
    for place in (0, 1, 2, n - 1):
        assert loaded.machines[place] == whole.machines[place]
        assert loaded.machines[place].primal_objective == pytest.approx(
            few[place % 3].primal_objective, rel=1e-7
        )
    assert loaded.kernel_values == whole.machines[0].kernel_values == 10**9


@needs_linux
def test_a_sparse_linear_model_predicts_in_little_memory():
    setup = """
r = np.random.default_rng(0)
n, d, k = 400, 1 << 18, 20
X = sp.csr_matrix((r.normal(size=n * k), np.sort(r.integers(0, d, (n, k))).ravel(),
                   np.arange(0, n * k + 1, k)), shape=(n, d))
X.sum_duplicates()
model = mm.SVC(kernel="linear").fit(X, np.arange(n) % 20)
"""
    assert peak_growth(setup, "model.predict(X)") < 100  # weights of all features are 398 MB


@needs_linux
def test_a_small_file_of_a_huge_feature_makes_a_small_predictor(tmp_path):
    lines = ["svm_type c_svc", "kernel_type linear", "nr_class 2", "total_sv 2", "rho 0",
             "label 1 -1", "nr_sv 1 1", "SV", "1 2000000000:1", "-1 1:1"]  # fmt: skip
    (tmp_path / "model").write_text("\n".join(lines) + "\n")
    setup = f"""
from maxmargin.io import load_model
model = load_model({str(tmp_path / "model")!r})
X = sp.csr_matrix(([2.0, 3.0], [1999999999, 0], [0, 1, 2]), shape=(2, 2_000_000_000))
"""
    code = "assert model.predict(X).tolist() == [1, -1]; assert model.coef_.nnz == 2"
    assert peak_growth(setup, code) < 50


# -- arrays of integers ----------------------------------------------------------------------------

OF_BITS = """
X = np.random.default_rng(0).integers(0, 2, (160_000, 100), dtype=np.int8)
X = X.view(TYPE)
model = ESTIMATOR.fit(X[:50], np.arange(50) % 2)
model.predict(X[:50])
"""


@needs_linux
@pytest.mark.parametrize("dtype", ["np.int8", "np.uint8", "bool"])
@pytest.mark.parametrize("estimator", ["mm.SVC(n_jobs=1)", "mm.SVR(n_jobs=1)"])
def test_predictions_of_integers_copy_some_rows_at_a_time(estimator, dtype):
    setup = OF_BITS.replace("TYPE", dtype).replace("ESTIMATOR", estimator)
    assert peak_growth(setup, "model.predict(X)") < 40  # 61 MB is a copy in float32


@needs_linux
def test_training_on_bools_makes_no_copy_in_float64():
    setup = OF_BITS.replace("TYPE", "bool").replace("ESTIMATOR", "mm.SVC()")
    setup += "X, y = X[:80_000], np.arange(80_000) % 2\n"
    # A copy in float32 is 31 MB, and so is the packed one.
    code = "mm.SVC(n_jobs=1, cache_size=1, max_iter=1).fit(X, y)"
    assert peak_growth(setup, code) < 61 + 40


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64])
def test_predictions_of_integers_are_those_of_floats(dtype, kernel, monkeypatch):
    monkeypatch.setattr("maxmargin._input.samples._MOST_CONVERTED", 100)
    X = rng(1).integers(0, 2, (40, 40)).astype(dtype)
    X = np.maximum(X, X.T)
    for model in (SVC(kernel=kernel), SVR(kernel=kernel), OneClassSVM(kernel=kernel)):
        model.fit(X, np.arange(40) % 3)
        expected = model.predict(X.astype(np.float64))
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="X has 39 features"):
        model.predict(X[:, 1:])
