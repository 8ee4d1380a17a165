"""Forms of the data, cache, stopping, threads and signals that other libraries fail on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from oracles.problems import rng
from oracles.svm import check_binary, dual_objective, true_violation, unconverged_fit

# -- forms of the data -----------------------------------------------------------------------------


def sparse_forms():
    dense = rng(0).integers(0, 3, size=(40, 12)).astype(float)
    dense[5] = 0
    S = sp.csr_matrix(dense)
    dup = sp.csr_matrix(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), S.indptr * 2), shape=S.shape
    )
    rows, columns = np.nonzero(dense == 0)
    T = S.tocoo()
    zeros = sp.csr_matrix(
        (
            np.r_[T.data, np.zeros(len(rows))],
            (np.r_[T.row, rows], np.r_[T.col, columns]),
        ),
        shape=S.shape,
    )
    unsorted = S.copy()
    for row in range(40):
        place = slice(*S.indptr[row : row + 2])
        unsorted.indices[place] = S.indices[place][::-1]
        unsorted.data[place] = S.data[place][::-1]
    unsorted.has_sorted_indices = False
    return dense, {
        "csr": S, "csc": S.tocsc(), "coo": T, "duplicates": dup, "zeros": zeros,
        "unsorted": unsorted, "array": sp.csr_array(S),
    }  # fmt: skip


@pytest.mark.parametrize("form", sparse_forms()[1])
def test_sparse_forms_of_one_matrix_agree(form):
    dense, forms = sparse_forms()
    y = np.arange(40) % 2
    params = {"gamma": 0.1, "C": 3.0, "tol": 1e-8}
    plain = SVC(**params).fit(dense, y)
    assert check_binary(plain, dense, y, gamma=0.1) == pytest.approx(-38.987143, rel=1e-6)
    expected = plain.decision_function(dense)
    A = forms[form]
    before = {name: value.tobytes() for name, value in vars(A).items() if hasattr(value, "tobytes")}
    flags = {name: value for name, value in vars(A).items() if isinstance(value, (bool, int))}
    model = SVC(**params).fit(A, y)
    for B in (A, dense):
        np.testing.assert_allclose(model.decision_function(B), expected, atol=2e-7)
    np.testing.assert_allclose(plain.decision_function(A), expected, atol=2e-7)
    after = {name: value.tobytes() for name, value in vars(A).items() if hasattr(value, "tobytes")}
    assert before == after
    assert flags == {n: value for n, value in vars(A).items() if isinstance(value, (bool, int))}


def test_memory_layouts_give_the_same_bits(tmp_path):
    X = rng(0).normal(size=(40, 6))
    y = (X[:, 0] > 0).astype(int)
    big = rng(1).normal(size=(80, 12))
    big[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    forms = [
        np.asfortranarray(X), read_only, big[::2, ::2], X[::-1][::-1], X.astype(">f8"),
        X.astype(object), X.tolist(), np.load(tmp_path / "X.npy", mmap_mode="r"),
    ]  # fmt: skip
    params = {"gamma": 0.2, "tol": 1e-6}
    plain = SVC(**params).fit(X, y)
    assert check_binary(plain, X, y, gamma=0.2) == pytest.approx(-15.523874, rel=1e-6)
    expected = plain.decision_function(X)
    for form in forms:
        model = SVC(**params).fit(form, y)
        assert model.dual_coef_.tobytes() == plain.dual_coef_.tobytes()
        assert model.intercept_.tobytes() == plain.intercept_.tobytes()
        assert model.decision_function(form).tobytes() == expected.tobytes()
    mapped = SVC(**params).fit(X, np.load(tmp_path / "y.npy", mmap_mode="r"))
    assert mapped.dual_coef_.tobytes() == plain.dual_coef_.tobytes()
    for dtype, atol in (("f4", 1e-5), ("f2", 1e-2)):
        model = SVC(**params).fit(X.astype(dtype), y)
        np.testing.assert_allclose(model.decision_function(X.astype(dtype)), expected, atol=atol)


def test_small_integers_are_widened_before_products():
    X = rng(0).integers(-128, 128, size=(40, 6))
    y = (X[:, 0] > 0).astype(int)
    for dtype in (np.int8, np.int16, np.int64):
        model = SVC(kernel="linear", tol=1e-6, C=1e-3).fit(X.astype(dtype), y)
        check_binary(model, X, y)


def test_bad_shapes_never_crash():
    code = """
import numpy as np, scipy.sparse as sp
from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
rng = np.random.default_rng
X = rng(0).normal(size=(30, 3)); y = rng(1).integers(0, 3, 30)
Xn = X.copy(); Xn[4, 1] = np.nan
Xi = X.copy(); Xi[4, 1] = np.inf
for form in (np.asarray, sp.csr_matrix):
    m = SVC().fit(form(X), y)
    SVC().fit(form(X[:, :1]), y).predict(form(X[:, :1]))
    calls = [
        lambda: SVC().fit(form(np.empty((4, 0))), [0, 1, 0, 1]),
        lambda: SVC().fit(form(np.empty((0, 2))), []),
        lambda: SVC().fit(form(np.array([[1., 2.]])), [1]),
        lambda: SVC().fit([1., 2.], [0, 1]),
        lambda: m.predict(form(X[:, :2])),
        lambda: m.predict(form(np.c_[X, X])),
        lambda: m.predict(form(np.empty((0, 3)))),
        lambda: SVC().predict(form(X)),
        lambda: SVC().fit(form(X), y[:29]),
        lambda: SVC().fit(form(Xn), y),
        lambda: SVC().fit(form(Xi), y),
        lambda: m.predict(form(Xn)),
        lambda: m.predict(form(Xi)),
    ]
    for number, call in enumerate(calls):
        try:
            call()
        except ValueError:
            continue
        raise SystemExit(f"call {number} did not raise")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_feature_and_two_rows():
    model = SVC(kernel="linear", C=10.0, tol=1e-9).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(
        model.decision_function([[0.0], [0.5], [1.0]]), [-1, 0, 1], atol=1e-9
    )


