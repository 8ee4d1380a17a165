"""What leave-one-out would find, bounded or estimated from one fit.

Leave-one-out trains once without each sample and counts those that the machine trained without them
gets wrong. A sample that is no support vector is among the right ones: without it the machine is
the same. A NuSVC is the SVC with the C in its `C_`, and that C is what stays when a sample goes.
The earlier steps of a pipeline stay as well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.pipelines import unwrapped
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows
from maxmargin.diagnostics._expansion import BLOCK_ELEMENTS
from maxmargin.diagnostics._margins import functional_margin
from maxmargin.diagnostics._supported import has_squared_hinge, require
from maxmargin.kernels._parameter import KernelParams, kernel_block
from maxmargin.svm._machine import model_of
from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.one_class import OneClassSVM

# Below this share of the mean squared distance from the centre, spans are rounding; so are
# differences from a bound below this share of it.
_ROUNDING = 1e-12
_BEYOND = 1e-6  # a bound by this share of it: not by rounding


@np.errstate(under="ignore")
def leave_one_out_bound(estimator: Any, X: Any, y: Any) -> float:
    """Return a bound on the share of training samples that leave-one-out would get wrong.

    It is the share of samples with 2 alpha_i R^2 + xi_i >= 1, xi_i being the slack and R^2 the
    greatest K(x, x) - K(x, x') over the samples [1]_; never more than the share of the support
    vectors. It holds where the optimum has a support vector with 0 < alpha_i < C_i, and takes
    n_samples^2 kernel evaluations.

    Parameters
    ----------
    estimator : SVC or NuSVC
        Fitted on two classes, with the hinge loss. A NuSVC counts as the SVC with C = `C_`. Or a
        pipeline that ends in one, or a search.
    X, y
        What it was fitted on.

    Raises
    ------
    TypeError
        If the estimator is neither.
    NotFittedError, ValueError
        If it is not fitted, has another loss, more classes, a given kernel matrix, or was not
        fitted on `X`.

    References
    ----------
    .. [1] T. Joachims, "Estimating the generalization performance of an SVM efficiently", ICML
       (2000), equation 7.
    """
    estimator, fit = _checked_fit(estimator, X, y, "leave_one_out_bound")
    if has_squared_hinge(estimator) or math.isinf(_penalty_of(estimator)):
        raise ValueError("the bound is for the hinge loss with a finite C")
    squared_radius = _greatest_difference(estimator, fit.X)
    xi = np.maximum(0.0, 1.0 - fit.margins)
    return float(np.mean((fit.alpha > 0.0) & (2.0 * fit.alpha * squared_radius + xi >= 1.0)))


@np.errstate(under="ignore")
def leave_one_out_margins(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> NDArray[np.float64]:
    """Return span estimates of y_i f^i(x_i), where f^i would be trained without sample i.

    The share of those that are <= 0 estimates the leave-one-out error. They are y_i f(x_i) minus
    alpha_i S_i^2 with the span S_i: the distance in feature space of x_i from the plane through the
    free support vectors (0 < alpha_j < C_j) other than it [1]_. They are exact where, without the
    sample, every other one stays what it was: free, at its bound, or no support vector [2]_. The
    squared hinge loss, which has no bounds, adds 1 / (2 C_j) to every K(x_j, x_j). Without a free
    support vector there is no plane, and the estimates of the support vectors are -inf.

    This takes n_SV^2 kernel evaluations, memory for as many numbers, and the inverse of a matrix of
    the free support vectors.

    Parameters
    ----------
    estimator : SVC or NuSVC
        Fitted on two classes, with its parameters unchanged. A NuSVC counts as the SVC with
        C = `C_`. Or a pipeline that ends in one, or a search.
    X, y, sample_weight
        What it was fitted on.

    Returns
    -------
    ndarray of float64, shape (n_samples,)

    Raises
    ------
    TypeError
        If the estimator is neither.
    NotFittedError, ValueError
        If it is not fitted, has more classes, a given kernel matrix, or was not fitted on `X`.

    References
    ----------
    .. [1] V. Vapnik and O. Chapelle, "Bounds on error expectation for support vector machines",
       Neural Computation 12 (2000).
    .. [2] O. Chapelle, V. Vapnik, O. Bousquet and S. Mukherjee, "Choosing multiple parameters for
       support vector machines", Machine Learning 46 (2002), section 4.
    """
    estimator, fit = _checked_fit(estimator, X, y, "leave_one_out_margins")
    upper = _upper_bounds(estimator, fit, sample_weight)
    is_support = fit.alpha > 0.0
    reaches = fit.alpha >= upper * (1.0 - _ROUNDING)  # alpha and C_ of a NuSVC are quotients
    is_bounded = is_support & reaches & (not has_squared_hinge(estimator))
    free, bounded = np.flatnonzero(is_support & ~is_bounded), np.flatnonzero(is_bounded)
    margins = fit.margins.copy()
    if len(free) == 0:
        margins[bounded] = -np.inf
        return margins
    kernel, origin = model_of(estimator).kernel, take_rows(fit.X, free)
    vectors = counted_from_mean(kernel, origin, origin)
    K = kernel_block(kernel, vectors, vectors)
    ridge = 0.5 / upper[free] if has_squared_hinge(estimator) else np.zeros(len(free))
    inverse = _bordered_inverse(K, ridge)
    with np.errstate(divide="ignore"):  # a single free vector has no plane of others
        spans = 1.0 / np.abs(np.diagonal(inverse)[:-1]) - ridge
    margins[free] -= fit.alpha[free] * np.maximum(spans, 0.0)
    if len(bounded):
        others = counted_from_mean(kernel, take_rows(fit.X, bounded), origin)
        squares, edges = _diagonal_of(kernel, others), kernel_block(kernel, vectors, others)
        spans = _squared_distances(squares, edges, K, inverse)
        margins[bounded] -= fit.alpha[bounded] * np.maximum(spans, 0.0)
    return margins


@np.errstate(under="ignore")
def radius_margin_bound(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return 4 R^2 ||w||^2 / n_samples, R being the radius of the least ball around all phi(x_i).

    It bounds the share of training samples that leave-one-out would get wrong [1]_, and may exceed
    1: it is a smooth measure to compare kernels and C by. That form is the hard margin's. The
    hinge loss adds its slacks: (4 R^2 sum of alpha_i + sum of xi_i) / n_samples, from Joachims's
    inequality 4 alpha_i R^2 + xi_i >= 1 for every error, which needs a support vector with
    0 < alpha_i < C_i. The squared hinge loss is a hard margin with 1 / (2 C_i) added to every
    K(x_i, x_i), which counts in R, too.

    R comes from a one-class machine on the distances in feature space, and errs upwards only. This
    takes n_samples^2 kernel evaluations, and memory for as many numbers.

    Parameters
    ----------
    estimator : SVC or NuSVC
        Fitted on two classes, with its parameters unchanged. A NuSVC counts as the SVC with
        C = `C_`. Or a pipeline that ends in one, or a search.
    X, y, sample_weight
        What it was fitted on.

    Raises
    ------
    TypeError
        If the estimator is neither.
    NotFittedError, ValueError
        If it is not fitted, has more classes, a given kernel matrix, or was not fitted on `X`.

    References
    ----------
    .. [1] K.-M. Chung, W.-C. Kao, C.-L. Sun, L.-L. Wang and C.-J. Lin, "Radius margin bounds for
       support vector machines with the RBF kernel", Neural Computation 15 (2003).
    """
    estimator, fit = _checked_fit(estimator, X, y, "radius_margin_bound")
    upper = _upper_bounds(estimator, fit, sample_weight)
    counts = upper > 0.0
    X = counted_from_mean(model_of(estimator).kernel, fit.X, fit.X)
    K = kernel_block(model_of(estimator).kernel, X, X)
    slack = 0.0
    if has_squared_hinge(estimator):
        K[np.diag_indices_from(K)] += 0.5 / np.where(counts, upper, np.inf)
    elif math.isfinite(_penalty_of(estimator)):
        slack = float(np.maximum(0.0, 1.0 - fit.margins[counts]).sum())
    squared_radius = _squared_radius(K[np.ix_(counts, counts)])
    return (4.0 * squared_radius * float(fit.alpha.sum()) + slack) / int(counts.sum())


class _Fit(NamedTuple):
    X: Matrix
    signs: NDArray[np.float64]  # y in {-1, +1}
    margins: NDArray[np.float64]  # y_i f(x_i)
    alpha: NDArray[np.float64]


def _checked_fit(model: Any, X: Any, y: Any, caller: str) -> tuple[Any, _Fit]:
    """Return the estimator in the model, and what it was fitted on."""
    estimator, before = unwrapped(model)
    require(estimator, caller, (SVC, NuSVC), "a fitted SVC or NuSVC of two classes")
    X = before.transform(X)
    margins = functional_margin(estimator, X, y)
    if model_of(estimator).kernel.type == "precomputed":
        raise ValueError("the bound needs the samples, and the kernel matrix was given")
    if not hasattr(estimator, "support_") or estimator.shape_fit_[0] != len(margins):
        raise ValueError("the bound needs the samples that the estimator was fitted on")
    alpha = np.zeros(len(margins))
    alpha[estimator.support_] = np.abs(estimator.dual_coef_[0])
    labels = _input.column_of_labels(y, len(margins), caller)
    signs = np.where(labels == estimator.classes_[1], 1.0, -1.0)
    return estimator, _Fit(_input.check_matrix(X, caller), signs, margins, alpha)


def _penalty_of(estimator: SVC | NuSVC) -> float:
    return float(estimator.C_[0] if isinstance(estimator, NuSVC) else estimator.C)


def _upper_bounds(estimator: Any, fit: _Fit, sample_weight: Any) -> NDArray[np.float64]:
    weight = _input.check_sample_weight(sample_weight, len(fit.signs))
    codes = (fit.signs > 0.0).astype(np.int64)
    upper = _input.upper_bounds(
        _penalty_of(estimator), estimator.class_weight_, codes, weight, estimator.classes_
    )
    beyond = np.flatnonzero(fit.alpha > upper * (1.0 + _BEYOND))
    if len(beyond) > 0 and not has_squared_hinge(estimator):
        i = beyond[0]
        raise ValueError(
            f"sample_weight must be that of the fit: sample {i} has the coefficient "
            f"{fit.alpha[i]:g}, but C times its weights is {upper[i]:g}"
        )
    return upper


def _bordered_inverse(K: NDArray[np.float64], ridge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of K about its centre with the ridge on its diagonal, bordered by ones.

    With the border, all but the last row and column of the inverse are the same about any origin.
    Vectors that lie in the plane of the others would make it singular; what is added to the
    diagonal against that leaves them a span of about the rounding of K.
    """
    n = len(K)
    means = K.mean(axis=0)
    bordered = np.ones((n + 1, n + 1))
    bordered[:n, :n] = K - means[:, np.newaxis] - means + means.mean()
    squares = np.diagonal(bordered)[:n]
    of_float = np.finfo(np.float64)
    rounding = _ROUNDING * np.abs(squares).mean() + of_float.eps * np.abs(np.diagonal(K)).mean()
    bordered[np.arange(n), np.arange(n)] += ridge + max(float(rounding), of_float.tiny)
    bordered[n, n] = 0.0
    inverse: NDArray[np.float64] = np.asarray(np.linalg.inv(bordered), dtype=np.float64)
    return inverse


def _squared_distances(
    squares: NDArray[np.float64],
    edges: NDArray[np.float64],
    K: NDArray[np.float64],
    inverse: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return those of vectors from the plane of others whose products are K.

    `squares` are their own products, `edges` those of the others with them, and `inverse` is the
    bordered one of K.
    """
    means, columns = K.mean(axis=0), edges.mean(axis=0)
    centred = edges - means[:, np.newaxis] - columns + means.mean()
    bordered = np.vstack([centred, np.ones(edges.shape[1])])
    explained = np.einsum("ij,ij->j", bordered, inverse @ bordered)
    distances: NDArray[np.float64] = squares - 2.0 * columns + means.mean() - explained
    return distances


def _squared_radius(K: NDArray[np.float64]) -> float:
    """Return the squared radius of the least ball around the vectors whose products are K.

    With beta >= 0 of sum 1 and the centre sum of beta_i phi_i, the dual is to maximise sum of
    beta_i K_ii - beta' K beta (Tax and Duin 2004). On that simplex it equals beta' D beta / 2, with
    the squared distances D: a one-class problem with the kernel -D / 2. Any centre gives a ball,
    that of the farthest vector.
    """
    squares = np.diagonal(K)
    distances = (squares[:, np.newaxis] + squares - 2.0 * K).clip(min=0.0)
    largest = float(distances.max())
    if largest == 0.0:
        return 0.0
    distances /= -2.0 * largest
    ball = OneClassSVM(kernel="precomputed", nu=1.0 / len(K), tol=1e-6).fit(distances)
    beta = ball.dual_coef_[0] / ball.dual_coef_[0].sum()
    sums = distances[:, ball.support_] @ beta
    return largest * float(beta @ sums[ball.support_] - 2.0 * sums.min())


def _greatest_difference(estimator: Any, X: Matrix) -> float:
    """Return the greatest K(x, x) - K(x, x') over the rows of X."""
    n_rows = X.shape[0]
    greatest = 0.0
    step = max(1, BLOCK_ELEMENTS // n_rows)
    for start in range(0, n_rows, step):
        rows = np.arange(start, min(start + step, n_rows))
        K = kernel_block(model_of(estimator).kernel, take_rows(X, rows), X)
        greatest = max(greatest, float((K[rows - start, rows] - K.min(axis=1)).max()))
    return greatest


def counted_from_mean(kernel: KernelParams, X: Matrix, origin: Matrix) -> Matrix:
    """Return X less the mean row of `origin` where that changes K by a translation alone.

    Far from the origin the products would lose the digits that the distances are made of.
    """
    if kernel.type != "linear" or isinstance(X, CsrMatrix):
        return X
    centred: NDArray[np.float64] = X - np.asarray(origin).mean(axis=0, dtype=np.float64)
    return centred


def _diagonal_of(kernel: KernelParams, X: Matrix) -> NDArray[np.float64]:
    """Return K(x, x) of every row of X."""
    values = np.empty(X.shape[0])
    step = max(1, math.isqrt(BLOCK_ELEMENTS))
    for start in range(0, X.shape[0], step):
        rows = np.arange(start, min(start + step, X.shape[0]))
        some = take_rows(X, rows)
        values[rows] = np.diagonal(kernel_block(kernel, some, some))
    return values
