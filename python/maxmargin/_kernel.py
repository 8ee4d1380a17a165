"""Kernels as the estimators share them: parameters, their check, messages, and the definitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._sparse import CsrMatrix, Matrix

KERNELS = ("linear", "poly", "rbf", "sigmoid")


class KernelParams(NamedTuple):
    """A kernel with its numbers.

    linear x.z; poly (gamma x.z + coef0)^degree; rbf exp(-gamma ||x - z||^2);
    sigmoid tanh(gamma x.z + coef0).
    """

    type: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def to_core(self) -> _core.KernelParams:
        return _core.KernelParams(self.type, self.gamma, self.coef0, self.degree)


def check_kernel(kernel: Any, gamma: Any, coef0: Any, degree: Any) -> KernelParams:
    """Return the checked kernel; `with_gamma` then gives it the number that gamma stands for."""
    _validation.check_gamma(gamma)
    return KernelParams(
        type=_validation.check_choice("kernel", kernel, KERNELS),
        coef0=_validation.check_real("coef0", coef0),
        degree=_validation.check_integer("degree", degree, at_least=0),
    )


def with_gamma(kernel: KernelParams, gamma: Any, X: Matrix) -> KernelParams:
    """Return the kernel with gamma resolved on the training samples."""
    if kernel.type == "linear":
        return kernel
    return kernel._replace(gamma=_validation.gamma_of(gamma, X))


def overflow_message(kernel: KernelParams, what: str) -> str:
    """Return the text of the error for a result that is not finite."""
    coef0 = f", coef0={kernel.coef0:.4g}"
    numbers = {
        "linear": "",
        "poly": f" (degree={kernel.degree}, gamma={kernel.gamma:.4g}{coef0})",
        "rbf": f" (gamma={kernel.gamma:.4g})",
        "sigmoid": f" (gamma={kernel.gamma:.4g}{coef0})",
    }[kernel.type]
    remedy = "reduce degree, gamma or coef0, or " if kernel.type == "poly" else ""
    return (
        f"kernel={kernel.type!r}{numbers} overflows on these data ({what}): {remedy}scale the data"
    )


def kernel_block(kernel: KernelParams, A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Return the kernel values of the rows of A with those of B in float64, by the definition."""
    if kernel.type == "rbf":
        return np.exp(-kernel.gamma * _squared_distances(A, B))
    dots = _dots(A, B)
    if kernel.type == "linear":
        return dots
    dots *= kernel.gamma
    dots += kernel.coef0
    return np.tanh(dots) if kernel.type == "sigmoid" else dots**kernel.degree


def _dots(A: Matrix, B: Matrix) -> NDArray[np.float64]:
    if isinstance(A, CsrMatrix) or isinstance(B, CsrMatrix):
        product = _scipy_float64(A) @ _scipy_float64(B).T
        return np.asarray(product.todense() if hasattr(product, "todense") else product)
    return A.astype(np.float64, copy=False) @ B.astype(np.float64, copy=False).T


def _scipy_float64(A: Matrix) -> Any:
    from scipy.sparse import csr_matrix

    return (A.to_scipy() if isinstance(A, CsrMatrix) else csr_matrix(A)).astype(np.float64)


def _squared_distances(A: Matrix, B: Matrix) -> NDArray[np.float64]:
    if not (isinstance(A, CsrMatrix) or isinstance(B, CsrMatrix)):
        # Distances do not depend on the origin; near the data the difference below loses least.
        origin = B.mean(axis=0, dtype=np.float64)
        A, B = A - origin, B - origin
    distances = _squared_norms(A)[:, np.newaxis] + _squared_norms(B) - 2.0 * _dots(A, B)
    return np.maximum(distances, 0.0)


def _squared_norms(A: Matrix) -> NDArray[np.float64]:
    if isinstance(A, CsrMatrix):
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        squares = np.square(A.data.astype(np.float64, copy=False))
        return np.bincount(rows, weights=squares, minlength=A.shape[0]).astype(np.float64)
    values = A.astype(np.float64, copy=False)
    norms: NDArray[np.float64] = np.einsum("ij,ij->i", values, values)
    return norms
