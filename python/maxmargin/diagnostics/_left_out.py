"""What leave-one-out finds, exactly: the decision on each sample of the machine without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._input.sparse import take_rows
from maxmargin.diagnostics._leave_one_out import counted_from_mean
from maxmargin.diagnostics._recomputation import Problem, problems_of
from maxmargin.diagnostics._removal import Removal, Solved
from maxmargin.kernels._parameter import core_values, kernel_block
from maxmargin.svm._machine import model_of
from maxmargin.svm._model import TrainedMachine
from maxmargin.svm.regression import QuantileSVR

# Of `tol`, what violations that an exchange leaves may have.
_SHARE_OF_TOL = 0.1


@np.errstate(under="ignore")
def leave_one_out_decisions(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None
) -> NDArray[np.float64]:
    """Return for each sample the decision of the machine that is trained without it.

    They are those of n_samples fits to `tol`, from one. Without a sample that is no support vector
    the machine is as it is; of a `OneClassSVM` every sample changes the sum of the coefficients.
    The others are taken out of the solution by corrections of the linear system of the free support
    vectors [1]_, with exchanges where others become free or reach a bound; where the exchanges find
    no end, the machine is trained without the sample.

    What was found on all samples stays: numbers of the kernel (`gamma='scale'`), weights of classes
    ('balanced'), the earlier steps of a pipeline, C of a `NuSVC` (its `C_`) and epsilon of a
    `NuSVR` (its `epsilon_`). The kernel must be positive semidefinite.

    This takes n_samples * n_SV kernel evaluations and memory for three times as many numbers, of
    each pair of classes in turn.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, QuantileSVR or OneClassSVM
        Fitted by `fit`, with its parameters unchanged. Or a pipeline that ends in one, or a search.
    X, y, sample_weight
        What it was fitted on: `X` is the kernel matrix where it was given; `y` is ignored for a
        OneClassSVM. A sample of weight 0 took no part, and its decision is that of the model.

    Returns
    -------
    ndarray of float64
        In the shape of `decision_function(X)`, of a regression in that of `predict(X)`. The row of
        a sample is NaN where there is no machine without it: it is the only one of its class with a
        weight above 0, or of all.

    Raises
    ------
    TypeError
        If the estimator is none of these.
    NotFittedError
        If it is not fitted.
    ValueError
        If the data are not those that the estimator was fitted on, as far as shapes, classes
        and bounds show, or if the model came from a file, which does not say which rows are support
        vectors.

    References
    ----------
    .. [1] G. Cauwenberghs, T. Poggio, "Incremental and decremental support vector machine
       learning", NIPS 13 (2000).

    Examples
    --------
    >>> from maxmargin import SVC, diagnostics
    >>> X, y = [[0.0], [1.0], [1.2], [2.0], [0.9]], [0, 0, 1, 1, 1]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> wrong = (diagnostics.leave_one_out_decisions(model, X, y) > 0) != y
    >>> wrong.tolist()
    [False, True, False, False, True]
    """
    estimator, matrix, problems = problems_of(
        estimator, X, y, sample_weight, "leave_one_out_decisions"
    )
    model = model_of(estimator)
    values = model.values(matrix, _input.check_n_jobs(estimator.n_jobs))
    for machine, problem in enumerate(problems):
        if np.isinf(problem.violation()):
            raise ValueError(
                "y and sample_weight must be those of the fit: with these, coefficients are beyond "
                "their bounds"
            )
        used = problem.C > 0.0
        rows = problem.rows[used]
        values[rows, machine] = _values_without_each(problem.of(used), values[rows, machine])
    has_none = np.isnan(values).any(axis=1)
    values[has_none] = 0.0
    decisions = np.array(_shown(estimator, model, values))
    decisions[has_none] = np.nan
    return decisions


def _shown(
    estimator: Any, model: TrainedMachine, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what the estimator makes of its machines' values."""
    if model.classes is not None:
        scores: NDArray[np.float64] = estimator._scores(model, values)
        return scores
    return estimator._shown(values) if isinstance(estimator, QuantileSVR) else values[:, 0]


