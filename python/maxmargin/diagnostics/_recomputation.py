"""Certificates, recomputed from a model and its training data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.certificate import Certificate, together
from maxmargin._estimator.pipelines import unwrapped
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows
from maxmargin.diagnostics._expansion import expansion
from maxmargin.diagnostics._supported import has_squared_hinge, require
from maxmargin.kernels._parameter import KernelParams, kernel_block
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm._model import TrainedMachine
from maxmargin.svm.regression import QuantileSVR

# Shares of a bound, and of sum |beta|: a coefficient this near to the bound is at it, and a sum
# this far from what it is to be is another; one this much below its most is below it.
_ROUNDING = 64 * float(np.finfo(float).eps)
_WRONG_SUM = 1e-8
_ROUNDING_OF_SUM = 1e-9

# Shares of the primal objective and of the gap, above which rounding counts in the former.
_SHOWN_CHANGE = 1e-7
_SHOWN_GAP = 0.03
# Slopes of losses, on the average of samples, from which on it does so below `tol` as well.
_LARGE_BOUND = 20.0


@np.errstate(over="ignore", under="ignore")
def certificate(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """Return the certificate of a fitted machine, recomputed from the model and its training data.

    Kernel values are evaluated in float64 by their definition, in blocks, and nothing is taken from
    the solver but the support vectors' coefficients and offsets; iterations and other costs are
    copied from `certificate_`. This takes n_samples * n_SV kernel evaluations.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, QuantileSVR or OneClassSVM
        Fitted by `fit`, with its parameters unchanged. Or a pipeline that ends in one, or a search.
    X, y, sample_weight
        What it was fitted on: `X` is the kernel matrix where it was given; `y` is ignored for a
        OneClassSVM.

    Raises
    ------
    TypeError
        If the estimator is none of these.
    NotFittedError
        If it is not fitted.
    ValueError
        If the data are not those that the estimator was fitted on, as far as shapes and classes
        show, or if the model came from a file, which does not say which rows are support vectors.
    """
    estimator, _, problems = problems_of(estimator, X, y, sample_weight, "certificate")
    recorded = estimator.certificate_.machines or (estimator.certificate_,)
    machines = [
        problem.certificate(machine) for problem, machine in zip(problems, recorded, strict=True)
    ]
    return together(machines, estimator.certificate_.seconds)


def problems_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any, caller: str
) -> tuple[Any, Matrix, Iterator[Problem]]:
    """Return the estimator in a model, its samples, and the problems of its machines.

    Raises what `certificate` does.
    """
    wording = "a fitted SVC, NuSVC, SVR, NuSVR, QuantileSVR or OneClassSVM"
    estimator, before = unwrapped(estimator)
    require(estimator, caller, (KernelMachine,), wording)
    model = model_of(estimator)
    if not hasattr(estimator, "support_"):
        raise ValueError("a model from a file does not hold which rows are its support vectors")
    samples = matrix = _input.check_matrix(before.transform(X), caller)
    if matrix.shape != estimator.shape_fit_:
        raise ValueError(
            f"X has shape {matrix.shape}, but the estimator was fitted on {estimator.shape_fit_}"
        )
    if model.kernel.type == "precomputed":
        matrix, model = _by_number(matrix, model, estimator.support_)
    weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
    of_type = _of_single_machine if model.classes is None else _of_classifier
    return estimator, samples, of_type(estimator, model, matrix, y, weight, caller)


def _by_number(
    gram: Any, model: TrainedMachine, support: NDArray[np.int64]
) -> tuple[Matrix, TrainedMachine]:
    """Return the samples of a kernel matrix by number, and the model with a function of these.

    Raises ValueError if the matrix is sparse.
    """
    if isinstance(gram, CsrMatrix):
        raise ValueError("kernel='precomputed' needs a dense matrix X, got a sparse one")

    def values(A: Any, B: Any) -> NDArray[np.float64]:
        found: NDArray[np.float64] = gram[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]
        return found

    kernel = KernelParams("callable", function=values)
    numbers = support[:, np.newaxis].astype(np.float64)
    known = dataclasses.replace(model, kernel=kernel, n_features=1, vectors=numbers)
    return np.arange(len(gram), dtype=np.float64)[:, np.newaxis], known


class Problem(NamedTuple):
    """The training problem of one machine as data, at what it was trained to.

    With losses of sign (target - f) - width, or of |target - f| - width where there is no sign, f
    being `sums` less rho, and with the groups of variables of svm/formulation.hpp.
    """

    rows: NDArray[np.int64]  # of the training set
    kernel: KernelParams
    matrix: Matrix
    beta: NDArray[np.float64]
    sums: NDArray[np.float64]
    rho: float
    C: NDArray[np.float64]
    tol: float
    width: float
    sign: NDArray[np.float64] | None = None
    quantile: float | None = None
    target: NDArray[np.float64] | float = 0.0
    total: float = 0.0  # of beta
    # The price of the width in the primal, where it is free, or of -rho where beta has a total.
    free_width: float | None = None
    is_squared: bool = False

    def certificate(self, recorded: Certificate) -> Certificate:
        """Return the certificate, with the costs of the fit's own."""
        beta, magnitude = self.beta, float(np.abs(self.beta).sum())
        square = float(beta @ self.sums)
        size = float(np.abs(beta * self.sums).sum())
        if -np.finfo(float).eps * size <= square < 0.0:  # zero, but for rounding
            square = 0.0
        error = self.target - self.sums + self.rho
        wrong = self._share(error) * np.abs(error) if self.sign is None else self.sign * error
        u = wrong - self.width
        losses = np.maximum(0.0, u)
        has_price = np.isfinite(self.C) & (self.C > 0.0)  # the hard margin has none
        prices = np.where(has_price, self.C, 0.0)
        slopes, curvature = prices, 0.0
        primal, dual = 0.5 * square, 0.5 * square - float(np.sum(self.target * beta))
        ridge = self.ridge()
        if self.is_squared:
            dual += 0.5 * float((ridge * beta) @ beta)  # a square alone may overflow
            # Of the hard margin, the coefficients.
            slopes = np.maximum(np.abs(beta), 2.0 * prices * losses)
            curvature = float(prices.sum())
            losses = np.square(losses)
        primal += float(prices @ losses)
        if self.free_width is None:
            dual += self.width * magnitude
            primal -= self.total * self.rho
        else:
            primal += self.free_width * self.width
        violation = self.violation()
        slope = 0.5 * (0.5 * magnitude + float(slopes.sum(where=u > -self.tol)))
        change = max(_SHOWN_GAP * (primal + dual), _SHOWN_CHANGE * abs(primal))
        least_change = change / slope if slope > 0.0 else math.inf
        are_large = float(slopes.sum()) > _LARGE_BOUND * len(beta)
        shown = min(self.tol, least_change) if are_large else self.tol
        of_sums, of_total = self._rounding(shown)
        moved = of_sums + of_total
        if moved > self.tol:
            violation += moved
            dual_of_any = dual + 0.25 * moved * magnitude
            is_positive = self.sign is None or (self.free_width is None and self.total == 0.0)
            dual = min(0.0, dual_of_any) if is_positive and dual < 0.0 else dual_of_any
        if of_sums > self.tol:
            slope = 0.5 * (0.5 * magnitude + float(slopes.sum()))
        if of_sums > max(shown, least_change):
            primal += of_sums * (slope + 0.25 * curvature * of_sums)
        return dataclasses.replace(
            recorded,
            dual_objective=dual,
            primal_objective=primal,
            duality_gap=primal + dual,
            kkt_violation=violation,
            converged=violation < self.tol,
        )

    def of(self, used: NDArray[np.bool_]) -> Problem:
        """Return the problem of some of the samples alone."""
        places = np.flatnonzero(used)
        parts: dict[str, Any] = {
            name: value[used]
            for name, value in self._asdict().items()
            if name != "matrix" and isinstance(value, np.ndarray)
        }
        return self._replace(**parts, matrix=take_rows(self.matrix, places))

    def ridge(self) -> NDArray[np.float64]:
        """Return what the loss adds to the diagonal of K."""
        has_ridge = self.is_squared & np.isfinite(self.C) & (self.C > 0.0)
        return np.where(has_ridge, 0.5 / np.where(has_ridge, self.C, 1.0), 0.0)

    def _share(self, sign: Any) -> Any:
        """Return which share of C bounds a coefficient of this sign."""
        if self.quantile is None:
            return 1.0
        return np.where(np.greater(sign, 0.0), self.quantile, 1.0 - self.quantile)

    def violation(self) -> float:
        """Return by how much the ends of the optimality intervals cross.

        It is infinite where beta leaves its box or has another sum.
        """
        beta, n = self.beta, len(self.beta)
        magnitude = float(np.abs(beta).sum())
        largest = float(np.max(self.C, initial=0.0, where=np.isfinite(self.C)))
        allowed = _WRONG_SUM * max(1.0, magnitude) + _ROUNDING * largest
        if abs(math.fsum(beta) - self.total) > allowed:
            return math.inf
        upper = self.C
        if self.is_squared:
            upper = np.where(self.C > 0.0, math.inf, 0.0)
        is_free = self.free_width is not None
        descent = self.target - self.sums - self.ridge() * beta
        intervals = []
        for sign in (1.0, -1.0):
            used = np.ones(n, dtype=bool) if self.sign is None else self.sign == sign
            alpha = np.maximum(0.0, sign * beta[used]) if self.sign is None else sign * beta[used]
            most = self._share(sign) * upper[used]
            if (alpha < 0.0).any() or (alpha > (1.0 + _ROUNDING) * most).any():
                return math.inf
            may_rise = alpha < (1.0 - _ROUNDING) * most
            given = descent[used] - (0.0 if is_free else sign * self.width)
            may_grow, may_fall = may_rise, (alpha > 0.0) & (upper[used] > 0.0)
            if sign < 0.0:
                may_grow, may_fall = may_fall, may_grow
            intervals.append(
                (
                    given.max(initial=-math.inf, where=may_grow),
                    given.min(initial=math.inf, where=may_fall),
                )
            )
        if not is_free:
            ups, lows = zip(*intervals, strict=True)
            intervals = [(max(ups), min(lows))]
        least = 0.0
        if self.free_width is not None and self.sign is None:
            # With a sum of |beta| below its most, the best width is 0.
            least = self.width if magnitude < (1.0 - _ROUNDING_OF_SUM) * self.free_width else 0.0
        return max(least, *(float(up - low) for up, low in intervals))

    def _rounding(self, enough: float) -> tuple[float, float]:
        """Return by how much rounding, and a wrong sum of beta, may move decision values.

        It is the difference of two. Below `enough`, a looser bound serves.
        """
        used = np.flatnonzero(self.C > 0.0)
        samples, beta = take_rows(self.matrix, used), self.beta[used]
        if self.kernel.is_given:
            samples = np.diag([kernel_block(self.kernel, x, x)[0, 0] for x in _each(samples)])
        core = self.kernel.to_core(samples)
        return _core.rounding_error(samples, beta, core, self.total == 0.0, self.total, enough)


