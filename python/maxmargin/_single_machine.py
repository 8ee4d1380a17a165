"""The fitted side of a model with one kernel machine on all samples: regression, one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._kernel_machine import KernelMachine, Train, Training
from maxmargin._sparse import Matrix, weighted_row_sum


class SingleMachine(KernelMachine):
    """What follows from the machine f(x) = sum of dual_coef_i K(x_i, x) + intercept."""

    def _fit_machine(self, X: Any, matrix: Matrix, training: Training, train: Train) -> None:
        """Train and keep the model."""
        result, certificate = self._run(train, training)
        self._cache = {}
        self._kernel_params = training.kernel
        self._dual_coef = result["dual_coef"]
        self._rho = result["rho"]
        self._support_vectors = self._keep_support(matrix, result["support"])
        self._record_features(X, matrix.shape[1])
        self.support_: NDArray[np.int64] = result["support"]
        self.n_iter_ = int(result["n_iter"][0])
        self.shape_fit_ = matrix.shape
        self._set_counterpart(float(result["counterpart"][0]))
        self._record_certificate(certificate)

    def _set_counterpart(self, counterpart: float) -> None:
        """Keep what nu stands for."""

    def _check_state(self) -> None:
        self._check_machines(n_lines=1, n_machines=1)

    @property
    def n_support_(self) -> NDArray[np.int64]:
        return np.array([self._dual_coef.shape[1]])

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        return self._dual_coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return -self._rho

    @property
    def coef_(self) -> NDArray[np.float64]:
        self._check_linear()
        return self._linear_weights()

    def _new_linear_weights(self) -> NDArray[np.float64]:
        return weighted_row_sum(self._support_vectors, self._dual_coef[0])[np.newaxis, :]

    def _file_parts(self) -> dict[str, Any]:
        none = np.empty(0, dtype=np.int64)
        return {
            "labels": np.empty(0),
            "n_support": none,
            "dual_coef": self._dual_coef,
            "rho": self._rho,
            "vote_order": none,
            "sigmoids": np.empty((2, 0)),
        }

    def _coefficients(self) -> NDArray[np.float64]:
        return self._dual_coef.T

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return f of every sample."""
        column: NDArray[np.float64] = np.ascontiguousarray(self._machine_values(X)[:, 0])
        return column

    def _new_core_decision(self) -> _core.Decision:
        return _core.Decision.one_vs_rest(
            self._support_vectors,
            self._dual_coef,
            self._rho,
            self._kernel_params.to_core(self._support_vectors),
        )
