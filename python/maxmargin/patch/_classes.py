"""The classes that stand in scikit-learn's place, of the same names.

Each derives from maxmargin's class and from scikit-learn's. Imported only where scikit-learn is.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model, svm

import maxmargin
from maxmargin import _core
from maxmargin._estimator.certificate import Certificate
from maxmargin._input.sparse import CsrMatrix, Matrix
from maxmargin.exceptions import warn_caller
from maxmargin.patch._fall_through import FallsThrough
from maxmargin.svm._model import TrainedMachine


class _KernelMachine(FallsThrough):
    """scikit-learn's conventions where maxmargin's kernel machines have others."""

    n_jobs = None
    time_limit = None
    callback = None

    _model: TrainedMachine

    def _shows_progress(self) -> bool:
        return bool(self.verbose)  # type: ignore[attr-defined]

    @property
    def _has_sparse_samples(self) -> bool:
        is_callable = self._model.kernel.type == "callable"
        return isinstance(self._model.support_vectors, CsrMatrix) and not is_callable

    def _as_samples_are(self, values: NDArray[np.float64]) -> Any:
        """Return the values as a sparse matrix where the training samples were one."""
        if not self._has_sparse_samples:
            return values
        from scipy.sparse import csr_matrix

        return csr_matrix(values)

    @property
    def dual_coef_(self) -> Any:
        return self._as_samples_are(super().dual_coef_)  # type: ignore[misc]

    @property
    def coef_(self) -> Any:
        return self._as_samples_are(super().coef_)  # type: ignore[misc]

    @property
    def _gamma(self) -> float:
        gamma: float = self._model.kernel.gamma
        return gamma

    def _matrix_to_predict(self, X: Any, model: TrainedMachine) -> Matrix:
        is_callable = model.kernel.type == "callable"
        if hasattr(X, "tocsr") and not (self._has_sparse_samples or is_callable):
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        matrix: Matrix = super()._matrix_to_predict(X, model)  # type: ignore[misc]
        return matrix

    def predict(self, X: Any) -> Any:
        """Return the predictions for samples, as scikit-learn's class does."""
        if self._has_fallen:
            return self._original.predict(X)
        return super().predict(X)  # type: ignore[misc]

    def _text_of_stop(self, certificate: Certificate) -> str:
        if certificate.stop_reason == "max_iter":
            return (
                f"Solver terminated early (max_iter={self.max_iter}).  "  # type: ignore[attr-defined]
                "Consider pre-processing your data with StandardScaler or MinMaxScaler."
            )
        text: str = super()._text_of_stop(certificate)  # type: ignore[misc]
        return text


class _Classifier(_KernelMachine):
    probability: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Train on samples; parameters, result and errors are those of scikit-learn's class."""
        parameters = inspect.signature(self._original_class.__init__).parameters
        default = parameters["probability"].default if "probability" in parameters else None
        if default == "deprecated" and self.probability != "deprecated":
            warn_caller(
                "The `probability` parameter was deprecated in scikit-learn 1.9; use "
                "`CalibratedClassifierCV(..., ensemble=False)`",
                FutureWarning,
            )
        return super().fit(X, y, sample_weight)

    @property
    def _calibrates(self) -> bool:
        return bool(self.probability) and self.probability != "deprecated"

    def _check_probability(self) -> None:
        if self._has_fallen:  # then the attribute is looked for in scikit-learn's estimator
            raise AttributeError("no probabilities of maxmargin's")
        super()._check_probability()  # type: ignore[misc]

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of samples, as scikit-learn's class does."""
        if self._has_fallen:
            return self._original.decision_function(X)
        return super().decision_function(X)  # type: ignore[misc]

    @staticmethod
    def _vote_order(classes: NDArray[Any]) -> NDArray[np.int64]:
        # Of several classes with most votes the first in classes_ wins.
        return np.arange(len(classes), dtype=np.int64)

    # scikit-learn's properties say that these are deprecated.

    @property
    def _probA(self) -> NDArray[np.float64]:  # noqa: N802
        values: NDArray[np.float64] = self._model.core.sigmoids[0]
        return values

    @property
    def _probB(self) -> NDArray[np.float64]:  # noqa: N802
        values: NDArray[np.float64] = self._model.core.sigmoids[1]
        return values

    probA_ = svm.SVC.probA_  # noqa: N815
    probB_ = svm.SVC.probB_  # noqa: N815


class SVC(_Classifier, maxmargin.SVC, svm.SVC):  # type: ignore[misc, override]
    """scikit-learn's `SVC`, trained by `maxmargin.SVC`."""

    _original_class = svm.SVC
    __init__ = svm.SVC.__init__
    loss = "hinge"


class NuSVC(_Classifier, maxmargin.NuSVC, svm.NuSVC):  # type: ignore[misc, override]
    """scikit-learn's `NuSVC`, trained by `maxmargin.NuSVC`."""

    _original_class = svm.NuSVC
    __init__ = svm.NuSVC.__init__

    def _why_not(self) -> str | None:
        if self.class_weight is None:
            return None
        return "class_weight has no effect in scikit-learn's NuSVC, and has one in maxmargin's"


