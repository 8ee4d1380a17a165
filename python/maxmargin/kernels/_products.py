"""Kernels that are functions of products of samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._input.sparse import Matrix
from maxmargin.kernels._base import Kernel
from maxmargin.kernels._parameter import KernelParams, kernel_block, squared_norms
from maxmargin.kernels._steps import Steps


class CoreKernel(Kernel):
    """A kernel that the core evaluates itself."""

    def _core_params(self) -> KernelParams:
        raise NotImplementedError

    def _core_steps(self) -> Steps:
        return [(self._core_params(), 1.0)]

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        return kernel_block(self._core_params(), A, B)

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return self._of_products(squared_norms(A))

    def _of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values for products x.z."""
        raise NotImplementedError


class Linear(CoreKernel):
    """x.z"""

    def _core_params(self) -> KernelParams:
        return KernelParams("linear")

    def _of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        return products


class Polynomial(CoreKernel):
    """(gamma x.z + coef0)^degree

    Parameters
    ----------
    degree : int, default=3
        >= 0.
    gamma : float, default=1.0
        > 0.
    coef0 : float, default=0.0
    """

    _parameters = ("degree", "gamma", "coef0")

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 0.0) -> None:
        self.degree = _input.check_integer("degree", degree, at_least=0)
        self.gamma = _input.check_real("gamma", gamma, above=0)
        self.coef0 = _input.check_real("coef0", coef0)

    def _core_params(self) -> KernelParams:
        return KernelParams("poly", self.gamma, self.coef0, self.degree)

    def _of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        powers: NDArray[np.float64] = (self.gamma * products + self.coef0) ** self.degree
        return powers


class Sigmoid(CoreKernel):
    """tanh(gamma x.z + coef0), which is not positive semidefinite

    Parameters
    ----------
    gamma : float, default=1.0
        > 0.
    coef0 : float, default=0.0
    """

    _parameters = ("gamma", "coef0")

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0) -> None:
        self.gamma = _input.check_real("gamma", gamma, above=0)
        self.coef0 = _input.check_real("coef0", coef0)

    def _core_params(self) -> KernelParams:
        return KernelParams("sigmoid", self.gamma, self.coef0)

    def _of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.tanh(self.gamma * products + self.coef0)


class ExponentialKernel(CoreKernel):
    """exp(-gamma times a distance)"""

    _parameters = ("gamma",)

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = _input.check_real("gamma", gamma, above=0)

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return np.ones(A.shape[0])


class RBF(ExponentialKernel):
    """exp(-gamma ||x - z||^2)

    Parameters
    ----------
    gamma : float, default=1.0
        > 0.
    """

    def _core_params(self) -> KernelParams:
        return KernelParams("rbf", self.gamma)


class PowerSum(Kernel):
    """x.z + (x.z)^2 + .. + (x.z)^degree: the kernel of all monomials up to the degree

    Parameters
    ----------
    degree : int, default=3
        From 1 to 1000.
    """

    _parameters = ("degree",)

    def __init__(self, degree: int = 3) -> None:
        self.degree = _input.check_integer("degree", degree, at_least=1, at_most=1000)

    def _core_steps(self) -> Steps:
        return [(KernelParams("power_sum", degree=self.degree), 1.0)]

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        return self._of_products(kernel_block(KernelParams("linear"), A, B))

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return self._of_products(squared_norms(A))

    def _of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        total = products.copy()  # Horner's scheme
        for _ in range(self.degree - 1):
            total += 1.0
            total *= products
        return total
