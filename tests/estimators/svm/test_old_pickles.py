"""Pickles of 0.1.0, whose estimators held the parts of the model, load with the same bits."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, kernels


def dot_products(A, B):
    return A @ B.T


ESTIMATORS = [
    SVC(),
    SVC(kernel="linear", C=10.0),
    SVC(probability=True),
    SVC(kernel=kernels.RBF(0.5) + kernels.Linear()),
    SVC(kernel="precomputed"),
    NuSVC(nu=0.3),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    OneClassSVM(kernel=dot_products),
]


def samples(n=60):
    X = np.random.default_rng(3).normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def state_of_version_0_1(model):
    """Return the state that a pickle of 0.1.0 holds: the parts are attributes of the estimator."""
    trained = model._model
    core, vectors = trained.core, trained.support_vectors
    state = {name: value for name, value in vars(model).items() if name != "_model"}
    if trained.kernel.type == "precomputed":
        state["_matrix_support"] = core.support
    if isinstance(model, (SVC, NuSVC)):
        state |= {"_n_support": core.n_support, "_vote_order": core.vote_order}
        state |= {"_sigmoids": core.sigmoids if core.sigmoids.size else None}
    names = ["n_features_in_", "support_", "certificate_", "shape_fit_", "fit_status_", "n_iter_"]
    names += [
        name for name in ("classes_", "class_weight_", "C_", "epsilon_") if hasattr(model, name)
    ]
    return {
        **state, **{name: getattr(model, name) for name in names}, "_kernel_params": trained.kernel,
        "_dual_coef": core.dual_coef, "_rho": core.rho, "_support_vectors": vectors, "_cache": {},
    }  # fmt: skip


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: re.sub(r" at 0x\w+", "", repr(e)))
def test_pickles_of_version_0_1_load(estimator, container):
    X, y = samples()
    if estimator.kernel == "precomputed":
        X, container = X @ X.T, np.asarray
    model = clone(estimator).fit(container(X), y)
    old = clone(estimator)
    with pytest.warns(UserWarning, match=r"pickled by maxmargin 0\.1\.0 and is loaded by "):
        old.__setstate__(state_of_version_0_1(model))
    predict = getattr(model, "decision_function", model.predict)
    again = getattr(old, "decision_function", old.predict)
    assert again(X).tobytes() == predict(X).tobytes()
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_") and hasattr(model, name):
            found, expected = getattr(old, name), getattr(model, name)
            if sp.issparse(expected):
                found, expected = found.toarray(), expected.toarray()
            np.testing.assert_array_equal(found, expected, err_msg=name)
    assert vars(old).keys() == vars(model).keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [("_kernel_params", None), ("_dual_coef", None), ("_support_vectors", None), ("_rho", [1.0]),
     ("classes_", [0, 1]), ("_n_support", np.array([-1, 2, 3])), ("n_features_in_", 2**62)],
)  # fmt: skip
def test_altered_pickles_of_version_0_1_are_refused(name, value):
    X, y = samples()
    state = state_of_version_0_1(SVC().fit(X, y))
    with pytest.warns(UserWarning, match="pickled by"), pytest.raises(ValueError, match=r"\w"):
        SVC().__setstate__({**state, name: value})
