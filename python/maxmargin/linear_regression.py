"""Linear support vector regression."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._base import Regressor
from maxmargin._linear_machine import LinearMachine
from maxmargin._validation import Callback

__all__ = ["LinearSVR"]

Self = TypeVar("Self", bound="LinearSVR")


class LinearSVR(LinearMachine, Regressor):
    """Linear support vector regression.

    Solves, with f(x) = w.x + b,

        min 1/2 ||w||^2 + 1/2 (b / s)^2 + sum of C_i max(0, |y_i - f(x_i)| - epsilon)

    or the same with the square of the loss; s is `intercept_scaling`. As in `LinearSVC`, b is the
    weight of a further feature s, and ``intercept_scaling=numpy.inf`` leaves it without a penalty.
    Training ends when the duality gap proves that the objective is within `tol` of its least value,
    relative to it.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube inside which errors cost nothing, >= 0, in the units of y.
    tol : float, default=1e-4
        Tolerance on the duality gap, relative to the primal objective, > 0.
    C : float, default=1.0
        Penalty of the loss, > 0; C_i is C times the weight of the sample.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The loss.
    fit_intercept : bool, default=True
        Whether there is a bias b.
    intercept_scaling : float, default=1.0
        The s above, > 0; ``numpy.inf`` leaves b without a penalty.
    dual : 'auto' or bool, default='auto'
        Accepted for scikit-learn's sake and without effect: the solver is chosen by the problem.
    verbose : int, default=0
        Whether to show progress on stderr.
    random_state : int, numpy Generator, RandomState or None, default=None
        As in `LinearSVC`.
    max_iter : int, default=-1
        Cap on the iterations; -1 is a generous one of the solver's own.
    n_jobs : int or None, default=None
        Threads. None or -1: as many as the process may use, by its affinity mask, CPU quota,
        MAXMARGIN_NUM_THREADS (else OMP_NUM_THREADS) and threadpoolctl; -2: all but one. The result
        does not depend on it.
    time_limit : float or None, default=None
        Seconds after which the solver stops; `fit` warns and keeps what has been reached.
    callback : callable or None, default=None
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (n_features,)
        w.
    intercept_ : ndarray of float64, shape (1,)
        b.
    certificate_ : LinearCertificate
        Objectives, duality gap and the reason training stopped.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where `X` has column names.

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
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with targets `y`.

        Parameters
        ----------
        X, sample_weight
            As in `LinearSVC.fit`.
        y : array-like of shape (n_samples,)
            Real numbers.

        Returns
        -------
        LinearSVR
            The estimator itself.

        Raises
        ------
        ValueError, Cancelled
            As in `LinearSVC.fit`.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before `tol` was reached. The model is usable.
        """
        training = self._check_training()
        formulation = self._check_formulation()
        C = _validation.check_C(self.C)
        matrix = self._matrix_to_fit(X)
        targets = _validation.check_targets(y, matrix.shape[0], type(self).__name__)
        weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        _validation.weighted_bounds(C, weight)
        result, certificate = self._run(
            lambda callback: _core.linear_svr_fit(
                matrix, targets, weight, np.array([C]), formulation, training.options, callback
            ),
            training,
        )
        self.coef_ = result["coef"][0]
        self.intercept_ = result["intercept"]
        self._record_features(X, matrix.shape[1])
        self._record_certificate(certificate)
        return self

    def _check_state(self) -> None:
        shape, owner = (self.n_features_in_,), type(self).__name__
        _validation.require_weights(self.coef_, self.intercept_, shape, owner)

    def _check_formulation(self) -> _core.LinearFormulation:
        if self.dual != "auto":
            _validation.check_flag("dual", self.dual)
        return _core.LinearFormulation(
            loss=_validation.check_choice(
                "loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive")
            ),
            epsilon=_validation.check_real("epsilon", self.epsilon, at_least=0),
            intercept_scaling=self._check_intercept_scaling(),
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of every sample, shape (n_samples,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` is not valid, has another number of features, or f leaves the range of float64.
        """
        values = self._scores(self._matrix_to_predict(X))[:, 0]
        if not np.isfinite(values).all():
            raise ValueError(self._overflow_message("a prediction is not finite"))
        return values