def _each(samples: Matrix) -> Iterator[Matrix]:
    return (take_rows(samples, np.array([i])) for i in range(samples.shape[0]))


def _of_classifier(
    estimator: Any,
    model: TrainedMachine,
    matrix: Matrix,
    y: Any,
    weight: NDArray[np.float64],
    caller: str,
) -> Iterator[Problem]:
    codes, classes = _input.check_labels(y, matrix.shape[0], caller)
    if not np.array_equal(classes, estimator.classes_):
        raise ValueError(
            f"y has the classes {classes.tolist()}, but the estimator was fitted on "
            f"{estimator.classes_.tolist()}"
        )
    is_nu = model.core.type == "nu_svc"
    C = 1.0 if is_nu else estimator.C
    upper = _input.upper_bounds(C, estimator.class_weight_, codes, weight, classes)
    pairs = combinations(range(len(classes)), 2)
    for p, ((i, j), (used, coefficients)) in enumerate(zip(pairs, model.expansions(), strict=True)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        beta = np.zeros(matrix.shape[0])
        beta[estimator.support_[used]] = coefficients
        samples, vectors = take_rows(matrix, rows), take_rows(model.support_vectors, used)
        yield Problem(
            *(rows, model.kernel, samples, beta[rows]),
            expansion(model.kernel, samples, vectors, coefficients),
            float(model.core.rho[p]),
            (estimator.C_[p] if is_nu else 1.0) * upper[rows],
            estimator.tol,
            width=-1.0,
            sign=np.where(codes[rows] == i, 1.0, -1.0),
            # A nu-SVC divided by its margin r: the price of -r, in units of r^2.
            free_width=float(np.abs(coefficients).sum()) if is_nu else None,
            is_squared=has_squared_hinge(estimator) or math.isinf(C),
        )


def _of_single_machine(
    estimator: Any,
    model: TrainedMachine,
    matrix: Matrix,
    y: Any,
    weight: NDArray[np.float64],
    caller: str,
) -> Iterator[Problem]:
    n = matrix.shape[0]
    coef = np.zeros((model.core.n_machines, n))
    coef[:, estimator.support_] = model.core.dual_coef
    sums = [expansion(model.kernel, matrix, model.support_vectors, c) for c in model.core.dual_coef]
    parts = [
        (np.arange(n), model.kernel, matrix, *found)
        for found in zip(coef, sums, model.core.rho.tolist(), strict=True)
    ]
    if model.core.type == "one_class":
        total = estimator.nu * float(weight.sum())
        tol, sign = estimator.tol * min(1.0, total), np.ones(n)
        yield Problem(*parts[0], weight, tol, width=0.0, sign=sign, total=total)
        return
    z = _input.check_targets(y, n, caller)
    upper = _input.weighted_bounds(estimator.C, weight)
    if isinstance(estimator, QuantileSVR):
        quantiles = estimator._quantiles(len(parts)).tolist()
        for part, q in zip(parts, quantiles, strict=True):
            yield Problem(*part, upper, estimator.tol, width=0.0, target=z, quantile=q)
        return
    has_nu = model.core.type == "nu_svr"
    yield Problem(
        *(*parts[0], upper, estimator.tol),
        width=estimator.epsilon_ if has_nu else estimator.epsilon,
        target=z,
        free_width=estimator.nu * float(upper.sum()) if has_nu else None,
    )
