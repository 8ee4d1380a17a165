"""Support vector regression."""

from __future__ import annotations

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
from maxmargin._input import Callback, Gamma
from maxmargin.kernels._parameter import Kernel
from maxmargin.svm._machine import KernelMachine, of_training

__all__ = ["SVR", "NuSVR"]

Self = TypeVar("Self", bound="RegressionMachine")


class RegressionMachine(KernelMachine, Regressor):
    """What SVR and NuSVR share; they say for which tube the core trains."""

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
        epsilon, nu = self._check_tube()
        matrix = self._matrix_to_fit(X)
        targets = _input.check_targets(y, matrix.shape[0], type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        upper = _input.weighted_bounds(C, weight)
        samples, training = self._prepare(matrix, training, upper, weight)
        core, certificate = training.run(
            lambda callback: _core.svr_fit(
                samples,
                targets,
                upper,
                training.kernel.to_core(samples),
                training.options(),
                epsilon,
                nu,
                callback,
            )
        )
        self._commit(X, matrix, training, core, certificate)
        return self

    def _check_tube(self) -> tuple[float, float | None]:
        """Return epsilon, and nu if it takes the place of epsilon."""
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

    def _check_tube(self) -> tuple[float, float | None]:
        return _input.check_real("epsilon", self.epsilon, at_least=0), None


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

    def _check_tube(self) -> tuple[float, float | None]:
        return 0.0, _input.check_nu(self.nu)
