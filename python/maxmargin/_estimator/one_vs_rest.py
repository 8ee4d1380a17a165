"""What linear classifiers share: f of every class against the rest, and the class of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._estimator.base import BaseEstimator, fitted_model
from maxmargin._estimator.fitted import matrix_of
from maxmargin._estimator.texts import PREDICT, documented_method
from maxmargin._input.sparse import Matrix


class OneVsRest(BaseEstimator):
    """Decision values and labels of one f for each class against the rest.

    With two classes there is one f, positive for classes_[1].
    """

    @documented_method(PREDICT)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f of samples.

        Returns
        -------
        ndarray of float64
            With two classes of shape (n_samples,), positive for classes_[1]; otherwise of shape
            (n_samples, n_classes).
        """
        return self._decide(X)[1]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample, shape (n_samples,), of the type of the labels.

        With two classes f = 0 belongs to classes_[1]; otherwise the class of the greatest f wins,
        of several such the first. Raises what `decision_function` raises.
        """
        classes, values = self._decide(X)
        predicted: NDArray[Any] = classes[winners(values)]
        return predicted

    def _decide(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the classes and the decision values, both of the model of one moment."""
        model = fitted_model(self)
        values = self._scores(matrix_of(X, type(self).__name__, model), model)
        if not np.isfinite(values).all():
            raise ValueError(self._overflow_message("a decision value is not finite"))
        return model.classes, values[:, 0] if len(model.classes) == 2 else values

    def _scores(self, matrix: Matrix, model: Any) -> NDArray[np.float64]:
        """Return f of every problem, shape (n_samples, n_problems)."""
        raise NotImplementedError

    def _overflow_message(self, what: str) -> str:
        raise NotImplementedError


def winners(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the class of decision values: by sign, or the first of the greatest."""
    return (values >= 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)


def positive_classes(n_classes: int) -> NDArray[np.int64]:
    """Return the positive class of every problem."""
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def class_factors(class_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the rest and of the positive class, by problem.

    With more than two classes, the weight of a class holds in its own problem, where the rest has 1
    (LIBLINEAR's rule).
    """
    positive = positive_classes(len(class_weight))
    of_rest = class_weight[:1] if len(class_weight) == 2 else np.ones(len(class_weight))
    return np.column_stack([of_rest, class_weight[positive]])
