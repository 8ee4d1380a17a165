"""Class probabilities from decision values: sigmoids for pairs of classes, coupled for several.

References
----------
.. [1] J. C. Platt, "Probabilistic outputs for support vector machines" (1999).
.. [2] H.-T. Lin, C.-J. Lin, R. C. Weng, "A note on Platt's probabilistic outputs for support vector
   machines", Machine Learning 68 (2007), Algorithm 1.
.. [3] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by
   pairwise coupling", JMLR 5 (2004), Algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._one_vs_one import pairs_of
from maxmargin._wording import shown

N_FOLDS = 5

# A pair's probabilities stay this far from 0 and 1, as in LIBSVM.
_LEAST_PROBABILITY = 1e-7


def check_enough_samples(
    codes: NDArray[np.int64], weight: NDArray[np.float64], classes: NDArray[Any]
) -> None:
    """Check that every fold of the cross-validation can hold a sample of every class."""
    counts = np.bincount(codes[weight > 0.0], minlength=len(classes))
    if counts.min() < N_FOLDS:
        few = shown(classes[counts.argmin()])
        raise ValueError(
            f"probabilities need at least {N_FOLDS} samples of every class, of positive weight, "
            f"for their cross-validation, but class {few} has {counts.min()}"
        )


def folds(
    codes: NDArray[np.int64], weight: NDArray[np.float64], seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Yield, for every fold, which samples are held out: a fifth of those of every class that have
    a weight."""
    rng = np.random.default_rng(seed)
    fold = np.full(len(codes), -1)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero((codes == code) & (weight > 0.0))
        fold[rng.permutation(members)] = np.arange(len(members)) % N_FOLDS
    for k in range(N_FOLDS):
        yield fold == k


def fit_sigmoids(
    values: NDArray[np.float64], codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return A and B of every machine, shape (2, n_machines): p(first class) = sigma(-(A f + B)).

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_machines)
        Values of the machines for samples that they were not trained on, positive for the first
        class of the pair.
    """
    n_classes = int(codes.max()) + 1
    sigmoids = []
    for p, (i, j) in enumerate(pairs_of(n_classes)):
        rows = np.flatnonzero(((codes == i) | (codes == j)) & (weight > 0.0))
        sigmoids.append(fit_sigmoid(values[rows, p], codes[rows] == i))
    return np.array(sigmoids).T


def fit_sigmoid(values: NDArray[np.float64], is_first: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the A <= 0 and B of greatest likelihood, by Newton steps with backtracking [2]_.

    Where the likelihood is greatest for an A > 0, which would answer backwards, A is 0 and B that
    of the shares of the classes.
    """
    scale = float(np.abs(values).max()) or 1.0
    values = values / scale
    n_first = int(is_first.sum())
    n_second = len(is_first) - n_first
    targets = np.where(is_first, (n_first + 1.0) / (n_first + 2.0), 1.0 / (n_second + 2.0))
    A, B = 0.0, math.log((n_second + 1.0) / (n_first + 1.0))
    prior = B

    def loss(A: float, B: float) -> float:
        exponent = A * values + B
        # log(1 + exp(x)) - (1 - t) x, without overflow
        return float((np.logaddexp(0.0, exponent) - (1.0 - targets) * exponent).sum())

    least = loss(A, B)
    for _ in range(100):
        p = _sigma(-(A * values + B))
        curvature = p * (1.0 - p)
        h11 = float(values @ (values * curvature)) + 1e-12
        h22 = float(curvature.sum()) + 1e-12
        h21 = float(values @ curvature)
        slope = targets - p
        g1, g2 = float(values @ slope), float(slope.sum())
        if abs(g1) < 1e-5 and abs(g2) < 1e-5:
            break
        determinant = h11 * h22 - h21 * h21
        dA = -(h22 * g1 - h21 * g2) / determinant
        dB = -(-h21 * g1 + h11 * g2) / determinant
        descent = g1 * dA + g2 * dB
        step = 1.0
        while step >= 1e-10:
            found = loss(A + step * dA, B + step * dB)
            if found < least + 1e-4 * step * descent:
                A, B, least = A + step * dA, B + step * dB, found
                break
            step /= 2.0
        else:
            break
    return (A / scale, B) if A <= 0.0 and math.isfinite(A + B) else (0.0, prior)


def probabilities(
    values: NDArray[np.float64], sigmoids: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return the probability of every class, shape (n_samples, n_classes); rows sum up to 1."""
    first = np.clip(
        _sigma(-(sigmoids[0] * values + sigmoids[1])), _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY
    )
    if n_classes == 2:
        return np.hstack([first, 1.0 - first])
    pairwise = np.zeros((len(values), n_classes, n_classes))
    for p, (i, j) in enumerate(pairs_of(n_classes)):
        pairwise[:, i, j] = first[:, p]
        pairwise[:, j, i] = 1.0 - first[:, p]
    return _coupled(pairwise)


def _coupled(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p that minimises sum over i, j of (r_ji p_i - r_ij p_j)^2, sum p = 1 [3]_.

    With Q_ii = sum over j != i of r_ji^2 and Q_ij = -r_ji r_ij, and with a multiplier b of the
    constraint, it solves Q p + b 1 = 0 and 1'p = 1. That system is regular even where Q is not, as
    for pairwise probabilities r_ij = p_i / (p_i + p_j), since no r is 0.
    """
    n_classes = r.shape[1]
    system = np.zeros((len(r), n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = -r.transpose(0, 2, 1) * r
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = np.square(r).sum(axis=1)
    system[:, n_classes, :n_classes] = system[:, :n_classes, n_classes] = 1.0
    right = np.zeros((len(r), n_classes + 1, 1))
    right[:, n_classes] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], 0.0)
    coupled: NDArray[np.float64] = p / p.sum(axis=1, keepdims=True)
    return coupled


def _sigma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)
