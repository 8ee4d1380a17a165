"""The flags of svm-train, and the estimators and fits that they stand for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input, io
from maxmargin._estimator.base import commit
from maxmargin._input.sparse import Matrix
from maxmargin.cli._cross_validation import folds_of, samples_of
from maxmargin.cli._data import load_samples
from maxmargin.cli._flags import Flag, Given, LabelFlag, choice, integer, on, real
from maxmargin.cli._reports import warn
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR, RegressionMachine

# By the number of -s and of -t.
_ESTIMATORS: tuple[type[KernelMachine], ...] = (SVC, NuSVC, OneClassSVM, SVR, NuSVR)

# Folds for the scale of the errors of a regression, LIBSVM's number.
_NOISE_FOLDS = 5


def _nu(name: str, word: str) -> float:
    return _input.check_nu(real()(name, word))


def _weight(name: str, label: str, weight: str) -> tuple[int, float]:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"the label must be an integer, got {label!r}")
    return int(number), real(at_least=0)(name, weight)


SVM_FLAGS = (
    Flag("-s", "svm_type", "0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR (default 0)",
         choice("0", "1", "2", "3", "4")),
    Flag("-t", "kernel", "0 linear, 1 polynomial, 2 RBF, 3 sigmoid, 4 precomputed (default 2)",
         choice("0", "1", "2", "3", "4")),
    Flag("-d", "degree", "of the polynomial kernel (default 3)", integer(at_least=0)),
    Flag("-g", "gamma", "of the kernels but linear (default, and 0: 1 / features)",
         real(at_least=0)),
    Flag("-r", "coef0", "of the polynomial and sigmoid kernels (default 0)", real()),
    Flag("-c", "cost", "C of C-SVC, epsilon-SVR and nu-SVR (default 1)", real(above=0)),
    Flag("-n", "nu", "of nu-SVC, one-class and nu-SVR (default 0.5)", _nu),
    Flag("-p", "epsilon", "half the width of epsilon-SVR's tube (default 0.1)", real(at_least=0)),
    Flag("-m", "MB", "size of the kernel cache (default 100)", real(above=0)),
    Flag("-e", "tol", "tolerance on the KKT violation (default 0.001)", real(above=0)),
    Flag("-h", "shrinking", "0 or 1: whether to set aside variables at a bound (default 1)",
         choice("0", "1")),
    Flag("-b", "probability", "0 or 1: whether to train for probabilities (default 0)",
         choice("0", "1")),
    LabelFlag("-w", "weight", "factor of C for class i, of C-SVC; repeatable", _weight),
    Flag("-v", "n", "n-fold cross-validation in place of a model", integer(at_least=2)),
    Flag("-q", "", "print errors and warnings only", on),
)  # fmt: skip


class Problem:
    """The samples of a training file, and the fits on them that flags ask for."""

    def __init__(self, path: str, given: Given) -> None:
        self._given = given
        self.is_precomputed = given.get("-t") == 4
        self.serials: NDArray[np.int64] | None = None
        X, self.y = load_samples(path, zero_based=self.is_precomputed)
        self.X: Matrix = X
        self.n_columns = X.n_cols
        if self.is_precomputed:
            values = X.to_dense()
            self.n_columns -= 1
            self.serials = _serials(path, values)
            self.X = np.ascontiguousarray(values[:, 1:][:, self.serials])
        self._class_weight = self._weights_of_classes()

    @property
    def _kind(self) -> type[KernelMachine]:
        number: int = self._given.get("-s", 0)
        return _ESTIMATORS[number]

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number rather than a class."""
        return issubclass(self._kind, RegressionMachine)

    def estimator(self, **params: Any) -> KernelMachine:
        """Return the estimator that the flags describe, with other values of `params`."""
        given = self._given
        values = {
            "kernel": _core.LIBSVM_KERNELS[given.get("-t", 2)],
            "degree": given.get("-d", 3),
            "gamma": given.get("-g", 0.0) or "auto",
            "coef0": given.get("-r", 0.0),
            "C": given.get("-c", 1.0),
            "nu": given.get("-n", 0.5),
            "epsilon": given.get("-p", 0.1),
            "cache_size": given.get("-m", 100.0),
            "tol": given.get("-e", 1e-3),
            "shrinking": given.get("-h", 1) == 1,
            "probability": given.get("-b", 0) == 1,
            **params,
        }
        names = self._kind._get_param_names()
        return self._kind().set_params(**{k: v for k, v in values.items() if k in names})

    def fit(self, estimator: KernelMachine, rows: NDArray[np.int64] | None = None) -> KernelMachine:
        """Return the estimator, fitted on all samples or on some."""
        X, y = self.X, self.y
        if rows is not None:
            X, y = samples_of(X, rows, rows if self.is_precomputed else None), y[rows]
        if isinstance(estimator, SVC) and self._class_weight:
            present = {label: w for label, w in self._class_weight.items() if label in y}
            estimator.set_params(class_weight=present)
        return estimator.fit(X, y)  # type: ignore[attr-defined, no-any-return]

    def held_out_predictions(self, n_folds: int, **params: Any) -> NDArray[np.float64]:
        """Return a prediction for every sample, by estimators fitted on the other folds."""
        predicted = np.empty(len(self.y))
        is_classifier = self._kind in (SVC, NuSVC)
        for rows, held_out in folds_of(self.y, n_folds, is_classifier):
            labels = self.y[rows]
            if is_classifier and (labels == labels[0]).all():
                predicted[held_out] = labels[0]  # all that LIBSVM's model of one class can say
                continue
            model = self.fit(self.estimator(**params), rows)
            X = samples_of(self.X, held_out, rows if self.is_precomputed else None)
            predicted[held_out] = model.predict(X)  # type: ignore[attr-defined]
        return predicted

    def noise_scale(self) -> float:
        """Return the scale of the Laplace distribution of a regression's errors."""
        return _core.noise_scale(self.y - self.held_out_predictions(_NOISE_FOLDS))

    def _weights_of_classes(self) -> dict[float, float]:
        """Return the factors of -wi for the classes that there are; given twice, they multiply."""
        factors: dict[float, float] = {}
        for label, weight in self._given.get("-w", []):
            factors[float(label)] = factors.get(float(label), 1.0) * weight
        if self._kind in (SVC, NuSVC):
            for label in factors.keys() - set(self.y.tolist()):
                warn(f"class label {label:g} of -w is not in the data")
                del factors[label]
        return factors


def _serials(path: str, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the columns of the kernel values that are those with the rows' own samples."""
    numbers = values[:, 0]
    n_columns = values.shape[1] - 1
    for row, number in enumerate(numbers.tolist()):
        if not (number.is_integer() and 1 <= number <= n_columns):
            raise ValueError(
                f"{path}: sample {row + 1} must begin with 0:serial, its number among the "
                f"{n_columns} columns of the kernel matrix (-t 4), got {number:g}"
            )
    return numbers.astype(np.int64) - 1


def save(problem: Problem, model: KernelMachine, path: str) -> None:
    """Write a fitted model; that of a kernel matrix names its samples by their serials."""
    if problem.serials is not None:
        trained = model_of(model)
        numbers = trained.core.support_vectors[:, 0].astype(np.int64) - 1
        serials = problem.serials[numbers, np.newaxis] + 1.0
        commit(model, trained.changed(problem.n_columns, support_vectors=serials))
    io.save_model(model, path)
