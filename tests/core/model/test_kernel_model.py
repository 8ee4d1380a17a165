"""The model that training in the core returns: predictions, views of its parts, what is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, _core
from oracles.svm import kernel as kernel_matrix


def samples(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def core_of(estimator, container=np.asarray):
    X, y = samples()
    return estimator.fit(container(X), y)._model.core


def parts_of(core):
    names = (
        *("type", "kernel", "n_features", "support_vectors", "dual_coef", "rho", "n_support"),
        *("vote_order", "support", "equivalent", "sigmoids", "noise_scale"),
    )
    return {name: getattr(core, name) for name in names}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(), SVC(kernel="linear"), SVC(probability=True), NuSVC(nu=0.3), SVR(), NuSVR(),
        OneClassSVM(nu=0.2),
    ],
    ids=repr,
)  # fmt: skip
def test_it_predicts_what_the_estimator_does(estimator, container):
    X, _ = samples()
    core = core_of(estimator, container)
    np.testing.assert_allclose(core.predict(X), estimator.predict(X), rtol=1e-12)
    again = _core.KernelModel(**parts_of(core))
    assert again.predict(X).tobytes() == core.predict(X, 1).tobytes()


def test_it_predicts_the_labels_of_a_file():
    X, y = samples()
    labels = np.array([7, -3, 40])
    core = SVC().fit(X, labels[y])._model.core
    of_file = _core.KernelModel.from_libsvm(core.to_libsvm(np.array([-3.0, 7.0, 40.0])))
    assert of_file.labels.tolist() == [-3, 7, 40]
    np.testing.assert_array_equal(of_file.predict(X), SVC().fit(X, labels[y]).predict(X))


def test_machines_are_sums_over_their_expansions():
    X, _ = samples()
    estimator = SVC(gamma=0.3)
    core = core_of(estimator)
    K = kernel_matrix(X, core.support_vectors, gamma=0.3)
    values = core.decision_values(X)
    assert core.n_machines == 3
    for machine in range(3):
        used, beta = core.expansion(machine)
        np.testing.assert_allclose(values[:, machine], K[:, used] @ beta - core.rho[machine])
        # The pairs (0, 1), (0, 2), (1, 2) use the support vectors of their classes alone.
        classes = {0: (0, 1), 1: (0, 2), 2: (1, 2)}[machine]
        of_class = np.repeat(np.arange(3), core.n_support)
        assert set(of_class[used]) == set(classes)
    with pytest.raises(ValueError, match="no such machine"):
        core.expansion(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_values_may_be_those_with_all_samples_or_with_the_support_vectors(dtype):
    X, y = samples()
    K = (X @ X.T).astype(dtype)
    core = SVC(kernel="precomputed").fit(K, y)._model.core
    whole = core.decision_values(K)
    of_support = np.ascontiguousarray(K[:, core.support])
    assert core.decision_values(of_support, 2).tobytes() == whole.tobytes()
    for machine in range(3):
        used, beta = core.expansion(machine)
        expected = of_support[:, used].astype(float) @ beta - core.rho[machine]
        np.testing.assert_allclose(whole[:, machine], expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="kernel values with all training samples or"):
        core.decision_values(np.ascontiguousarray(K[:, :3]))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_parts_are_views_that_keep_the_model_alive(container):
    core = core_of(SVC(), container)
    vectors, dual_coef, rho = core.support_vectors, core.dual_coef, core.rho
    arrays = (*vectors[:3], dual_coef, rho) if isinstance(vectors, tuple) else (vectors, rho)
    assert all(array.base is core and not array.flags.writeable for array in arrays)
    copies = [array.copy() for array in arrays]
    del core
    gc.collect()
    samples(5000)  # memory that was freed would be written over
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_support": np.array([1, 2, 3])}, "n_support must add up"),
        ({"n_support": None, "vote_order": None}, "at least two classes"),
        ({"vote_order": np.array([0, 1, 1])}, "vote_order must hold every class once"),
        ({"labels": np.zeros(2)}, "labels must have n_classes elements"),
        ({"n_features": 3}, "support_vectors must have n_features columns"),
        ({"sigmoids": np.zeros((2, 2))}, "sigmoids must be empty or have"),
        ({"sigmoids": np.zeros(3)}, "sigmoids must have two rows"),
        ({"equivalent": np.zeros(2)}, "equivalent must be empty or have"),
        ({"noise_scale": 1.0}, "only a regression has one"),
        ({"support": np.zeros(1, np.int64)}, "support must have an element"),
        ({"type": "svm"}, "unknown type of model 'svm'"),
        ({"type": "nu_svr"}, "only classifiers have classes"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.KernelModel(**{**parts_of(core_of(SVC())), **changes})


def test_a_fit_that_fails_at_any_point_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = samples()
    model = SVC().fit(X, y)
    before = dict(vars(model))

    def fails(report):
        raise KeyboardInterrupt  # at the end, when all but the assignment has been done

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=fails).fit(X[:50], y[:50])
    assert vars(model) == {**before, "callback": fails}
    assert model.shape_fit_ == (80, 4)
