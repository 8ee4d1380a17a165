"""LIBSVM's functions as scikit-learn calls them: the same arguments and arrays, on our core."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.svm import _libsvm, _libsvm_sparse

import maxmargin
from maxmargin import _core, _input
from maxmargin._input.examples import EMPTY
from maxmargin._interchange import machine_arrays, machine_of
from maxmargin.kernels._parameter import KernelParams
from maxmargin.patch._stand_ins import StandIn
from maxmargin.svm._machine import model_of
from maxmargin.svm._model import TrainedMachine

# The classes and the names of their formulations, in the order of LIBSVM's numbers.
_OWNERS = ("SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR")
_FORMULATIONS = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")


class _Trainer:
    """scikit-learn's conventions where maxmargin's kernel machines have others."""

    _counts_weights = False

    @staticmethod
    def _vote_order(classes: NDArray[Any]) -> NDArray[np.int64]:
        # Of several classes with most votes the first in classes_ wins.
        return np.arange(len(classes), dtype=np.int64)

    def _warn_of_stop(self, certificate: Any) -> None:
        if certificate.stop_reason != "max_iter":  # of which scikit-learn warns
            super()._warn_of_stop(certificate)  # type: ignore[misc]


_TRAINERS: list[type[Any]] = [
    type(name, (_Trainer, getattr(maxmargin, name)), {}) for name in _OWNERS
]
_PARAMETERS_OF = [set(trainer._get_param_names()) for trainer in _TRAINERS]


def _fit(**given: Any) -> tuple[Any, ...]:
    number, weight, y = given["svm_type"], given["sample_weight"], given["y"]
    X = given["X"] if "X" in given else _csr(given, "", given["n_features"])
    kernel = _name_of_kernel(given)
    params = {**given, "kernel": kernel}
    params |= {name: bool(given[name]) for name in ("shrinking", "probability")}
    if kernel in ("linear", "precomputed"):  # which have none
        params["gamma"] = "auto"
    class_weight = dict(enumerate(params.pop("class_weight").tolist()))
    if number == 0:  # LIBSVM has no weights of classes in its other formulations
        params["class_weight"] = class_weight
    if number < 2:
        y = y.astype(np.int64)
        params["random_state"] = given["random_seed"]
    known = params.keys() & _PARAMETERS_OF[number]
    estimator = _TRAINERS[number](**{name: params[name] for name in known})
    model = model_of(estimator.fit(X, y, sample_weight=weight if len(weight) > 0 else None))
    found = machine_arrays(model)
    order = ["_n_support", "_dual_coef_", "_intercept_"]
    if "X" not in given:
        order, found["_dual_coef_"] = order[1:] + order[:1], found["_dual_coef_"].ravel()
    names = ("support_", "support_vectors_", *order, "_probA", "_probB")
    status = model.certificate is not None and model.certificate.stop_reason == "max_iter"
    return (*(found[name] for name in names), int(status), found["_num_iter"])


def _csr(given: dict[str, Any], prefix: str, n_columns: int) -> csr_matrix:
    parts = tuple(given[prefix + part] for part in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=(len(parts[2]) - 1, n_columns))


def _name_of_kernel(given: dict[str, Any]) -> str:
    kernel = given["kernel"]
    return kernel if isinstance(kernel, str) else _core.LIBSVM_KERNELS[kernel]


# The models made of estimators' arrays, by the identity of the array of coefficients, which may go
# on with other contents: with each, what it was made of.
_packed: dict[int, tuple[TrainedMachine, tuple[Any, ...], list[NDArray[Any]], Any]] = {}

_NUMBERS = ("svm_type", "kernel", "degree", "gamma", "coef0")
# Of scikit-learn's attributes, the arguments that they are given as.
_NAMES = {"sv_coef": "_dual_coef_", "intercept": "_intercept_", "n_support": "_n_support"} | {
    **{"probA": "_probA", "probB": "_probB", "support": "support_"}
}
_ARRAYS = (*_NAMES, "sv_data", "sv_indices", "sv_indptr", "vectors")


def _machine_of(given: dict[str, Any], width: int) -> TrainedMachine:
    """Return the model of the arrays, that of the call before if they have not changed."""
    key = id(given["sv_coef"])
    numbers = tuple(given[name] for name in _NUMBERS)
    arrays = [given[name] for name in _ARRAYS if name in given]
    if known := _packed.get(key):
        machine, old_numbers, old_arrays, _ = known
        is_same = numbers == old_numbers and all(map(np.array_equal, arrays, old_arrays))
        if is_same and width <= machine.n_features:
            return machine
    machine = _made_of(given, width)
    copies = [array.copy() for array in arrays]
    if given.get("vectors", EMPTY).size > 0:
        copies[-1] = machine.core.support_vectors  # the greatest of them, which it has copied
    forget = weakref.ref(given["sv_coef"], lambda _: _packed.pop(key, None))
    _packed[key] = (machine, numbers, copies, forget)
    return machine


def _made_of(given: dict[str, Any], width: int) -> TrainedMachine:
    number = given["svm_type"]
    kernel = KernelParams(_name_of_kernel(given), given["gamma"], given["coef0"], given["degree"])
    vectors = given.get("vectors")
    if vectors is None:
        vectors = _input.check_matrix(_csr(given, "sv_", width), _OWNERS[number])
    arrays = {theirs: given[name] for name, theirs in _NAMES.items() if name in given}
    return machine_of(_FORMULATIONS[number], kernel, vectors, width, arrays)


def _by_blocks(given: dict[str, Any], use: Callable[[_core.KernelModel], Any]) -> NDArray[Any]:
    """Return what use(model), a function of values of machines, gives for all samples."""
    if "X" in given:
        X = given["X"]
        machine = _machine_of(given, X.shape[1])
    else:
        columns = (given[name].max(initial=0) for name in ("indices", "sv_indices"))
        machine = _machine_of(given, 1 + int(max(columns)))
        samples = _csr(given, "", machine.n_features)
        X = _input.check_matrix(samples, _OWNERS[given["svm_type"]])
    return machine.by_blocks(X, _input.check_n_jobs(None), use(machine.core))


def _predict(**given: Any) -> NDArray[np.float64]:
    if given["svm_type"] < 2:
        return _by_blocks(given, lambda core: core.vote_winners).astype(np.float64)
    values = _decision_function(**given)[:, 0]
    return np.where(values > 0.0, 1.0, -1.0) if given["svm_type"] == 2 else values


def _decision_function(**given: Any) -> NDArray[np.float64]:
    return _by_blocks(given, lambda _: lambda values: values)


def _predict_proba(**given: Any) -> NDArray[np.float64]:
    return _by_blocks(given, lambda core: core.probabilities)


_PARAMETERS = (*_NUMBERS, "tol", "C", "class_weight")
_DENSE = ("X", "support", "vectors", "n_support", "sv_coef", "intercept", "probA", "probB")
_SPARSE = (
    *("data", "indices", "indptr", "sv_data", "sv_indices", "sv_indptr", "sv_coef", "intercept"),
    *(*_PARAMETERS, "nu", "epsilon", "shrinking", "probability", "n_support", "probA", "probB"),
)
_SPARSE_FIT = (
    *("n_features", "data", "indices", "indptr", "y", *_PARAMETERS, "sample_weight", "nu"),
    *("cache_size", "epsilon", "shrinking", "probability", "max_iter", "random_seed"),
)


def _owner_of(given: dict[str, Any]) -> str | None:
    return _OWNERS[given["svm_type"]] if given.keys() >= set(_NUMBERS) else None


STAND_INS = [
    StandIn(module, name, names, _owner_of, ours)
    for module, name, names, ours in (
        (_libsvm, "fit", ("X", "y"), _fit),
        (_libsvm, "predict", _DENSE, _predict),
        (_libsvm, "decision_function", _DENSE, _decision_function),
        (_libsvm, "predict_proba", _DENSE, _predict_proba),
        (_libsvm_sparse, "libsvm_sparse_train", _SPARSE_FIT, _fit),
        (_libsvm_sparse, "libsvm_sparse_predict", _SPARSE, _predict),
        (_libsvm_sparse, "libsvm_sparse_decision_function", _SPARSE, _decision_function),
        (_libsvm_sparse, "libsvm_sparse_predict_proba", _SPARSE, _predict_proba),
    )
]
