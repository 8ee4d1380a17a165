"""What every kernel can do, and the closed rules that make new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.nested_params import changed_params, with_nested
from maxmargin._estimator.wording import shown
from maxmargin._input import is_real
from maxmargin._input.sparse import Matrix, take_rows
from maxmargin.kernels._parameter import KernelParams, core_values, for_function
from maxmargin.kernels._steps import Steps, is_known, joined, scaled, weighed


class Kernel:
    """A function of two samples; what every kernel can do.

    Kernels are immutable, equal where their numbers are, and can be pickled. An estimator has the
    parameters of its kernel as well, so that a grid search can vary `kernel__gamma`; the parts of a
    sum or product are k1, k2 .. (`kernel__k2__gamma`).
    """

    _parameters: tuple[str, ...] = ()

    @np.errstate(under="ignore")
    def __call__(self, A: Any, B: Any) -> NDArray[np.float64]:
        """Return the values of all rows of A with all rows of B, shape (len(A), len(B)).

        The core makes them, in one go also for sums and products of kernels, on as many threads as
        the process may use; `by_definition` those that it does not know. Values that are too large
        for float64 are infinite, or NaN where such meet.

        Parameters
        ----------
        A, B : array-like or sparse matrix of shape (n_samples, n_features)
            Samples of as many features.

        Raises
        ------
        ValueError
            If A and B are not valid samples of as many features, or the kernel is not defined for
            them.
        """
        first, second = self._samples(A, B)
        params = self._core_params()
        return self._values(first, second) if params is None else core_values(params, first, second)

    @np.errstate(under="ignore")
    def by_definition(self, A: Any, B: Any) -> NDArray[np.float64]:
        """Return the same values as numpy makes them by the formula, part by part.

        Slower than calling the kernel, and independent of the core.
        """
        return self._values(*self._samples(A, B))

    def _samples(self, A: Any, B: Any) -> tuple[Matrix, Matrix]:
        first, second = (_input.check_matrix(X, "A kernel") for X in (A, B))
        if first.shape[1] != second.shape[1]:
            raise ValueError(
                f"A and B must have as many features, got {first.shape[1]} and {second.shape[1]}"
            )
        return first, second

    @np.errstate(under="ignore")
    def diagonal(self, A: Any) -> NDArray[np.float64]:
        """Return the value of every row of A with itself, shape (len(A),)."""
        return self._diagonal(_input.check_matrix(A, "A kernel"))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, those of the parts as well."""
        params = {name: getattr(self, name) for name in self._parameters}
        return with_nested(params) if deep else params

    def with_params(self, **params: Any) -> Kernel:
        """Return the kernel with other values of the parameters of these names.

        Raises
        ------
        ValueError
            If there is no parameter of that name, or the value is not allowed.
        """
        current = self.get_params(deep=False)
        return self._rebuilt({**current, **changed_params(current, params, f"kernel {self!r}")})

    def _rebuilt(self, params: dict[str, Any]) -> Kernel:
        return type(self)(**params)

    def __sklearn_clone__(self) -> Kernel:
        return self

    def weighted(self, function: Callable[[Any], Any]) -> Kernel:
        """Return the kernel f(x) K(x, z) f(z).

        Parameters
        ----------
        function : callable
            f; given a matrix of samples, it returns one number for each, which depends on that
            sample alone. The matrix is an array that cannot be written to, or of scipy's CSR form.
        """
        return _Weighted(self, function)

    def normalised(self) -> Kernel:
        """Return the kernel K(x, z) / sqrt(K(x, x) K(z, z)), 0 where a sample has K(x, x) <= 0."""
        return _Normalised(self)

    def __add__(self, other: Any) -> Kernel:
        second = _as_kernel(other)
        return NotImplemented if second is None else _Sum((self, second))

    def __radd__(self, other: Any) -> Kernel:
        if is_real(other) and other == 0:  # where sum() begins
            return self
        first = _as_kernel(other)
        return NotImplemented if first is None else _Sum((first, self))

    def __mul__(self, other: Any) -> Kernel:
        if is_real(other):
            return _Scaled(other, self)
        return _Product((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        return _Scaled(other, self) if is_real(other) else NotImplemented

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"kernels are immutable: make a new one with another {name}")
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the kernel anew of a pickle's parameters; ValueError if they are not such."""
        try:
            type(self).__init__(self, **state)
        except TypeError as error:
            raise ValueError(f"this is no state of a {type(self).__name__}: {error}") from error

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._state()))

    def __repr__(self) -> str:
        numbers = (f"{name}={getattr(self, name)!r}" for name in self._parameters)
        return f"{type(self).__name__}({', '.join(numbers)})"

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._parameters)

    def _core_params(self) -> KernelParams | None:
        """Return the kernel as the core knows it, or None where it does not."""
        steps = self._core_steps()
        if steps is None or not is_known(steps):
            return None
        return KernelParams("composed", function=self, steps=tuple(steps))

    def _core_steps(self) -> Steps | None:
        """Return the kernel in postfix notation, or None."""
        return None

    def _check_samples(self, X: Matrix) -> None:
        """Refuse samples for which the kernel is not defined."""

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        raise NotImplementedError

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        rows = (take_rows(A, np.array([i])) for i in range(A.shape[0]))
        return np.array([self._values(row, row)[0, 0] for row in rows])


