"""Kernels as the estimators share them: parameters, their check, messages, and the definitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.wording import shown
from maxmargin._input.mapped import parts_of
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows

# All but "precomputed".
KERNELS = _core.LIBSVM_KERNELS[:-1]

# The values of the rows of A with those of B, shape (len(A), len(B)).
KernelFunction: TypeAlias = Callable[[Any, Any], Any]
Kernel: TypeAlias = str | KernelFunction

# The numbers of kernels that are given by name, where the user has not set them.
_UNSET = {"gamma": "scale", "coef0": 0.0, "degree": 3}

# The gamma of a kernel until the training samples are known.
_UNRESOLVED = 0.0

# Numbers in one block that a kernel function is asked for.
_BLOCK_ELEMENTS = 1 << 22
# The same under a time limit, which is asked for before each: 0.1 s of a product of an RBF and a
# Laplacian kernel on 60 features.
_LIMITED_ELEMENTS = 1 << 18
# Where gamma times squared norms is larger, squared distances are formed from differences: the
# rounding of the norms, so many times 2^-53, would show in the values (1e-12).
_LARGEST_EXPONENT = float(1 << 10)
# Rows and columns of a kernel matrix that are compared at a time: both tiles fit the cache.
_TILE = 256
# How far a kernel matrix may be from symmetric, relative to its largest value, if it was computed
# in numbers of so many bytes.
_ASYMMETRY = {8: 1e-8, 4: 1e-5, 2: 1e-2}


class Limit(NamedTuple):
    """A time limit: its seconds, and when it ends by `time.perf_counter`."""

    seconds: float
    end: float


class Factors(NamedTuple):
    """A step of a composed kernel that makes f(x) K(x, z) f(z) of the value K(x, z) before it.

    f is the product of the functions, each of which gives a number for every row of a matrix.
    """

    functions: tuple[Callable[[Matrix], NDArray[np.float64]], ...]

    def of(self, X: Matrix) -> NDArray[np.float64]:
        """Return f of every sample."""
        factors: NDArray[np.float64] = np.prod([f(X) for f in self.functions], axis=0)
        return factors


class KernelParams(NamedTuple):
    """A kernel with its numbers.

    linear x.z; poly (gamma x.z + coef0)^degree; rbf exp(-gamma ||x - z||^2);
    sigmoid tanh(gamma x.z + coef0); precomputed: the values are given in place of the samples;
    callable: `function` gives them; laplacian, chi_squared and histogram_intersection as in
    maxmargin.kernels; composed: the core makes them by `steps`, in postfix notation, of values of
    kernels with their weights, the operations "+" and "*", and `Factors`. Where the core knows the
    kernel, `function` gives its values by the definition.
    """

    type: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: KernelFunction | None = None
    steps: tuple[Any, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the values come from the user."""
        return self.type in ("precomputed", "callable")

    @np.errstate(over="ignore", under="ignore", invalid="ignore")  # the core refuses such factors
    def factors(self, X: Matrix) -> NDArray[np.float64] | None:
        """Return f of all samples for each `Factors`, shape (n, n_samples); None without steps."""
        if not self.steps:
            return None
        factors = [step.of(X) for step in self.steps if isinstance(step, Factors)]
        return np.array(factors).reshape(len(factors), X.shape[0])

    def to_core(self, X: Matrix) -> _core.KernelParams:
        """Return the kernel as the core takes it with the samples X."""
        if self.steps:
            return _core.KernelParams.composed(core_steps(self.steps), self.factors(X))
        return self._of_numbers()

    def _of_numbers(self) -> _core.KernelParams:
        kind = "precomputed" if self.is_given else self.type
        return _core.KernelParams(kind, self.gamma, self.coef0, self.degree)


def core_steps(steps: Iterable[Any]) -> list[tuple[_core.KernelParams, float] | str]:
    """Return the steps of a composed kernel as the core takes them."""
    words = ("factors" if isinstance(step, Factors) else step for step in steps)
    return [one if isinstance(one, str) else (one[0]._of_numbers(), one[1]) for one in words]


