"""Kernels as objects: the usual ones, and new ones made of them by +, * and other closed rules.

Every estimator takes one as its `kernel`. A kernel is also a function: `kernel(A, B)` is the matrix
of its values of all rows of A with all rows of B, in float64, by the definition.

>>> from maxmargin import SVC, kernels
>>> kernel = kernels.RBF(gamma=2.0) + 0.5 * kernels.Polynomial(degree=2, coef0=1.0)
>>> kernel
RBF(gamma=2.0) + 0.5 * Polynomial(degree=2, gamma=1.0, coef0=1.0)
>>> SVC(kernel=kernel).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).predict([[1.5], [2.5]])
array([0, 1])

Sums, products and multiples by numbers >= 0 of positive semidefinite kernels are positive
semidefinite, and so are `weighted` and `normalised` ones (Shawe-Taylor and Cristianini 2004,
proposition 3.22).
"""

from maxmargin.kernels._base import Constant, Kernel
from maxmargin.kernels._features import ChiSquared, HistogramIntersection, Laplacian, feature_map
from maxmargin.kernels._products import RBF, Linear, Polynomial, PowerSum, Sigmoid

__all__ = [
    "RBF",
    "ChiSquared",
    "Constant",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "PowerSum",
    "Sigmoid",
    "feature_map",
]


def __dir__() -> list[str]:
    return sorted(__all__)