class SVR(_KernelMachine, maxmargin.SVR, svm.SVR):  # type: ignore[misc, override]
    """scikit-learn's `SVR`, trained by `maxmargin.SVR`."""

    _original_class = svm.SVR
    __init__ = svm.SVR.__init__


class NuSVR(_KernelMachine, maxmargin.NuSVR, svm.NuSVR):  # type: ignore[misc, override]
    """scikit-learn's `NuSVR`, trained by `maxmargin.NuSVR`."""

    _original_class = svm.NuSVR
    __init__ = svm.NuSVR.__init__


class OneClassSVM(_KernelMachine, maxmargin.OneClassSVM, svm.OneClassSVM):  # type: ignore[misc, override]
    """scikit-learn's `OneClassSVM`, trained by `maxmargin.OneClassSVM`."""

    _original_class = svm.OneClassSVM
    __init__ = svm.OneClassSVM.__init__

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of samples, as scikit-learn's class does."""
        if self._has_fallen:
            return self._original.decision_function(X)
        return super().decision_function(X)

    def score_samples(self, X: Any) -> Any:
        """Return the scores of samples, as scikit-learn's class does."""
        if self._has_fallen:
            return self._original.score_samples(X)
        return super().score_samples(X)


class _LinearMachine(FallsThrough):
    _counts_weights = True

    n_jobs = None
    time_limit = None
    callback = None

    dual: Any
    loss: str

    # The loss that scikit-learn's solvers know in the dual only.
    _loss_of_the_dual: str

    def _why_not(self) -> str | None:
        if self.dual is False and self.loss == self._loss_of_the_dual:
            return f"scikit-learn refuses loss={self.loss!r} with dual=False"
        return None


class LinearSVC(_LinearMachine, maxmargin.LinearSVC, svm.LinearSVC):  # type: ignore[misc]
    """scikit-learn's `LinearSVC`, trained by `maxmargin.LinearSVC`."""

    _original_class = svm.LinearSVC
    __init__ = svm.LinearSVC.__init__
    decision_function = svm.LinearSVC.decision_function
    predict = svm.LinearSVC.predict
    _loss_of_the_dual = "hinge"

    def _why_not(self) -> str | None:
        if self.multi_class == "crammer_singer":  # whatever the penalty, the loss and dual
            return None
        if self.penalty == "l1" and self.dual is True:
            return "scikit-learn refuses penalty='l1' with dual=True"
        return super()._why_not()


class LinearSVR(_LinearMachine, maxmargin.LinearSVR, svm.LinearSVR):  # type: ignore[misc]
    """scikit-learn's `LinearSVR`, trained by `maxmargin.LinearSVR`."""

    _original_class = svm.LinearSVR
    __init__ = svm.LinearSVR.__init__
    predict = svm.LinearSVR.predict
    _loss_of_the_dual = "epsilon_insensitive"


_ANOTHER_MEASURE = (
    "what tol is applied to counts the penalty in every step, and no weights, in scikit-learn"
)


class Perceptron(FallsThrough, maxmargin.Perceptron, linear_model.Perceptron):  # type: ignore[misc]
    """scikit-learn's `Perceptron`, trained by `maxmargin.Perceptron`."""

    _original_class = linear_model.Perceptron
    __init__ = linear_model.Perceptron.__init__
    # Which scikit-learn's class does not have.
    margin, average, multi_class = 0.0, False, "ovr"
    decision_function = linear_model.Perceptron.decision_function
    predict = linear_model.Perceptron.predict

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Train on samples; parameters, result and errors are those of scikit-learn's class."""
        start = {"coef_init": coef_init, "intercept_init": intercept_init}
        start = {name: value for name, value in start.items() if value is not None}
        reason = "weights to start from are given" if start else self._why_not()
        if reason is None and self._follows_loss and sample_weight is not None:
            reason = _ANOTHER_MEASURE
        return self._learn("fit", reason, X, y, sample_weight=sample_weight, **start)

    def _warn_of_mistakes(self, max_iter: int) -> None:
        if self.tol is not None:
            super()._warn_of_mistakes(max_iter)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Make a pass over samples, as scikit-learn's class does."""
        if self._has_fallen:
            self._original.set_params(**self.get_params(deep=False))
            self._original.partial_fit(X, y, classes, sample_weight)
            return self
        if self.__sklearn_is_fitted__():  # these weights are maxmargin's to change
            return maxmargin.Perceptron.partial_fit(self, X, y, classes, sample_weight)
        return self._learn("partial_fit", None, X, y, classes=classes, sample_weight=sample_weight)

    def _why_not(self) -> str | None:
        if self.warm_start and self._has_fallen:
            return "the weights to start from are scikit-learn's: warm_start=True"
        if self.early_stopping and self.tol is None:
            return "early_stopping with tol=None does not stop early in scikit-learn"
        if self._follows_loss and not (self.penalty is None and self.class_weight is None):
            return _ANOTHER_MEASURE
        return None

    def _hand_over(self, original: Any) -> None:
        if self.warm_start and self.__sklearn_is_fitted__():
            original.coef_, original.intercept_ = self.coef_, self.intercept_

    @property
    def _follows_loss(self) -> bool:
        return self.tol is not None and not self.early_stopping

    def _set_steps(self, settings: _core.OnlineSettings) -> None:
        super()._set_steps(settings)
        settings.follows_loss = self._follows_loss
