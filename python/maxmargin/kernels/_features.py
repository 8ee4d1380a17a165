"""Kernels that compare samples feature by feature, and feature maps."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.wording import shown
from maxmargin._input.sparse import CsrMatrix, Matrix
from maxmargin.kernels._base import Kernel
from maxmargin.kernels._parameter import KernelParams, row_sums
from maxmargin.kernels._products import CoreKernel, ExponentialKernel, Linear, Polynomial, PowerSum

_BLOCK_ELEMENTS = 1 << 20
_MOST_FEATURES = 1_000_000


class _FeaturewiseKernel(CoreKernel):
    """A function of a sum over the features, each of two numbers."""

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        self._check_samples(A)
        self._check_samples(B)
        dense_A, dense_B = (_dense_float64(X) for X in (A, B))
        values = np.empty((len(dense_A), len(dense_B)))
        step = max(1, _BLOCK_ELEMENTS // max(1, dense_B.size))
        for begin in range(0, len(dense_A), step):
            rows = slice(begin, begin + step)
            values[rows] = self._of_sums(
                self._terms(dense_A[rows, np.newaxis, :], dense_B).sum(axis=2)
            )
        return values

    def _check_samples(self, X: Matrix) -> None:
        values = X.data if isinstance(X, CsrMatrix) else X
        if values.size and values.min() < 0.0:
            raise ValueError(
                f"{type(self).__name__} needs features >= 0, got {shown(float(values.min()))}"
            )

    def _terms(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _of_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError


class _Exponential(ExponentialKernel, _FeaturewiseKernel):
    def _of_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-self.gamma * sums)


class Laplacian(_Exponential):
    """exp(-gamma sum of |x_k - z_k|)

    Parameters
    ----------
    gamma : float, default=1.0
        > 0.
    """

    def _core_params(self) -> KernelParams:
        return KernelParams("laplacian", self.gamma, function=self)

    def _check_samples(self, X: Matrix) -> None:
        pass

    def _terms(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(x - z)


class ChiSquared(_Exponential):
    """exp(-gamma sum of (x_k - z_k)^2 / (x_k + z_k)), of features >= 0

    A term with x_k = z_k = 0 is 0 (Zhang, Marszalek, Lazebnik and Schmid 2007).

    Parameters
    ----------
    gamma : float, default=1.0
        > 0.
    """

    def _core_params(self) -> KernelParams:
        return KernelParams("chi_squared", self.gamma, function=self)

    def _terms(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        total = x + z
        return np.square(x - z) / np.where(total > 0.0, total, 1.0)


class HistogramIntersection(_FeaturewiseKernel):
    """Sum of min(x_k, z_k), of features >= 0"""

    def _core_params(self) -> KernelParams:
        return KernelParams("histogram_intersection", function=self)

    def _terms(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(x, z)

    def _of_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return row_sums(A, np.positive)


def feature_map(kernel: Kernel, X: Any) -> NDArray[np.float64]:
    """Return phi(x) of every row of X, so that K(x, z) = phi(x).phi(z).

    A linear model on phi is the kernel model.

    Parameters
    ----------
    kernel : Linear, Polynomial or PowerSum
        A `Polynomial` needs coef0 >= 0. Its features are the monomials x^k of degree |k| <= degree,
        times the square root of degree! / (k! (degree - |k|)!) gamma^|k| coef0^(degree - |k|);
        those of a `PowerSum` are x^k times the square root of |k|! / k!.
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray of float64, shape (n_samples, n_monomials)

    Raises
    ------
    TypeError
        If the kernel has no such map here.
    ValueError
        If X is not valid, coef0 is negative, or there are more than a million monomials.
    """
    samples = _dense_float64(_input.check_matrix(X, "feature_map"))
    if isinstance(kernel, Linear):
        return samples.copy()
    if not isinstance(kernel, (Polynomial, PowerSum)):
        raise TypeError(f"kernel must be Linear, Polynomial or PowerSum, got {kernel!r}")
    if isinstance(kernel, Polynomial) and kernel.coef0 < 0.0:
        raise ValueError(f"a feature map needs coef0 >= 0, got {kernel.coef0:g}")
    n_features = samples.shape[1]
    n_monomials = math.comb(n_features + kernel.degree, kernel.degree)
    if n_monomials > _MOST_FEATURES:
        raise ValueError(
            f"degree {kernel.degree} over {n_features} features has {n_monomials} monomials, more "
            f"than {_MOST_FEATURES}"
        )
    columns = []
    for size in range(kernel.degree + 1):
        weight = _weight_of_degree(kernel, size)
        if weight == 0.0:
            continue
        for monomial in combinations_with_replacement(range(n_features), size):
            orders = math.factorial(size)
            for feature in set(monomial):
                orders //= math.factorial(monomial.count(feature))
            columns.append(math.sqrt(weight * orders) * np.prod(samples[:, list(monomial)], axis=1))
    return np.stack(columns, axis=1)


def _weight_of_degree(kernel: Polynomial | PowerSum, size: int) -> float:
    """Return the factor of (x.z)^size in the kernel."""
    if isinstance(kernel, PowerSum):
        return 1.0 if size > 0 else 0.0
    rest = kernel.degree - size
    constant = 1.0 if rest == 0 else kernel.coef0**rest
    return math.comb(kernel.degree, size) * kernel.gamma**size * constant


def _dense_float64(X: Matrix) -> NDArray[np.float64]:
    if isinstance(X, CsrMatrix):
        return np.asarray(X.to_scipy().todense(), dtype=np.float64)
    return X.astype(np.float64, copy=False)
