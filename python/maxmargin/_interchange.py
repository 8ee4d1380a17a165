"""Trained models as scikit-learn's estimators keep them, and back.

Imported only where scikit-learn is.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import sklearn.linear_model
import sklearn.svm
from scipy.sparse import csr_matrix
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from maxmargin import _core, _input
from maxmargin._estimator.base import BaseEstimator, commit
from maxmargin._estimator.wording import shown
from maxmargin._input.examples import EMPTY
from maxmargin._input.sparse import CsrMatrix, take_rows
from maxmargin.kernels._parameter import KernelParams
from maxmargin.linear.cv import LinearSVCCV
from maxmargin.online._fit import OnlineLinear
from maxmargin.online._passes import Passes
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm._model import TrainedMachine
from maxmargin.svm.cv import SVCCV

_FEATURES = ("n_features_in_", "feature_names_in_")
_OF_LINEAR = ("coef_", "intercept_", "n_iter_", "classes_", *_FEATURES)


def as_sklearn(estimator: Any) -> Any:
    """Return scikit-learn's fitted estimator for one of maxmargin's.

    Raises NotFittedError if it is not fitted. Raises ValueError if scikit-learn has no such class
    or no such kernel.
    """
    estimator._check_fitted()
    estimator = copy.copy(estimator)  # of one moment, though another thread fits it
    theirs = _counterpart(type(estimator))
    is_kernel_machine = isinstance(estimator, KernelMachine)
    params = {name: getattr(estimator, name) for name in _shared_names(estimator, theirs)}
    if hasattr(estimator, "C_") and "C" in params:  # chosen by cross-validation
        params["C"] = estimator.C_
    if isinstance(estimator, SVCCV):
        params["C"] = estimator.C_
        if hasattr(estimator, "gamma_"):
            params["gamma"] = estimator.gamma_
    found = _machine_state(estimator, params) if is_kernel_machine else _linear_state(estimator)
    made = theirs(**{name: value for name, value in params.items() if _takes(theirs, name, value)})
    vars(made).update(found)
    return made


def from_sklearn(cls: type[Any], model: Any) -> Any:
    """Return a fitted estimator of a class of maxmargin's for scikit-learn's `model`.

    Raises NotFittedError if it is not fitted. Raises ValueError if it is not of scikit-learn's
    class of that name, or not a model of that class.
    """
    theirs = _counterpart(cls)
    if issubclass(cls, (LinearSVCCV, SVCCV)):
        raise ValueError(f"scikit-learn has no counterpart of {cls.__name__}, which chose its C")
    if not isinstance(model, theirs):
        raise ValueError(
            f"{cls.__name__}.from_sklearn takes a {theirs.__module__.partition('.')[0]} "
            f"{theirs.__name__}, got {shown(model)}"
        )
    check_is_fitted(model)
    made = cls()
    for name in _shared_names(made, theirs):
        if (value := getattr(model, name)) != "deprecated":
            setattr(made, name, value)
    if isinstance(made, KernelMachine):
        trained = _trained(made, model)
        trained.check()
        commit(made, trained)
    else:
        commit(made, _functions(made, model))
    return made


def _functions(ours: Any, model: Any) -> Any:
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.atleast_2d(np.array(coef, np.float64))
    intercept = np.array(np.broadcast_to(model.intercept_, len(coef)), np.float64)
    classes = getattr(model, "classes_", None)
    parts: dict[str, Any] = {"certificate": None}
    if isinstance(ours, OnlineLinear):
        n_steps = np.zeros(len(coef), np.int64)
        states = _core.OnlineStates(
            *(coef, intercept, EMPTY, EMPTY, n_steps, n_steps, EMPTY, np.zeros(len(coef)))
        )
        unknown = [np.zeros(int(model.n_iter_), np.int64)] * len(coef)
        parts = {"states": states, "passes": Passes(unknown, converged=False)}
    return ours._model_type(
        core=_core.LinearModel(coef, intercept, 0 if classes is None else len(classes)),
        classes=classes,
        feature_names=getattr(model, "feature_names_in_", None),
        **parts,
    )


def _counterpart(cls: type[Any]) -> type[Any]:
    """Return scikit-learn's class of the name of a class of maxmargin's, or of its base."""
    for base in cls.__mro__:
        if base.__module__.startswith("maxmargin."):
            for module in (sklearn.svm, sklearn.linear_model):
                if base.__name__ in module.__all__:
                    theirs: type[Any] = getattr(module, base.__name__)
                    return theirs
    raise ValueError(f"scikit-learn has no counterpart of {cls.__name__}")


def _shared_names(ours: BaseEstimator, theirs: type[Any]) -> list[str]:
    """Return the parameters of both; a subclass has those of its base, whatever it names."""
    own = next(base for base in type(ours).__mro__ if base.__module__.startswith("maxmargin."))
    names = own._get_param_names()  # type: ignore[attr-defined]
    return [name for name in theirs._get_param_names() if name in names]


def _takes(theirs: type[Any], name: str, value: Any) -> bool:
    """Return whether scikit-learn's class allows the value of a parameter."""
    constraints = {name: theirs._parameter_constraints[name]}
    try:
        validate_parameter_constraints(constraints, {name: value}, theirs.__name__)
    except InvalidParameterError:
        return False
    return True


