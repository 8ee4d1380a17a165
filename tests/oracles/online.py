"""Subgradient training as it is written, in plain numpy: one step at a time on dense weights."""

from __future__ import annotations

import numpy as np

from oracles.problems import rng


def noisy(n=60, d=6, seed=0, density=1.0):
    """Two classes that no separator separates, with a share of zeros."""
    X = rng(seed).normal(size=(n, d))
    X[rng(seed + 1).random((n, d)) > density] = 0.0
    y = (X[:, 0] + 0.7 * rng(seed + 2).normal(size=n) > 0).astype(int)
    y[:2] = [0, 1]
    return X, y


def loss_of(name):
    """Margin of the loss, its value and minus its subgradient at m."""
    margin = 0.0 if name == "perceptron" else 1.0
    if name == "squared_hinge":
        return margin, lambda m: max(0.0, margin - m) ** 2, lambda m: 2 * max(0.0, margin - m)
    return margin, lambda m: max(0.0, margin - m), lambda m: float(m <= margin)


def step_of(rate, alpha, eta0, power_t, loss="hinge"):
    """The length of step t; Bottou's first one is typw / max(1, the slope of the loss at -typw)."""
    typw = alpha**-0.25
    first = typw / (2 * (1 + typw) if loss == "squared_hinge" else 1.0)
    return {
        "pegasos": lambda t: 1 / (alpha * t),
        "optimal": lambda t: 1 / (alpha * (t - 1) + 1 / first),
        "constant": lambda t: eta0,
        "invscaling": lambda t: eta0 / t**power_t,
    }[rate]


# Margins that differ by less than this share of the magnitudes behind them may compare either way.
TIE = 1e-12


def branches(train):
    """Yield train(ties), of `subgradient`, for all that the ties may decide."""
    open_ones = [[]]
    while open_ones:
        decided = open_ones.pop()
        ties = decided.copy()
        yield train(ties)
        open_ones += [[*ties[:place], not ties[place]] for place in range(len(decided), len(ties))]


def subgradient(
    X,
    y,
    passes,
    *,
    loss="hinge",
    l2=0.0,
    l1=0.0,
    step=lambda t: 1.0,
    batch_size=1,
    average_from=1,
    weight=None,
    fit_intercept=True,
    margin=None,
    ties=None,
):
    """Return w, b, their averages and the mistakes of every pass; y in {-1, +1}.

    A margin within rounding of the threshold is a tie, on either side of which a fit may be. The
    list `ties` says of the first ones whether they are mistakes; what is decided of others is
    appended.
    """
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(y)) if weight is None else weight
    threshold, _, pull = loss_of(loss)
    threshold = threshold if margin is None else margin
    w, b, t, due, lost = np.zeros(X.shape[1]), 0.0, 0, 0.0, np.zeros(X.shape[1])
    sum_w, sum_b, n_averaged, mistakes = np.zeros_like(w), 0.0, 0, []
    rows = np.flatnonzero(weight)
    most_w, most_b, n_ties = np.zeros_like(w), 0.0, 0  # the largest magnitudes so far

    def charge(columns):
        """Takes from these weights what all owe of the l1 penalty, as far as they have it."""
        taken = np.clip(due + np.sign(w) * lost, 0.0, np.abs(w)) * np.sign(w) * columns
        lost[:] -= taken
        w[:] -= taken

    for _ in range(passes):
        mistakes.append(0)
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            t += 1
            met = (X[batch] != 0).any(axis=0)  # others are charged when they are next met
            charge(met)
            margins = y[batch] * (X[batch] @ w + b)
            wrong = margins <= threshold
            if ties is not None:
                rounding = TIE * (np.abs(X[batch]) @ most_w + most_b)
                for k in np.flatnonzero(np.abs(margins - threshold) < rounding):
                    ties[n_ties:] = ties[n_ties:] or [bool(wrong[k])]
                    wrong[k] = ties[n_ties]
                    n_ties += 1
            mistakes[-1] += int(wrong.sum())
            pulled = np.where(wrong, np.minimum(margins, threshold), margins)
            pulls = np.array([pull(m) if margin is None else 1.0 for m in pulled])
            amounts = step(t) / len(batch) * np.where(wrong, pulls * weight[batch] * y[batch], 0.0)
            w[:] = max(0.0, 1 - step(t) * l2) * w + amounts @ X[batch]
            b += fit_intercept * amounts.sum()
            most_w, most_b = np.maximum(most_w, np.abs(w)), max(most_b, abs(b))
            due += step(t) * l1
            charge(met)
            if t >= average_from:
                sum_w, sum_b, n_averaged = sum_w + w, sum_b + b, n_averaged + 1
        charge(np.ones(X.shape[1]))
    return w, b, sum_w / max(1, n_averaged), sum_b / max(1, n_averaged), mistakes


def objective(X, y, w, b, *, loss="hinge", l2=0.0, l1=0.0, weight=None):
    """The primal objective that `SGDClassifier` states; y in {-1, +1}."""
    weight = np.ones(len(y)) if weight is None else weight
    _, value, _ = loss_of(loss)
    losses = np.array([value(m) for m in y * (np.asarray(X, dtype=np.float64) @ w + b)])
    penalty = l2 / 2 * (w @ w) + l1 * np.abs(w).sum()
    return penalty + (weight @ losses) / np.count_nonzero(weight)


def multiclass_perceptron(X, y, n_classes, passes, margin=0.0):
    """Crammer and Singer's rule for the two classes with the greatest violation."""
    W, b, mistakes = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes), []
    for _ in range(passes):
        mistakes.append(0)
        for x, label in zip(X, y, strict=True):
            f = W @ x + b
            others = np.where(np.arange(n_classes) == label, -np.inf, f)
            rival = int(others.argmax())
            if f[label] - f[rival] <= margin:
                W[label] += x
                W[rival] -= x
                b[label] += 1
                b[rival] -= 1
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return W, b, mistakes