def check_kernel(
    kernel: Any, gamma: Any, coef0: Any, degree: Any, *, may_be_given: bool = False
) -> KernelParams:
    """Return the checked kernel; `with_gamma` then gives it the number that gamma stands for.

    Where it may be given, 'precomputed' and callables are allowed as well.
    """
    _input.check_gamma(gamma)
    coef0 = _input.check_real("coef0", coef0)
    degree = _input.check_integer("degree", degree, at_least=0)
    choices = _core.LIBSVM_KERNELS if may_be_given else KERNELS
    if isinstance(kernel, str) and kernel in choices:
        return KernelParams(kernel, _UNRESOLVED, coef0, degree)
    is_class = isinstance(kernel, type)
    core_params = None if is_class else getattr(kernel, "_core_params", None)
    if core_params is not None:  # one of maxmargin.kernels
        _check_unset(kernel, {"gamma": gamma, "coef0": coef0, "degree": degree})
        known = core_params()
        if isinstance(known, KernelParams):
            return known
    if may_be_given and callable(kernel) and not is_class:
        return KernelParams("callable", function=kernel)
    names = ", ".join(map(repr, choices))
    objects = "one of maxmargin.kernels or a callable"
    if not may_be_given:
        objects = (
            "or one of maxmargin.kernels (if composed, of parts that the core knows, 16 at most, "
            "all functions of the same sum over the features)"
        )
    hint = f": pass an instance, {kernel.__name__}(...)" if is_class else ""
    raise ValueError(f"kernel must be one of {names}, {objects}, got {shown(kernel)}{hint}")


def _check_unset(kernel: Any, numbers: dict[str, Any]) -> None:
    """Refuse parameters of named kernels with a kernel that has its own."""
    for name, value in numbers.items():
        if value != _UNSET[name]:
            raise ValueError(
                f"{name} must be {_UNSET[name]!r}, its default, with kernel={shown(kernel)}, which "
                f"has numbers of its own, got {shown(value)}"
            )


def with_gamma(
    kernel: KernelParams, gamma: Any, X: Matrix, sample_weight: NDArray[np.float64] | None = None
) -> KernelParams:
    """Return the kernel with gamma resolved on the training samples.

    One of maxmargin.kernels has its own, and a given kernel none.
    """
    if not has_gamma(kernel):
        return kernel
    return kernel._replace(gamma=_input.gamma_of(gamma, X, sample_weight))


def has_gamma(kernel: KernelParams) -> bool:
    """Return whether the kernel takes its gamma from an estimator."""
    return kernel.type != "linear" and not kernel.is_given and kernel.gamma == _UNRESOLVED


def overflow_message(kernel: KernelParams, what: str) -> str:
    """Return the text of the error for a result that is not finite."""
    coef0 = f", coef0={kernel.coef0:.4g}"
    numbers = {
        "linear": "",
        "poly": f" (degree={kernel.degree}, gamma={kernel.gamma:.4g}{coef0})",
        "rbf": f" (gamma={kernel.gamma:.4g})",
        "sigmoid": f" (gamma={kernel.gamma:.4g}{coef0})",
    }.get(kernel.type, "")
    remedy = "reduce degree, gamma or coef0, or " if kernel.type == "poly" else ""
    may_be_indefinite = kernel.type == "sigmoid" or kernel.is_given
    other = ", or choose a kernel that is positive semidefinite" if may_be_indefinite else ""
    name = repr(kernel.type) if not kernel.steps else repr(kernel.function)
    return f"kernel={name}{numbers} overflows on these data ({what}): {remedy}scale the data{other}"