# -- the cache -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinking", [True, False])
def test_the_size_of_the_cache_changes_the_cost_only(shrinking):
    X = rng(0).normal(size=(300, 6))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    models = [
        SVC(gamma=0.5, C=10.0, cache_size=megabytes, tol=1e-6, shrinking=shrinking).fit(X, y)
        for megabytes in (1e-9, 300 * 4 / 2**20, 1.0, 5000.0, 1e7)
    ]
    for model in models:
        assert model.dual_coef_.tobytes() == models[0].dual_coef_.tobytes()
        assert model.support_.tobytes() == models[0].support_.tobytes()
        assert model.intercept_.tobytes() == models[0].intercept_.tobytes()
    check_binary(models[0], X, y, gamma=0.5)
    rows = [model.certificate_.kernel_rows for model in models]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < rows[0]


@pytest.mark.no_sanitizer
def test_a_huge_cache_is_not_allocated_up_front():
    code = """
import resource, numpy as np
from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
X = np.random.default_rng(0).normal(size=(300, 6)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
SVC(gamma=.5, C=10., cache_size=1e7).fit(X, y)
"""
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- stopping --------------------------------------------------------------------------------------


def test_max_iter_caps_pair_steps():
    X, y = rng(4).normal(size=(200, 2)), np.where(rng(5).random(200) < 0.5, 1, 0)
    objectives = []
    for max_iter in (0, 1, 10, 100, 1000, -1):
        model = unconverged_fit(SVC(C=100.0, gamma=10.0, max_iter=max_iter), X, y)
        if max_iter == -1 or max_iter <= 10:
            assert model.certificate_.converged == (max_iter == -1)
        if max_iter >= 0:
            assert model.n_iter_[0] <= max_iter
        K, beta, violation = true_violation(model, X, y, gamma=10.0)
        signs = np.where(y == 1, 1.0, -1.0)
        assert (signs * beta >= 0).all()
        assert (signs * beta <= 100.0).all()
        assert abs(beta.sum()) < 1e-9 * max(1.0, np.abs(beta).sum())
        assert np.isfinite(model.intercept_).all()
        objectives.append(dual_objective(K, beta))
        assert model.certificate_.dual_objective == pytest.approx(
            objectives[-1], rel=1e-6, abs=1e-9
        )
        scale = 1e-6 * np.abs(beta).sum()
        assert model.certificate_.kkt_violation == pytest.approx(violation, rel=1e-3, abs=scale)
    assert objectives[0] == 0.0
    assert (np.diff(objectives) <= 0).all()
    assert objectives[1] < 0.0
    assert objectives[-1] == pytest.approx(-3809.671742, rel=1e-3)


@pytest.mark.parametrize("tol", [3.0, 1.0, 1e-16])
def test_extreme_tolerances_end(tol):
    X, y = [[0.1, 0.7], [0.6, 0.2]], [0, 1]
    model = unconverged_fit(SVC(tol=tol, kernel="linear"), X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.intercept_).all()


# -- threads and signals ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(C=10.0), SVC(C=10.0, loss="squared_hinge", kernel="linear"),
        SVC(probability=True, random_state=0), NuSVC(nu=0.3), SVR(C=10.0), NuSVR(C=10.0),
        OneClassSVM(nu=0.2),
    ],
    ids=repr,
)  # fmt: skip
def test_fits_in_many_threads_agree(estimator):
    X, y = rng(0).normal(size=(120, 5)), rng(1).integers(0, 3, 120)
    results = []

    def fit(n_jobs):
        model = type(estimator)(**estimator.get_params()).set_params(n_jobs=n_jobs).fit(X, y)
        predict = getattr(model, "decision_function", model.predict)
        parts = [model.dual_coef_, predict(X)]
        if getattr(model, "probability", False):
            parts.append(model.predict_proba(X))
        results.append(b"".join(part.tobytes() for part in parts))

    for _ in range(5):
        threads = [threading.Thread(target=fit, args=((1, 2, 4)[k % 3],)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 40
    assert len(set(results)) == 1


def long_problem():
    """A fit that takes more than a minute."""
    return rng(0).normal(size=(30_000, 10)), rng(1).integers(0, 2, 30_000)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_ctrl_c_ends_a_fit(n_jobs):
    X, y = long_problem()
    model = SVC(C=1e5, tol=1e-8, n_jobs=n_jobs)
    sent = []

    def interrupt(*_):
        sent.append(None)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(sent) == 1
    assert not hasattr(model, "support_")
    model.set_params(C=1.0, tol=1e-3).fit(X[:200], y[:200])
    assert model.fit_status_ == 0


def test_time_limit_in_a_worker_thread():
    X, y = long_problem()
    model = SVC(C=1e5, time_limit=0.3)
    caught = []

    def fit():
        with warnings.catch_warnings(record=True) as inside:
            warnings.simplefilter("always")
            model.fit(X, y)
        caught.extend(inside)

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert model.certificate_.stop_reason == "time_limit"
    assert np.isfinite(model.intercept_).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_gives_the_same_bits():
    X, y = rng(0).normal(size=(500, 20)), rng(1).integers(0, 2, 500)
    expected = SVC(n_jobs=2).fit(X, y).decision_function(X)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = SVC(n_jobs=2).fit(X, y).decision_function(X).tobytes() == expected.tobytes()
            os.write(writer, b"same" if same else b"other")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"same"
    os.waitpid(child, 0)
