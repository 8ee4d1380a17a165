"""The fitted side of a classifier with one kernel machine for each pair of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _one_vs_one, _validation
from maxmargin._base import Classifier
from maxmargin._kernel import KernelParams, overflow_message
from maxmargin._sparse import CsrMatrix, Matrix, product


class OneVsOneModel(Classifier):
    """What follows from the machines: attributes, decision values and predictions.

    The model is held in LIBSVM's form: machine (i, j), i < j, is positive for class i, and
    `_dual_coef` has its layout. Two-class attributes and decision values have scikit-learn's sign,
    positive for classes_[1].
    """

    decision_function_shape: str
    break_ties: bool
    n_jobs: int | None

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
        kernel_params: KernelParams,
        vote_order: NDArray[np.int64],
    ) -> None:
        self._cache = {}
        self._vote_order = vote_order
        self.classes_ = classes
        self._n_support = n_support
        self._dual_coef = dual_coef
        self._rho = rho
        self._support_vectors = support_vectors
        self._kernel_params = kernel_params

    def _widen(self, n_features: int) -> None:
        """Take samples of more features from now on; the support vectors are zero in those."""
        vectors = self._support_vectors
        if n_features > self.n_features_in_:
            if isinstance(vectors, CsrMatrix):
                self._support_vectors = vectors._replace(n_cols=n_features)
            else:
                extra = n_features - vectors.shape[1]
                self._support_vectors = np.pad(vectors, ((0, 0), (0, extra)))
            self.n_features_in_ = n_features
            self._cache = {}

    @property
    def _is_binary(self) -> bool:
        return len(self.classes_) == 2

    @property
    def n_support_(self) -> NDArray[np.int64]:
        self._check_fitted_attribute("n_support_")
        return self._n_support

    @property
    def support_vectors_(self) -> Any:
        self._check_fitted_attribute("support_vectors_")
        vectors = self._support_vectors
        return vectors.to_scipy() if isinstance(vectors, CsrMatrix) else vectors

    # Positive is class 0 in LIBSVM's machine (0, 1), but classes_[1] in scikit-learn's two-class
    # attributes and decision values.

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        self._check_fitted_attribute("dual_coef_")
        return -self._dual_coef if self._is_binary else self._dual_coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        self._check_fitted_attribute("intercept_")
        return self._rho.copy() if self._is_binary else -self._rho

    @property
    def coef_(self) -> NDArray[np.float64]:
        self._check_fitted_attribute("coef_")
        if self._kernel_params.type != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return -self._linear_weights() if self._is_binary else self._linear_weights()

    def _check_fitted_attribute(self, name: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r} before 'fit'")

    def _linear_weights(self) -> NDArray[np.float64]:
        if "weights" not in self._cache:
            self._cache["weights"] = _one_vs_one.linear_weights(
                self._support_vectors, self._dual_coef, self._n_support
            )
        weights: NDArray[np.float64] = self._cache["weights"]
        return weights

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
        values = self._pair_decisions(X)
        self._check_decision_options()
        if self._is_binary:
            return -values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return _one_vs_one.one_vs_rest_scores(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample, shape (n_samples,), of the type of the labels.

        Raises what `decision_function` raises.
        """
        values = self._pair_decisions(X)
        self._check_decision_options()
        n_classes = len(self.classes_)
        if self.break_ties and n_classes > 2:
            winners = _one_vs_one.one_vs_rest_scores(values, n_classes).argmax(axis=1)
        else:
            winners = _one_vs_one.vote_winners(values, n_classes, self._vote_order)
        predicted: NDArray[Any] = self.classes_[winners]
        return predicted

    def _pair_decisions(self, X: Any) -> NDArray[np.float64]:
        """Return the value of every machine in LIBSVM's sign, shape (n_samples, n_machines)."""
        matrix = self._matrix_to_predict(X)
        n_threads = _validation.check_n_jobs(self.n_jobs)
        if self._kernel_params.type == "linear":
            weights = np.ascontiguousarray(self._linear_weights().T)
            values = product(matrix, weights) - self._rho
        else:
            values = self._core_decision().decision_function(matrix, n_threads)
        if not np.isfinite(values).all():
            raise ValueError(
                overflow_message(self._kernel_params, "a decision value is not finite")
            )
        return values

    def _core_decision(self) -> _core.Decision:
        if "decision" not in self._cache:
            self._cache["decision"] = _core.Decision(
                self._support_vectors,
                self._n_support,
                self._dual_coef,
                self._rho,
                self._kernel_params.to_core(),
            )
        decision: _core.Decision = self._cache["decision"]
        return decision
