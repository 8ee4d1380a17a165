"""Linear support vector regression."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Regressor, fitted_model
from maxmargin._estimator.certificate import LinearCertificate
from maxmargin._estimator.fitted import matrix_of, part
from maxmargin._estimator.linear_functions import FittedFunctions, LinearFunctions
from maxmargin._estimator.texts import FIT, LINEAR, PREDICT, documented, documented_method
from maxmargin._input import Callback
from maxmargin.linear._fit import (
    FittedMachine,
    commit,
    intercept_scaling_of,
    run,
    training_of,
    warn_of_stop,
)

__all__ = ["LinearSVR"]

Self = TypeVar("Self", bound="LinearSVR")


@documented(LINEAR)
class LinearSVR(LinearFunctions, Regressor):
    """Linear support vector regression.

    Solves, with f(x) = w.x + b,

        min 1/2 ||w||^2 + 1/2 (b / s)^2 + sum of C_i max(0, |y_i - f(x_i)| - epsilon)

    or the same with the square of the loss; s is `intercept_scaling`: b is the weight of a further
    feature that is s in every sample. Training ends when the duality gap proves that the objective
    is within `tol` of its least value, relative to it.

    Parameters
    ----------
    epsilon : float
        Half the width of the tube inside which errors cost nothing, >= 0, in the units of y.
    C : float
        Penalty of the loss, > 0; C_i is C times the weight of the sample.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}
        The loss above, or with its square.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (n_features,)
        w.
    intercept_ : ndarray of float64, shape (1,)
        b.
    n_iter_ : int
        Iterations of the solver.
    certificate_, n_features_in_, feature_names_in_

    References
    ----------
    .. [1] C.-H. Ho, C.-J. Lin, "Large-scale linear support vector regression", JMLR 13 (2012).

    Examples
    --------
    >>> from maxmargin import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(2).tolist()
    [7.0]
    """

    epsilon: float
    C: float
    loss: str

    _model_type: type[FittedFunctions] = FittedMachine

    certificate_: LinearCertificate = part("certificate")
    n_iter_: int = part("n_iter")

    _warn_of_stop = warn_of_stop

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with targets `y`.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Real numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out.
        """
        training = training_of(self)
        formulation = self._check_formulation()
        C = _input.check_C(self.C)
        matrix = _input.with_weights(self._matrix_to_fit(X), type(self).__name__)
        targets = _input.check_targets(y, matrix.shape[0], type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        _input.weighted_bounds(C, weight)
        [(core, _)], certificate = run(
            self,
            lambda callback: _core.linear_svr_fit(
                matrix, targets, weight, np.array([C]), formulation, training.options, callback
            ),
            training,
        )
        names = _input.feature_names(X)
        commit(self, FittedMachine(core=core, certificate=certificate, feature_names=names))
        return self

    def _check_formulation(self) -> _core.LinearFormulation:
        return _core.LinearFormulation(
            loss=_input.check_choice(
                "loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive")
            ),
            epsilon=_input.check_real("epsilon", self.epsilon, at_least=0),
            intercept_scaling=intercept_scaling_of(self),
        )

    @documented_method(PREDICT)
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of every sample, shape (n_samples,)."""
        model = fitted_model(self)
        values = self._scores(matrix_of(X, type(self).__name__, model), model)[:, 0]
        if not np.isfinite(values).all():
            raise ValueError(self._overflow_message("a prediction is not finite"))
        return values