class Constant(Kernel):
    """The same value for all samples

    Parameters
    ----------
    value : float
        >= 0.
    """

    _parameters = ("value",)

    def __init__(self, value: float) -> None:
        self.value = _input.check_real("value", value, at_least=0)

    def __repr__(self) -> str:
        return repr(self.value)

    def _core_steps(self) -> Steps:
        return [(KernelParams("constant"), self.value)]

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        return np.full((A.shape[0], B.shape[0]), self.value)

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return np.full(A.shape[0], self.value)


class _Composed(Kernel):
    """A kernel made of several by one operation, which is associative."""

    _operation: str
    _combine: np.ufunc

    def __init__(self, parts: tuple[Kernel, ...]) -> None:
        kind = type(self)
        flat = (part.parts if isinstance(part, kind) else (part,) for part in parts)
        self.parts: tuple[Kernel, ...] = tuple(chain.from_iterable(flat))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = {f"k{i}": part for i, part in enumerate(self.parts, start=1)}
        return with_nested(params) if deep else dict(params)

    def _rebuilt(self, params: dict[str, Any]) -> Kernel:
        return type(self)(tuple(_check_part(name, part) for name, part in params.items()))

    def _state(self) -> tuple[Any, ...]:
        return self.parts

    def _core_steps(self) -> Steps | None:
        return joined([part._core_steps() for part in self.parts], self._operation)

    def _check_samples(self, X: Matrix) -> None:
        for part in self.parts:
            part._check_samples(X)

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        return self._combined(part._values(A, B) for part in self.parts)

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return self._combined(part._diagonal(A) for part in self.parts)

    def _combined(self, parts: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
        total = next(parts).copy()
        for part in parts:
            self._combine(total, part, out=total)
        return total


class _Sum(_Composed):
    _operation, _combine = "+", np.add

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


class _Product(_Composed):
    _operation, _combine = "*", np.multiply

    def __repr__(self) -> str:
        return " * ".join(map(_as_factor, self.parts))


class _Changed(Kernel):
    """A kernel made of another one."""

    kernel: Kernel

    def _check_samples(self, X: Matrix) -> None:
        self.kernel._check_samples(X)


class _Scaled(_Changed):
    _parameters = ("factor", "kernel")

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = _input.check_real("the factor of a kernel", factor, at_least=0)
        self.kernel = _check_part("kernel", kernel)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_as_factor(self.kernel)}"

    def _core_steps(self) -> Steps | None:
        return scaled(self.kernel._core_steps(), self.factor)

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        return self.factor * self.kernel._values(A, B)

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return self.factor * self.kernel._diagonal(A)


class _Weighted(_Changed):
    _parameters: tuple[str, ...] = ("kernel", "function")

    def __init__(self, kernel: Kernel, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise ValueError(f"function must be a callable, got {shown(function)}")
        self.kernel = _check_part("kernel", kernel)
        self.function = function

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"{_as_factor(self.kernel)}.weighted({name})"

    def _core_steps(self) -> Steps | None:
        return weighed(self.kernel._core_steps(), self._weights)

    def _weights(self, A: Matrix) -> NDArray[np.float64]:
        weights = self.function(for_function(A))
        if hasattr(weights, "toarray"):  # a column of a sparse matrix
            weights = weights.toarray().ravel()
        weights = np.asarray(weights)
        if weights.dtype.kind not in "biufO":
            raise ValueError(
                f"the function of a weighted kernel must return real numbers, got dtype "
                f"{weights.dtype}"
            )
        weights = weights.astype(np.float64)
        if weights.shape != (A.shape[0],) or not np.isfinite(weights).all():
            raise ValueError(
                f"the function of a weighted kernel must return {A.shape[0]} finite numbers, one "
                f"for each sample, but returned shape {weights.shape}"
            )
        return weights

    def _values(self, A: Matrix, B: Matrix) -> NDArray[np.float64]:
        weighted: NDArray[np.float64] = (
            self._weights(A)[:, np.newaxis] * self.kernel._values(A, B) * self._weights(B)
        )
        return weighted

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return np.square(self._weights(A)) * self.kernel._diagonal(A)


class _Normalised(_Weighted):
    _parameters = ("kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = _check_part("kernel", kernel)

    def __repr__(self) -> str:
        return f"{_as_factor(self.kernel)}.normalised()"

    def _weights(self, A: Matrix) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.kernel._diagonal(A)
        is_positive = squares > 0.0
        scales = np.where(is_positive, 1.0 / np.sqrt(np.where(is_positive, squares, 1.0)), 0.0)
        return np.where(np.isfinite(squares), scales, np.nan)  # so that no overflow goes unseen

    _scales = _weights  # the name in pickles of fitted machines of 0.1.0

    def _diagonal(self, A: Matrix) -> NDArray[np.float64]:
        return np.where(self.kernel._diagonal(A) > 0.0, 1.0, 0.0)


def _as_kernel(value: Any) -> Kernel | None:
    """Return a kernel for what may stand in a sum, None for anything else."""
    if isinstance(value, Kernel):
        return value
    return Constant(value) if is_real(value) else None


def _check_part(name: str, value: Any) -> Kernel:
    part = _as_kernel(value)
    if part is None:
        raise ValueError(f"{name} must be one of maxmargin.kernels, got {shown(value)}")
    return part


def _as_factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, (_Composed, _Scaled)) else repr(kernel)
