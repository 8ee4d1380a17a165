"""Support vector regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Regressor
from maxmargin._estimator.texts import (
    FIT,
    KERNEL_MACHINE,
    PREDICT,
    REGRESSION,
    documented,
    documented_method,
)
from maxmargin._estimator.wording import counted
from maxmargin._input import Callback, Gamma
from maxmargin.kernels._parameter import Kernel
from maxmargin.svm._fit import Solution
from maxmargin.svm._machine import KernelMachine, of_training

__all__ = ["SVR", "NuSVR", "QuantileSVR"]

Self = TypeVar("Self", bound="RegressionMachine")


class RegressionMachine(KernelMachine, Regressor):
    """What regressions share; they say what the core trains."""

    C: float

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
        training = self._check_training()
        C = _input.check_C(self.C)
        train, arguments = self._check_loss()
        matrix = self._matrix_to_fit(X)
        targets = _input.check_targets(y, matrix.shape[0], type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        upper = _input.weighted_bounds(C, weight)
        samples, training = self._prepare(matrix, training, upper, weight)
        core, certificate = training.run(
            lambda callback: train(
                samples,
                targets,
                upper,
                training.kernel.to_core(samples),
                training.options(),
                *arguments,
                callback,
            )
        )
        crossing = 0.0
        if core.n_machines > 1:
            factors = training.kernel.factors(samples)
            values = core.decision_values(samples, training.settings["n_threads"], factors)
            crosses = (np.diff(values) < -training.settings["tol"]).any(axis=1)
            crossing = float(np.average(crosses, weights=weight))
        self._commit(X, matrix, training, core, certificate, crossing=crossing)
        return self

    def _check_loss(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        """Return the core's function, and its arguments that the loss has."""
        raise NotImplementedError

    @documented_method(PREDICT)
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of every sample, shape (n_samples,)."""
        return self._machine_values(X)[1][:, 0]


@documented(KERNEL_MACHINE + REGRESSION)
class SVR(RegressionMachine):
    """Epsilon-support vector regression.

    Solves

        min 1/2 ||w||^2 + sum of C_i max(0, |y_i - f(x_i)| - epsilon),   f(x) = w.phi(x) + b,

    through its dual with the solver of `SVC` [1]_. `certificate_` says how good the solution is.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    certificate_, n_iter_, fit_status_, shape_fit_, n_features_in_, feature_names_in_

    References
    ----------
    .. [1] A. J. Smola, B. Schoelkopf, "A tutorial on support vector regression", Statistics and
       Computing 14 (2004).

    Examples
    --------
    >>> from maxmargin import SVR
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> model = SVR(kernel="linear", C=10.0, epsilon=0.0).fit(X, y)
    >>> model.predict([[3.0]]).round(2).tolist()
    [7.0]
    """

    epsilon: float

    _svm_type = "epsilon_svr"

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    def _check_loss(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        return _core.svr_fit, (_input.check_real("epsilon", self.epsilon, at_least=0), None)


@documented(KERNEL_MACHINE + REGRESSION)
class NuSVR(RegressionMachine):
    """Nu-support vector regression: the width of the tube is found by the fit.

    Up to `tol`, `nu` is at least the share of the samples outside the tube, and at most that of the
    support vectors. Solves [1]_, in LIBSVM's scaling,

        min 1/2 ||w||^2 + nu S epsilon + sum of C_i max(0, |y_i - f(x_i)| - epsilon)

    over w, b and epsilon, S being the sum of the C_i; it is the `SVR` with the epsilon that is in
    `epsilon_`.

    Parameters
    ----------
    nu : float
        In (0, 1].

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    epsilon_ : float
        Half the width of the tube.
    certificate_, n_iter_, fit_status_, shape_fit_, n_features_in_, feature_names_in_

    References
    ----------
    .. [1] B. Schoelkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, "New support vector
       algorithms", Neural Computation 12 (2000), section 3.

    Examples
    --------
    >>> from maxmargin import NuSVR
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> model = NuSVR(kernel="linear", C=10.0).fit(X, y)
    >>> model.predict([[3.0]]).round(2).tolist()
    [7.0]
    """

    nu: float

    epsilon_: float = of_training(
        "epsilon_", lambda model: model.certificate and float(model.core.equivalent[0])
    )

    _svm_type = "nu_svr"

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    def _check_loss(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        return _core.svr_fit, (0.0, _input.check_nu(self.nu))


@documented(KERNEL_MACHINE + REGRESSION)
class QuantileSVR(RegressionMachine):
    """Support vector regression of quantiles, one or several.

    For each quantile q it solves

        min 1/2 ||w||^2 + sum of C_i max(q (y_i - f(x_i)), (q - 1) (y_i - f(x_i))),

    with f(x) = w.phi(x) + b: the pinball loss [1]_, whose least mean is at the quantile q of y
    given x [2]_. Up to `tol`, the share of the training samples with y_i < f(x_i) is at most q, and
    that of y_i <= f(x_i) at least q. The dual is that of `SVR` with epsilon = 0 and the box
    [-(1 - q) C_i, q C_i], and the same solver finds it; for q = 0.5 the solution is that of the
    `SVR` with half the C. Several quantiles are fits of their own on one packed copy of the
    samples, and their curves may cross: `crossing_` says at how many training samples. Sorting the
    predictions, `numpy.sort(model.predict(X), axis=1)`, removes that and does not increase the
    errors [3]_.

    Parameters
    ----------
    quantile : float or array-like of shape (n_quantiles,)
        Between 0 and 1, both excluded; several in ascending order.

    Attributes
    ----------
    support_, support_vectors_, n_support_
    dual_coef_ : ndarray of float64, shape (n_quantiles, n_SV)
        Coefficients, within [-(1 - q) C_i, q C_i]; 0 where a sample supports another quantile only.
    intercept_ : ndarray of float64, shape (n_quantiles,)
        b of every quantile.
    coef_ : ndarray of float64, shape (n_quantiles, n_features)
        Weights of the linear kernel.
    crossing_ : float
        Share of the training samples, by their weights, where the value of a quantile is below that
        of the quantile before it by more than `tol`; 0 for one quantile.
    certificate_ : Certificate
        Objectives, duality gap, KKT violation and cost. Of several quantiles, `machines` holds
        theirs in the order of `quantile`, and its fields are sums but for the violation, the
        greatest.
    n_iter_ : int
        Iterations of the solver; of several quantiles, the sum.
    fit_status_, shape_fit_, n_features_in_, feature_names_in_

    References
    ----------
    .. [1] I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola, "Nonparametric quantile estimation",
       Journal of Machine Learning Research 7 (2006).
    .. [2] R. Koenker, G. Bassett, "Regression quantiles", Econometrica 46 (1978).
    .. [3] V. Chernozhukov, I. Fernandez-Val, A. Galichon, "Quantile and probability curves without
       crossing", Econometrica 78 (2010).

    Examples
    --------
    >>> from maxmargin import QuantileSVR
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], [0.0, 1.0, 9.0, 2.0, 3.0, 11.0]
    >>> QuantileSVR(quantile=0.5, C=100.0).fit(X, y).predict([[0.0], [1.0]]).round(2).tolist()
    [1.0, 3.0]
    >>> QuantileSVR(quantile=[0.1, 0.5, 0.9]).fit(X, y).predict(X).shape
    (6, 3)
    """

    quantile: Any

    crossing_: float = of_training("crossing_", lambda model: model.certificate and model.crossing)

    _svm_type = "epsilon_svr"
    _machines = "quantiles"

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    def _check_loss(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        return _core.quantile_svr_fit, (_input.check_quantiles(self.quantile),)

    @documented_method(PREDICT)
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the quantiles of every sample.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_quantiles)
            The latter where `quantile` is a sequence.
        """
        values = self._machine_values(X)[1]
        return self._shown(values)

    def _shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        is_matrix = values.shape[1] > 1 or np.ndim(self.quantile) > 0
        return values if is_matrix else values[:, 0]

    def _quantiles(self, n_machines: int) -> NDArray[np.float64]:
        """Return what the machines were trained for; ValueError where it was changed since."""
        quantiles = _input.check_quantiles(self.quantile)
        if len(quantiles) != n_machines:
            raise ValueError(
                f"quantile={self.quantile} is not what the estimator was fitted for: it has "
                f"{counted(n_machines, 'machine')}"
            )
        return quantiles

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the share of the pinball loss of the best constants that `predict` saves.

        It is 1 - (sum of losses) / (sum of losses of the quantile of y), of several quantiles the
        mean; where all of y is the same, 1 if every prediction is right and 0 otherwise.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every sample in the sums.
        """
        values = self._machine_values(X)[1]
        quantiles = self._quantiles(values.shape[1])
        targets = _input.check_targets(y, len(values), type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, len(values))
        order = np.argsort(targets)
        total = np.cumsum(weight[order])
        constants = targets[order[np.searchsorted(total, quantiles * total[-1])]]
        found = weight @ pinball(targets[:, np.newaxis] - values, quantiles)
        spread = weight @ pinball(targets[:, np.newaxis] - constants, quantiles)
        shares = np.divide(found, spread, out=(found > 0.0) * 1.0, where=spread > 0.0)
        return 1.0 - float(shares.mean())


def pinball(errors: NDArray[np.float64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses of targets minus values, shape (n_samples, n_quantiles)."""
    return np.maximum(quantiles * errors, (quantiles - 1.0) * errors)