@np.errstate(under="ignore")
def kernel_block(kernel: KernelParams, A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Return the kernel values of the rows of A with those of B in float64, by the definition."""
    if kernel.function is not None:
        definition = getattr(kernel.function, "by_definition", kernel.function)
        return values_of_function(definition, A, B)
    if kernel.type == "rbf":
        return np.exp(-kernel.gamma * _squared_distances(A, B, kernel.gamma))
    dots = _dots(A, B)
    if kernel.type == "linear":
        return dots
    dots *= kernel.gamma
    dots += kernel.coef0
    return np.tanh(dots) if kernel.type == "sigmoid" else dots**kernel.degree


def core_values(kernel: KernelParams, A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Return the same from the core, on all its threads."""
    for X in (A, B):
        check_samples(kernel, X)
    return _core.kernel_values(A, B, kernel.to_core(B), kernel.factors(A))


def check_samples(kernel: KernelParams, X: Matrix) -> None:
    """Refuse samples for which the kernel is not defined."""
    check = getattr(kernel.function, "_check_samples", None)
    if check is not None:
        check(X)


def core_samples(kernel: KernelParams, X: Matrix, owner: str, limit: Limit | None = None) -> Matrix:
    """Return what the core trains on: the samples, or their kernel matrix where it is given.

    Raises ValueError if the kernel matrix is not dense, square and symmetric, or the kernel is not
    defined for the samples. Raises TimeoutError if the limit ends before the kernel function has
    given all values.
    """
    check_samples(kernel, X)
    if kernel.type == "callable":
        assert kernel.function is not None
        gram, itemsize = _values_and_itemsize(kernel.function, X, X, limit)
        _check_symmetric(gram, itemsize, f"the kernel function gave {owner} a matrix that")
        _symmetrise(gram)
        return gram
    if kernel.type == "precomputed":
        if isinstance(X, CsrMatrix):
            raise ValueError("kernel='precomputed' needs a dense matrix X, got a sparse one")
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the values of all samples with all, X of shape "
                f"({X.shape[0]}, {X.shape[0]}), got {X.shape}"
            )
        _check_symmetric(X, X.itemsize, "X, the kernel matrix,")
    return X


def _check_symmetric(K: NDArray[Any], itemsize: int, what: str) -> None:
    allowed = _ASYMMETRY[itemsize] * _core.largest_magnitude(K)
    for first, second in _tiles(len(K)):
        apart = np.abs(K[first, second] - K[second, first].T)
        if apart.max() > allowed:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            raise ValueError(
                f"{what} is not symmetric: the values of the samples {first.start + i} and "
                f"{second.start + j} differ by {apart.max():.3g}; (K + K.T) / 2 would be"
            )


