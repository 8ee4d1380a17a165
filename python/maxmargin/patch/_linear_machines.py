"""LIBLINEAR's function as scikit-learn calls it, and that which trains a binary perceptron."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.linear_model import _stochastic_gradient
from sklearn.linear_model._perceptron import Perceptron
from sklearn.svm import _liblinear
from sklearn.utils import check_random_state

import maxmargin
from maxmargin import _core, _input
from maxmargin._input.examples import EMPTY, Examples
from maxmargin.online._fit import train
from maxmargin.online._settings import settings_of
from maxmargin.patch._stand_ins import StandIn

# LIBLINEAR's numbers of solvers: the class, and its parameters.
_SOLVERS: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("LinearSVC", {}),
    3: ("LinearSVC", {"loss": "hinge"}),
    4: ("LinearSVC", {"loss": "hinge", "multi_class": "crammer_singer"}),
    5: ("LinearSVC", {"penalty": "l1"}),
    11: ("LinearSVR", {"loss": "squared_epsilon_insensitive"}),
    13: ("LinearSVR", {"loss": "epsilon_insensitive"}),
}
_SOLVERS.update({2: _SOLVERS[1], 12: _SOLVERS[11]})  # in the primal, in the dual


class _Trainer:
    def _warn_of_stop(self, model: Any) -> None:
        """Leave the warning to scikit-learn."""


_OWNERS = ("LinearSVC", "LinearSVR")
_TRAINERS = {name: type(name, (_Trainer, getattr(maxmargin, name)), {}) for name in _OWNERS}


def _train(
    *, X: Any, y: Any, solver: int, bias: float, max_iter: int, sample_weight: Any, **given: Any
) -> tuple[Any, Any]:
    if not np.isfinite(bias):
        raise ValueError("intercept_scaling is infinite")
    owner, params = _SOLVERS[solver]
    params = {name: given[name] for name in ("tol", "C", "random_state")} | params
    if bias > 0.0:
        params["intercept_scaling"] = bias
    if owner == "LinearSVC":
        y = y.astype(np.int64)
        params["class_weight"] = dict(enumerate(given["class_weight"].tolist()))
    else:
        params["epsilon"] = given["epsilon"]
    estimator: Any = _TRAINERS[owner](**params, max_iter=max_iter, fit_intercept=bias > 0.0)
    estimator.fit(X, y, sample_weight)
    weights = np.atleast_2d(estimator.coef_)
    if bias > 0.0:
        weights = np.hstack([weights, np.reshape(estimator.intercept_, (-1, 1)) / bias])
    if solver == 4 and len(weights) == 1:  # LIBLINEAR has a function of either class
        weights = np.vstack([-weights, weights]) / 2.0
    # scikit-learn warns where max_iter is reached.
    n_iter = min(estimator.n_iter_, max_iter) if estimator.certificate_.converged else max_iter
    return np.asfortranarray(weights), np.array([n_iter], np.intc)


def _fit_binary(
    *, est: Any, i: int, X: Any, y: Any, sample_weight: Any, random_state: Any = None, **given: Any
) -> tuple[Any, float, int]:
    """Train class i against the rest, from the estimator's weights, which are changed in place."""
    if est.fit_intercept and hasattr(X, "tocsr"):
        raise ValueError("the intercept takes shorter steps there on sparse samples")
    if est.early_stopping:
        raise ValueError("early_stopping is by the score of the estimator")
    class_weight = [given["neg_weight"], given["pos_weight"]]
    weight = None if (sample_weight == 1.0).all() else np.asarray(sample_weight, np.float64)
    is_weighted = weight is not None or class_weight != [1.0, 1.0]
    if est.tol is not None and (est.penalty is not None or is_weighted):
        raise ValueError(
            "what tol is applied to counts the penalty in every step, and no weights, there"
        )
    names = ("penalty", "alpha", "l1_ratio", "fit_intercept", "tol", "shuffle", "eta0")
    ours = maxmargin.Perceptron(
        **{name: getattr(est, name) for name in (*names, "n_iter_no_change")},
        max_iter=given["max_iter"],
        random_state=check_random_state(random_state).randint(np.iinfo(np.int32).max),
    )
    settings = settings_of(ours)
    settings.follows_loss = est.tol is not None
    matrix = _input.check_matrix(X, "Perceptron", checks_values=False)
    codes = (y == est.classes_[i]).astype(np.int64)
    positive = np.ones(1, np.int64)
    examples = Examples(matrix, codes, np.arange(2), weight, np.array(class_weight), positive)
    place, coef = (i, est.coef_[i]) if len(est.classes_) > 2 else (0, est.coef_.ravel())
    none, zero = np.zeros(1, np.int64), np.zeros(1)
    w, b = coef[np.newaxis].astype(np.float64), est.intercept_[place : place + 1].astype(np.float64)
    start = _core.OnlineStates(w, b, EMPTY, EMPTY, none, none, EMPTY, zero)
    result = train(ours, examples, EMPTY, settings, start)
    coef[:] = result.states.w[0]
    return coef, result.states.b[0], len(result.records[0].mistakes_per_pass)


def _owner_of_solver(given: dict[str, Any]) -> str | None:
    return _SOLVERS[given["solver"]][0] if given.get("solver") in _SOLVERS else None


def _owner_of_binary(given: dict[str, Any]) -> str | None:
    return "Perceptron" if isinstance(given.get("est"), Perceptron) else None


_NAMES = (
    *("X", "y", "is_sparse", "solver", "tol", "bias", "C", "class_weight", "max_iter"),
    *("random_state", "epsilon", "sample_weight"),
)
_BINARY = tuple(inspect.signature(_stochastic_gradient.fit_binary).parameters)
STAND_INS = [
    StandIn(_liblinear, "train_wrap", _NAMES, _owner_of_solver, _train),
    StandIn(_stochastic_gradient, "fit_binary", _BINARY, _owner_of_binary, _fit_binary),
]