def _linear_state(estimator: Any) -> dict[str, Any]:
    found = {name: getattr(estimator, name) for name in _OF_LINEAR if hasattr(estimator, name)}
    if hasattr(found["coef_"], "toarray"):
        found["coef_"] = found["coef_"].toarray()
    for name in ("coef_", "intercept_"):
        found[name] = np.atleast_1d(np.array(found[name], np.float64))
        if hasattr(estimator, "partial_fit"):  # which goes on from here, not from before an average
            for kind in ("standard", "average"):
                found[f"_{kind}_{name[:-1]}"] = found[name].copy()
            found["t_"] = 1.0
    return found


def _machine_state(estimator: KernelMachine, params: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes; parameters that stand for a kernel of maxmargin's are changed."""
    model = model_of(estimator)
    kernel = model.kernel
    if kernel.type not in (*_core.LIBSVM_KERNELS, "callable"):
        raise ValueError(f"scikit-learn has no counterpart of kernel={shown(estimator.kernel)}")
    if not isinstance(estimator.kernel, str) and kernel.type != "callable":
        params.update(zip(("kernel", "gamma", "coef0", "degree"), kernel, strict=False))
    if params.pop("probability", False) or model.core.sigmoids.size > 0:
        params["probability"] = True
    found = machine_arrays(model)
    is_sparse = isinstance(model.support_vectors, CsrMatrix) and kernel.type != "callable"
    if is_sparse:
        coef = found["_dual_coef_"]  # zeros are stored as well
        ends = np.arange(len(coef) + 1) * coef.shape[1]
        places = np.tile(np.arange(coef.shape[1]), len(coef))
        found["_dual_coef_"] = csr_matrix((coef.ravel(), places, ends), shape=coef.shape)
    if kernel.type == "callable":  # of the support vectors in place of all samples
        vectors: Any = model.support_vectors
        vectors = vectors.to_scipy() if isinstance(vectors, CsrMatrix) else vectors
        found["_BaseLibSVM__Xfit"] = vectors
        found["support_"] = np.arange(model.n_support_vectors, dtype=np.int32)
    shape = model.shape_fit or (model.n_features, model.n_features)
    sign = -1.0 if model.is_binary else 1.0
    found.update(
        dual_coef_=sign * found["_dual_coef_"],
        intercept_=sign * found["_intercept_"],
        n_iter_=found["_num_iter"],
        shape_fit_=(model.n_support_vectors, *shape[1:]) if kernel.type == "callable" else shape,
        fit_status_=0,
        n_features_in_=model.n_features,
        _sparse=is_sparse,
        _gamma=0.0 if kernel.is_given else kernel.gamma,
        _effective_probability=model.core.sigmoids.size > 0,
    )
    if model.classes is None:
        found["n_iter_"] = int(found["_num_iter"][0])
    else:
        weight = np.ones(len(model.classes)) if model.class_weight is None else model.class_weight
        found.update(classes_=model.classes, class_weight_=weight)
    if model.core.type == "one_class":
        found["offset_"] = -found["intercept_"]
    if model.feature_names is not None:
        found["feature_names_in_"] = model.feature_names
    return found


def machine_arrays(model: TrainedMachine) -> dict[str, Any]:
    """Return copies of the parts under the names of scikit-learn's attributes, in its types.

    The signs are LIBSVM's, as those of scikit-learn's private attributes are.
    """
    core, certificate = model.core, model.certificate
    n_vectors = model.n_support_vectors
    # The machines of regression and of one class count as two classes there, the second of which
    # its code for sparse samples leaves empty.
    is_sparse = isinstance(model.support_vectors, CsrMatrix) and not model.kernel.is_given
    n_support: Any = [n_vectors, 0 if is_sparse else n_vectors]
    if model.classes is not None:
        n_support = core.n_support
    support = core.support if len(core.support) > 0 else np.arange(n_vectors)
    n_iter = np.zeros(core.n_machines)
    if certificate is not None:
        n_iter[:] = [machine.n_iter for machine in certificate.machines or (certificate,)]
    sigmoids = np.array(core.sigmoids).reshape(2, -1)
    vectors: Any = model.support_vectors
    if model.kernel.is_given:
        vectors = np.empty((0, 0))
    elif is_sparse:
        parts = (vectors.indices.astype(np.int32), vectors.indptr.astype(np.int32))
        vectors = csr_matrix((np.array(vectors.data, np.float64), *parts), shape=vectors.shape)
    else:
        vectors = np.array(vectors, np.float64, order="C")
    return {
        "support_": np.array(support, np.int32),
        "support_vectors_": vectors,
        "_n_support": np.array(n_support, np.int32),
        "_dual_coef_": np.array(core.dual_coef),
        "_intercept_": -core.rho,
        "_probA": sigmoids[0].copy(),
        "_probB": sigmoids[1].copy(),
        "_num_iter": n_iter.astype(np.int32),
    }


def _trained(ours: KernelMachine, model: Any) -> TrainedMachine:
    owner = type(ours).__name__
    names = ("_n_support", "_intercept_", "_probA", "_probB", "support_")
    arrays = {name: getattr(model, name) for name in names}
    coef, vectors = model._dual_coef_, model.support_vectors_
    arrays["_dual_coef_"] = coef.toarray() if hasattr(coef, "toarray") else coef
    numbers = (float(model.coef0), int(model.degree))
    if callable(model.kernel):
        samples = _input.check_matrix(model._BaseLibSVM__Xfit, owner)
        given = take_rows(samples, model.support_.astype(np.int64))
        count = len(model.support_)
        arrays["support_"] = np.arange(count)
        kernel = KernelParams("precomputed")
        trained = machine_of(ours._svm_type, kernel, np.empty(0), count, arrays)
        kernel = KernelParams("callable", function=model.kernel)
        changes: dict[str, Any] = {"vectors": given, "n_features": samples.shape[1]}
    else:
        kernel, changes = KernelParams(model.kernel, float(model._gamma), *numbers), {}
        if not kernel.is_given:
            vectors = _input.check_matrix(vectors, owner)
        trained = machine_of(ours._svm_type, kernel, vectors, model.n_features_in_, arrays)
    return dataclasses.replace(
        trained,
        kernel=kernel,
        classes=getattr(model, "classes_", None),
        class_weight=getattr(model, "class_weight_", None) if trained.classes is not None else None,
        feature_names=getattr(model, "feature_names_in_", None),
        shape_fit=tuple(model.shape_fit_),
        **changes,
    )


def machine_of(
    formulation: str, kernel: KernelParams, vectors: Any, n_features: int, arrays: dict[str, Any]
) -> TrainedMachine:
    """Return the model of arrays under the names, and in the signs, of scikit-learn's.

    Of several classes with most votes the first wins.
    """
    n_classes = len(arrays["_n_support"]) if formulation in ("c_svc", "nu_svc") else 0
    parts: dict[str, Any] = {}
    if n_classes > 0:
        parts["n_support"] = arrays["_n_support"].astype(np.int64)
        parts["vote_order"] = np.arange(n_classes, dtype=np.int64)
        parts["sigmoids"] = np.concatenate([arrays["_probA"], arrays["_probB"]])
    if "support_" in arrays:
        parts["support"] = arrays["support_"].astype(np.int64)
    if kernel.is_given:  # the numbers of the columns that hold their values
        vectors = arrays["support_"][:, np.newaxis] + 1.0
    coef = arrays["_dual_coef_"].reshape(max(1, n_classes - 1), -1)
    core = _core.KernelModel(
        *(formulation, kernel.to_core(vectors), n_features, vectors),
        *(coef, -arrays["_intercept_"]),
        **parts,
    )
    classes = np.arange(n_classes) if n_classes > 0 else None
    return TrainedMachine(core, kernel, n_features, classes=classes)