def _values_without_each(problem: Problem, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values on all samples of the machines without them; `values` are the machine's."""
    values = values.copy()
    is_alone = np.full(len(values), len(values) == 1)
    if problem.sign is not None and problem.total == 0.0:
        of_sign = np.where(problem.sign > 0.0, *(np.sum(problem.sign == s) for s in (1.0, -1.0)))
        is_alone = of_sign == 1
    changes = ~is_alone & ((problem.beta != 0.0) | (problem.total != 0.0))
    values[is_alone] = np.nan
    removal = Removal(_kernel_rows(problem), _solved(problem), _SHARE_OF_TOL * problem.tol)
    removal.prepare(np.flatnonzero(changes & (problem.beta != 0.0)))
    # Without a free one, any sample may end the interval that the offset is the middle of.
    changes |= ~is_alone & (removal.is_free if removal.is_free.any() else True)
    lost = np.zeros(len(values))
    if problem.total != 0.0:
        lost = -problem.total / problem.C.sum() * problem.C
    gram = None
    for i in np.flatnonzero(changes).tolist():
        try:
            values[i] = removal.residual_without(i, lost[i]) - _linear_term(problem)[i]
        except ArithmeticError:
            if gram is None:
                gram = kernel_block(problem.kernel, problem.matrix, problem.matrix)
            values[i] = _trained_without(problem, gram, i)
    return values


def _kernel_rows(problem: Problem) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    matrix, evaluate = problem.matrix, kernel_block if problem.kernel.is_given else core_values
    if problem.total == 0.0:  # the offset makes up for the origin
        matrix = counted_from_mean(problem.kernel, matrix, matrix)
    return lambda places: evaluate(problem.kernel, take_rows(matrix, places), matrix)


def _linear_term(problem: Problem) -> NDArray[np.float64]:
    of_sign = 0.0 if problem.sign is None else problem.sign * problem.width
    return np.broadcast_to(of_sign - problem.target, problem.C.shape)


def _solved(problem: Problem) -> Solved:
    C, beta = problem.C, problem.beta
    bound = np.full(len(C), np.inf) if problem.is_squared else C
    slopes: tuple[float, ...] = (0.0,)
    if problem.sign is not None:
        is_positive = problem.sign > 0.0
        nodes = [np.where(is_positive, 0.0, -bound), np.where(is_positive, bound, 0.0)]
    elif problem.quantile is not None:
        nodes = [(problem.quantile - 1.0) * C, problem.quantile * C]
    else:
        nodes = [-C, np.zeros(len(C)), C]
        slopes = (problem.width, -problem.width)
    ridge = problem.ridge()
    residuals = problem.sums + ridge * beta + _linear_term(problem) - problem.rho
    return Solved(beta, residuals, np.column_stack(nodes), slopes, ridge)


def _trained_without(problem: Problem, gram: NDArray[np.float64], i: int) -> float:
    """Return the value on a sample of the machine that is trained on the others."""
    upper = problem.C.copy()
    upper[i] = 0.0
    kernel, options = _core.KernelParams("precomputed"), _core.TrainingOptions(tol=problem.tol)
    target = np.ascontiguousarray(np.broadcast_to(problem.target, upper.shape))
    if problem.quantile is not None:
        quantile = np.array([problem.quantile])
        core, _ = _core.quantile_svr_fit(gram, target, upper, kernel, options, quantile)
    elif problem.sign is None:
        core, _ = _core.svr_fit(gram, target, upper, kernel, options, problem.width)
    elif problem.total != 0.0:
        nu = problem.total / problem.C.sum()
        core, _ = _core.one_class_fit(gram, upper, kernel, options, nu)
    else:
        codes = (problem.sign < 0.0).astype(np.int64)
        core, _ = _core.svc_fit(
            *(gram, codes, 2, upper, kernel, options), squared_hinge=problem.is_squared
        )
    return float(gram[i, core.support] @ core.dual_coef[0] - core.rho[0])
