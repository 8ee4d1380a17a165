"""The fitted side of a classifier with one kernel machine for each pair of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _one_vs_one, _probability, _validation
from maxmargin._base import Classifier
from maxmargin._kernel_machine import KernelMachine, read_only
from maxmargin._sparse import Matrix
from maxmargin._wording import shown
from maxmargin.exceptions import NotFittedError, compatible


class OneVsOneModel(KernelMachine, Classifier):
    """What follows from the machines: attributes, decision values and predictions.

    The model is held in LIBSVM's form: machine (i, j), i < j, is positive for class i, and
    `_dual_coef` has its layout. Two-class attributes and decision values have scikit-learn's sign,
    positive for classes_[1].
    """

    decision_function_shape: str
    break_ties: bool
    probability: bool

    # A and B of every machine, in LIBSVM's sign.
    _sigmoids: NDArray[np.float64] | None

    # Whether probabilities, where there are some, decide (as with LIBSVM's -b 1).
    _predicts_most_probable = True

    @property
    def _calibrates(self) -> bool:
        """Whether `fit` is to calibrate probabilities."""
        return _validation.check_flag("probability", self.probability)

    def _check_decision_options(self) -> None:
        shape = _validation.check_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        if _validation.check_flag("break_ties", self.break_ties) and shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _set_model(
        self,
        classes: NDArray[Any],
        n_support: NDArray[np.int64],
        dual_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        support_vectors: Matrix,
        vote_order: NDArray[np.int64],
    ) -> None:
        self._cache = {}
        self._vote_order = vote_order
        self.classes_ = classes
        self._n_support = n_support
        self._dual_coef = dual_coef
        self._rho = rho
        self._support_vectors = support_vectors

    def _check_state(self) -> None:
        owner, intact = type(self).__name__, _validation.require_intact
        intact(_validation.are_classes(self.classes_), owner, "classes_")
        n_classes = len(self.classes_)
        n_machines = n_classes * (n_classes - 1) // 2
        counts, sigmoids = self._n_support, self._sigmoids
        self._check_machines(n_lines=n_classes - 1, n_machines=n_machines)
        is_count = _validation.is_array(counts, np.int64, (n_classes,)) and bool(counts.min() >= 0)
        intact(is_count and counts.sum() == self._dual_coef.shape[1], owner, "n_support_")
        intact(_validation.is_order_of(self._vote_order, n_classes), owner, "the order of votes")
        are_sigmoids = _validation.is_finite_array(sigmoids, np.float64, (2, n_machines))
        is_fit = sigmoids is None or are_sigmoids
        intact(is_fit, owner, "probA_ or probB_")
        for name, dtype, length in (
            ("class_weight_", np.float64, n_classes),
            ("n_iter_", np.int64, n_machines),
            ("C_", np.float64, n_machines),
        ):
            if name in vars(self):  # a model file holds none of them
                intact(_validation.is_array(vars(self)[name], dtype, (length,)), owner, name)

    @property
    def _is_binary(self) -> bool:
        return len(self.classes_) == 2

    @property
    def n_support_(self) -> NDArray[np.int64]:
        return self._n_support

    # Positive is class 0 in LIBSVM's machine (0, 1), but classes_[1] in scikit-learn's two-class
    # attributes and decision values.

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        return -self._dual_coef if self._is_binary else self._dual_coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return self._rho.copy() if self._is_binary else -self._rho

    @property
    def coef_(self) -> NDArray[np.float64]:
        self._check_linear()
        return read_only(-self._linear_weights() if self._is_binary else self._linear_weights())

    def _new_linear_weights(self) -> NDArray[np.float64]:
        return _one_vs_one.linear_weights(self._support_vectors, self._dual_coef, self._n_support)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64
            With two classes of shape (n_samples,), positive for classes_[1]. Otherwise of shape
            (n_samples, n_classes) for 'ovr' and (n_samples, n_classes * (n_classes - 1) / 2) for
            'ovo'; see `decision_function_shape`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` is not valid, has another number of features, or the kernel overflows.
        """
        values = self._machine_values(X)
        self._check_decision_options()
        if self._is_binary:
            return -values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return _one_vs_one.one_vs_rest_scores(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample, shape (n_samples,), of the type of the labels.

        With `probability`, that is the most probable one.

        Raises what `decision_function` raises.
        """
        values = self._machine_values(X)
        self._check_decision_options()
        n_classes = len(self.classes_)
        if self._sigmoids is not None and self._predicts_most_probable:
            winners = self._probabilities(values).argmax(axis=1)
        elif self.break_ties and n_classes > 2:
            winners = _one_vs_one.one_vs_rest_scores(values, n_classes).argmax(axis=1)
        else:
            winners = _one_vs_one.vote_winners(values, n_classes, self._vote_order)
        predicted: NDArray[Any] = self.classes_[winners]
        return predicted

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        """Function of samples to the probability of every class, (n_samples, n_classes).

        Only where the estimator was fitted with `probability`. Columns are in the order of
        `classes_`. Raises what `decision_function` raises.
        """
        self._check_probability()
        return self._predict_proba

    @property
    def predict_log_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        """Function of samples to the logarithms of `predict_proba`."""
        self._check_probability()
        return lambda X: np.log(self._predict_proba(X))

    @property
    def probA_(self) -> NDArray[np.float64]:  # noqa: N802
        """A of every machine: the first class of a pair has probability 1 / (1 + exp(A f + B))."""
        slopes: NDArray[np.float64] = self._fitted_sigmoids()[0]
        return slopes

    @property
    def probB_(self) -> NDArray[np.float64]:  # noqa: N802
        """B of every machine."""
        offsets: NDArray[np.float64] = self._fitted_sigmoids()[1]
        return offsets

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        return self._probabilities(self._machine_values(X))

    def _probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _probability.probabilities(values, self._fitted_sigmoids(), len(self.classes_))

    def _check_probability(self) -> None:
        if not (self._calibrates or vars(self).get("_sigmoids") is not None):
            raise AttributeError("probabilities are available only with probability=True")

    def _fitted_sigmoids(self) -> NDArray[np.float64]:
        self._check_fitted()
        if self._sigmoids is None:
            raise compatible(NotFittedError)(
                "predict_proba is not available when fitted with probability=False"
            )
        return self._sigmoids

    def _file_parts(self) -> dict[str, Any]:
        return {
            "labels": _integer_classes(self.classes_),
            "n_support": self._n_support,
            "dual_coef": self._dual_coef,
            "rho": self._rho,
            "vote_order": self._vote_order,
            "sigmoids": np.empty((2, 0)) if self._sigmoids is None else self._sigmoids,
        }

    def _take_classes(self, model: dict[str, Any]) -> None:
        self.classes_ = model["labels"].astype(np.int64)
        self._n_support = model["n_support"]
        self._vote_order = model["vote_order"]
        sigmoids = model["sigmoids"]
        self._sigmoids = sigmoids if sigmoids.shape[1] > 0 else None
        self.probability = self._sigmoids is not None

    def _coefficients(self) -> NDArray[np.float64]:
        return _one_vs_one.machine_coefficients(self._dual_coef, self._n_support)

    def _new_core_decision(self) -> _core.Decision:
        return _core.Decision(
            self._support_vectors,
            self._n_support,
            self._dual_coef,
            self._rho,
            self._kernel_params.to_core(self._support_vectors),
        )


def _integer_classes(classes: NDArray[Any]) -> NDArray[np.float64]:
    if classes.dtype.kind not in "biuf" or not (classes == np.floor(classes)).all():
        raise ValueError(
            "LIBSVM's model format holds only integer classes, got "
            f"{shown(classes.tolist())}; encode the labels as integers before fit, or pickle the "
            "estimator"
        )
    return np.require(classes, np.float64, "C")
