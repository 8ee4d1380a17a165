"""The kernel perceptrons as their papers write them, one example at a time.

K is the kernel matrix with the offset added. Every score is a new sum over the support vectors.
"""

from __future__ import annotations

import numpy as np

from oracles.problems import rng


def passes(n, max_iter, step):
    """Calls step(i, t), true for a mistake, until a pass makes none; returns mistakes per pass."""
    mistakes = []
    while len(mistakes) < max_iter and (not mistakes or mistakes[-1] > 0):
        first = n * len(mistakes)
        mistakes.append(sum(bool(step(i, first + i)) for i in range(n)))
    return mistakes


def averaged(K, y, max_iter):
    """The mean of the coefficients, as they stand after every example."""
    beta, total, count = np.zeros(len(y)), np.zeros(len(y)), 0

    def step(i, _):
        nonlocal total, count
        is_mistake = y[i] * (K[i] @ beta) <= 0
        beta[i] += y[i] * is_mistake
        total, count = total + beta, count + 1
        return is_mistake

    mistakes = passes(len(y), max_iter, step)
    return total / count, mistakes


def crammer_singer(K, codes, max_iter, average=False):
    """Kesler's construction with the greatest rival; coefficients by class and example."""
    n = len(codes)
    beta, total = np.zeros((codes.max() + 1, n)), np.zeros((codes.max() + 1, n))
    alpha = np.zeros(n, int)

    def step(i, _):
        nonlocal total
        f, own = beta @ K[i], codes[i]
        rival = int(np.argmax(np.where(np.arange(len(f)) == own, -np.inf, f)))
        is_mistake = f[own] <= f[rival]
        if is_mistake:
            beta[own, i] += 1
            beta[rival, i] -= 1
            alpha[i] += 1
        total = total + beta
        return is_mistake

    mistakes = passes(n, max_iter, step)
    return alpha, total / (n * len(mistakes)) if average else beta, mistakes


def clouds(n, d, n_classes, seed=0, spread=1.0):
    """Overlapping clouds around random centres, and their numbers."""
    codes = np.arange(n) % n_classes
    centres = rng(seed).normal(size=(n_classes, d))
    return centres[codes] + spread * rng(seed + 1).normal(size=(n, d)), codes
