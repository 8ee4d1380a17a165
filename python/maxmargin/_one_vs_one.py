"""From the decision values of one machine for each pair of classes to classes and scores.

A decision value of machine (i, j), i < j, votes for class i where it is positive and for class j
otherwise, zero included. Machines stand in the order (0, 1), (0, 2) .., (1, 2) .. .
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._sparse import Matrix, take_rows, weighted_row_sum


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of class indices in the order of the machines."""
    return list(combinations(range(n_classes), 2))


def class_order(codes: NDArray[np.int64], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the classes in LIBSVM's order: as they first occur, but +1 before -1."""
    order = np.argsort(np.unique(codes, return_index=True)[1])
    if classes.dtype.kind in "if" and classes.tolist() == [-1, 1]:
        order = np.array([1, 0], dtype=np.int64)
    return order


def votes(decisions: NDArray[np.float64], n_classes: int) -> NDArray[np.int64]:
    """Return the votes of every class, shape (n_samples, n_classes)."""
    counts = np.zeros((n_classes, len(decisions)), dtype=np.int64)
    for (i, j), values in zip(pairs_of(n_classes), decisions.T, strict=True):
        for_first = values > 0
        counts[i] += for_first
        counts[j] += ~for_first
    return counts.T


def vote_winners(
    decisions: NDArray[np.float64], n_classes: int, vote_order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the class with most votes; of several, that which comes first in `vote_order`."""
    winners: NDArray[np.int64] = vote_order[
        votes(decisions, n_classes)[:, vote_order].argmax(axis=1)
    ]
    return winners


def one_vs_rest_scores(decisions: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return votes plus the sums of confidences, squeezed into (-1/3, 1/3) so that they break ties.

    This is scikit-learn's 'ovr' decision function, shape (n_samples, n_classes).
    """
    confidence = np.zeros((n_classes, len(decisions)))
    for (i, j), values in zip(pairs_of(n_classes), decisions.T, strict=True):
        confidence[i] += values
        confidence[j] -= values
    squeezed = confidence / (3.0 * (np.abs(confidence) + 1.0))
    return votes(decisions, n_classes) + squeezed.T


def pair_coefficients(
    dual_coef: NDArray[np.float64], n_support: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return for each machine which support vectors it uses and their coefficients beta.

    Row j - 1 of `dual_coef` holds the coefficients of class i < j in machine (i, j), and row i
    those of class j in the same machine (LIBSVM's layout).
    """
    ends = np.cumsum(n_support)
    of_class = [np.arange(end - count, end) for end, count in zip(ends, n_support, strict=True)]
    machines = []
    for i, j in pairs_of(len(n_support)):
        used = np.concatenate([of_class[i], of_class[j]])
        beta = np.concatenate([dual_coef[j - 1, of_class[i]], dual_coef[i, of_class[j]]])
        machines.append((used, beta))
    return machines


def machine_coefficients(
    dual_coef: NDArray[np.float64], n_support: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the coefficients of all support vectors in every machine, (n_SV, n_machines)."""
    pairs = pair_coefficients(dual_coef, n_support)
    coefficients = np.zeros((dual_coef.shape[1], len(pairs)))
    for p, (used, beta) in enumerate(pairs):
        coefficients[used, p] = beta
    return coefficients


def linear_weights(
    support_vectors: Matrix, dual_coef: NDArray[np.float64], n_support: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return w = sum of beta_i x_i of every machine, shape (n_machines, n_features)."""
    return np.array(
        [
            weighted_row_sum(take_rows(support_vectors, used), beta)
            for used, beta in pair_coefficients(dual_coef, n_support)
        ]
    )