def _tiles(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield the rows and columns of square tiles of the upper half of an n x n matrix."""
    for i, j in combinations_with_replacement(range(0, n, _TILE), 2):
        yield slice(i, min(i + _TILE, n)), slice(j, min(j + _TILE, n))


def _symmetrise(K: NDArray[np.float64]) -> None:
    """Replace K by (K + K.T) / 2: a value and its mirror image may be rounded in two ways."""
    for first, second in _tiles(len(K)):
        mean = 0.5 * (K[first, second] + K[second, first].T)
        K[first, second], K[second, first] = mean, mean.T


def values_of_function(function: KernelFunction, A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Return a kernel function's values of the rows of A with those of B, asked for in blocks.

    Raises ValueError if they are not finite real numbers of the right shape.
    """
    return _values_and_itemsize(function, A, B)[0]


def _values_and_itemsize(
    function: KernelFunction, A: Matrix, B: Matrix, limit: Limit | None = None
) -> tuple[NDArray[np.float64], int]:
    """Return the values, and how many bytes the numbers have that it computes in (at most 8)."""
    n_rows, n_columns = A.shape[0], B.shape[0]
    values, itemsize = np.empty((n_rows, n_columns)), 8
    if n_columns == 0:
        return values, itemsize
    columns = for_function(B)
    step = max(1, (_BLOCK_ELEMENTS if limit is None else _LIMITED_ELEMENTS) // n_columns)
    for begin in range(0, n_rows, step):
        if limit is not None and time.perf_counter() > limit.end:
            raise TimeoutError(
                f"time_limit={limit.seconds:g} ended when the kernel function had given the values "
                f"of {begin} of {n_rows} samples, and without all there is no model"
            )
        rows = np.arange(begin, min(begin + step, n_rows))
        block = function(for_function(take_rows(A, rows)), columns)
        block = np.asarray(block.todense() if hasattr(block, "todense") else block)
        if block.shape != (len(rows), n_columns):
            raise ValueError(
                f"kernel must return the values of all rows of A with all of B, shape "
                f"({len(rows)}, {n_columns}), but returned shape {block.shape}"
            )
        if block.dtype.kind not in "biuf":
            raise ValueError(f"kernel must return real numbers, got dtype {block.dtype}")
        if not np.isfinite(block).all():
            raise ValueError("kernel returned NaN or infinity")
        values[rows] = block
        if block.dtype.kind == "f":
            itemsize = min(itemsize, block.itemsize)
    return values, itemsize


def for_function(A: Matrix) -> Any:
    """Return the samples as a user's function is given them, an array that it cannot change."""
    if isinstance(A, CsrMatrix):
        return A.to_scipy()
    given = A.view()  # they may be the caller's own
    given.flags.writeable = False
    return given


def _dots(A: Matrix, B: Matrix) -> NDArray[np.float64]:
    if isinstance(A, CsrMatrix) or isinstance(B, CsrMatrix):
        product = _scipy_float64(A) @ _scipy_float64(B).T
        return np.asarray(product.todense() if hasattr(product, "todense") else product)
    return A.astype(np.float64, copy=False) @ B.astype(np.float64, copy=False).T


def _scipy_float64(A: Matrix) -> Any:
    from scipy.sparse import csr_matrix

    return (A.to_scipy() if isinstance(A, CsrMatrix) else csr_matrix(A)).astype(np.float64)


def _squared_distances(A: Matrix, B: Matrix, gamma: float) -> NDArray[np.float64]:
    """Return ||x - z||^2; of near rows the digits that exp(-gamma ||x - z||^2) shows are right."""
    first, second = A, B
    if B.shape[0] > 0 and not (isinstance(A, CsrMatrix) or isinstance(B, CsrMatrix)):
        # Distances do not depend on the origin; near the data the difference below loses least.
        origin = B.mean(axis=0, dtype=np.float64)
        A, B = A - origin, B - origin
    norms = squared_norms(A)[:, np.newaxis] + squared_norms(B)
    distances = np.maximum(norms - 2.0 * _dots(A, B), 0.0)
    loses = (gamma * norms > _LARGEST_EXPONENT) & (distances < 1e3 / gamma + 1e-12 * norms)
    rows, columns = np.nonzero(loses)
    step = max(1, _BLOCK_ELEMENTS // max(1, A.shape[1]))
    for begin in range(0, len(rows), step):
        i, j = rows[begin : begin + step], columns[begin : begin + step]
        distances[i, j] = _squares_of_differences(take_rows(first, i), take_rows(second, j))
    return distances


def _squares_of_differences(A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Return the squared distance of every row of A to that of B in the same place."""
    if isinstance(A, CsrMatrix) or isinstance(B, CsrMatrix):
        apart = _scipy_float64(A) - _scipy_float64(B)
        return np.asarray(apart.multiply(apart).sum(axis=1)).ravel()
    return squared_norms(np.subtract(A, B, dtype=np.float64))


def squared_norms(A: Matrix) -> NDArray[np.float64]:
    """Return ||x||^2 of every row."""
    return row_sums(A, np.square)


def row_sums(A: Matrix, function: np.ufunc) -> NDArray[np.float64]:
    """Return the sum of a function, 0 at 0, over the numbers of every row, whatever the others."""
    if isinstance(A, CsrMatrix):
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        terms = function(A.data.astype(np.float64, copy=False))
        return np.bincount(rows, weights=terms, minlength=A.shape[0]).astype(np.float64)
    sums = np.empty(len(A))
    step = max(1, _BLOCK_ELEMENTS // max(1, A.shape[1]))
    for start, part in zip(range(0, len(A), step), parts_of(A, step), strict=True):
        terms = function(part.astype(np.float64, copy=False))
        np.sum(terms, axis=1, out=sums[start : start + step])
    return sums
