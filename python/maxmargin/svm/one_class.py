"""One-class support vector machine."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import commit
from maxmargin._estimator.texts import FIT, KERNEL_MACHINE, PREDICT, documented, documented_method
from maxmargin._input import Callback, Gamma
from maxmargin.exceptions import warn_caller
from maxmargin.kernels._parameter import Kernel
from maxmargin.svm import _probability
from maxmargin.svm._machine import KernelMachine, model_of

__all__ = ["OneClassSVM"]

Self = TypeVar("Self", bound="OneClassSVM")

# Of decision values, relative to the greatest.
_ROUNDING = 1e-9


@documented(KERNEL_MACHINE)
class OneClassSVM(_probability.Probabilistic, KernelMachine):
    """One-class support vector machine: the region where most of the samples lie.

    Up to `tol`, `nu` is at least the share of the training samples outside the region, and at most
    that of the support vectors; free support vectors lie on its edge. Solves [1]_, in LIBSVM's
    scaling,

        min 1/2 ||w||^2 - s rho + sum of C_i max(0, rho - w.phi(x_i)),

    with s = nu times the sum of the C_i, which are the weights of the samples, through its dual
    with the solver of `SVC`. A sample is inside where w.phi(x) - rho >= 0.

    Parameters
    ----------
    tol : float
        Tolerance on the KKT violation, > 0 (LIBSVM's stopping rule); times s where s < 1.
    nu : float
        In (0, 1].
    probability : bool
        Whether to find marks for probabilities; then there are `predict_proba`, whose columns are
        the probabilities of inside and outside, and `predict_log_proba`. The training
        samples on either side are divided by their decision values into five bins of equal counts
        (LIBSVM's rule [2]_); the probability of inside is the share of the ten middles of bins at
        or below the decision value, within [0.001, 0.999]. Samples on the edge, within the KKT
        violation, count as inside. Where fewer than five samples are outside, or inside, `fit`
        warns and there are no probabilities.

    Attributes
    ----------
    support_, support_vectors_, n_support_, intercept_, coef_
    dual_coef_ : ndarray of float64, shape (1, n_SV)
        Coefficients alpha_i, within [0, C_i]; their sum is s.
    offset_ : float
        -intercept_: decision_function is score_samples - offset_.
    certificate_, n_iter_, fit_status_, shape_fit_, n_features_in_, feature_names_in_

    Notes
    -----
    The decision value 0 is inside, class +1 (LIBSVM: outside).

    References
    ----------
    .. [1] B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, "Estimating
       the support of a high-dimensional distribution", Neural Computation 13 (2001).
    .. [2] Z. Que, C.-J. Lin, "One-class SVM probabilistic outputs", IEEE Transactions on Neural
       Networks and Learning Systems (2024).

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.5).fit([[0.0], [0.1], [0.2], [5.0]])
    >>> model.predict([[0.1], [9.0]]).tolist()
    [1, -1]
    """

    nu: float

    _estimator_type = "outlier_detector"
    _svm_type = "one_class"
    _hint = "smaller nu"

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        probability: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on samples `X`.

        Parameters
        ----------
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            Bounds of the dual variables, >= 0. A sample of weight 0 is left out.
        """
        training = self._check_training()
        calibrates = self._calibrates
        nu = _input.check_nu(self.nu)
        matrix = self._matrix_to_fit(X)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        upper = _input.weighted_bounds(1.0, weight)
        samples, training = self._prepare(matrix, training, upper, weight)
        core, certificate = training.run(
            lambda callback: _core.one_class_fit(
                samples, upper, training.kernel.to_core(samples), training.options(), nu, callback
            )
        )
        marks = np.empty(0)
        if calibrates:
            factors = training.kernel.factors(samples)
            values = core.decision_values(samples, training.settings["n_threads"], factors)
            edge = certificate.kkt_violation + _ROUNDING * np.abs(values).max()
            on_edge = np.abs(values) <= edge  # inside, as free support vectors are at the optimum
            marks = _core.density_marks(np.where(on_edge, 0.0, values)[:, 0], weight)
        calibration = {"density_marks": marks}
        self._commit(X, matrix, training, core, certificate, calibration=calibration)
        if calibrates and marks.size == 0:
            warn_caller(
                f"{type(self).__name__} has no probabilities: fewer than five training samples are "
                "outside, or inside"
            )
        return self

    @property
    def offset_(self) -> float:
        return float(model_of(self).core.rho[0])

    @offset_.setter
    def offset_(self, value: Any) -> None:
        offset = _input.check_part("offset_", [value] if np.isscalar(value) else value, (1,))
        commit(self, model_of(self).changed(rho=offset))

    @documented_method(PREDICT)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return w.phi(x) - rho of every sample, shape (n_samples,); negative outside."""
        return self._machine_values(X)[1][:, 0]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return w.phi(x) of every sample; raises what `decision_function` raises."""
        model, values = self._machine_values(X)
        return values[:, 0] + float(model.core.rho[0])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for samples inside the region and -1 for the others.

        Raises what `decision_function` raises.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Return `fit(X, y, sample_weight).predict(X)`."""
        return self.fit(X, y, sample_weight).predict(X)
