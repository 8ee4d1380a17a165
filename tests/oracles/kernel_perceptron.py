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


class Mersenne64:
    """Matsumoto and Nishimura's 64-bit generator, and Lemire's numbers below a bound."""

    def __init__(self, seed):
        self.mask = 2**64 - 1
        self.state = [seed & self.mask]
        for i in range(1, 312):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ (last >> 62)) + i) & self.mask)
        self.at = 312

    def next(self):
        if self.at == 312:
            s = self.state
            for i in range(312):
                x = (s[i] & 0xFFFFFFFF80000000) | (s[(i + 1) % 312] & 0x7FFFFFFF)
                s[i] = s[(i + 156) % 312] ^ (x >> 1) ^ (0xB5026F5AA96619E9 if x & 1 else 0)
            self.at = 0
        x = self.state[self.at]
        self.at += 1
        x ^= (x >> 29) & 0x5555555555555555
        x ^= (x << 17) & 0x71D67FFFEDA60000
        x ^= (x << 37) & 0xFFF7EEE000000000
        return x ^ (x >> 43)

    def below(self, bound):
        product = self.next() * bound
        while (product & self.mask) < 2**64 % bound:
            product = self.next() * bound
        return product >> 64


class Random:
    """Cavallanti, Cesa-Bianchi and Gentile 2007."""

    def __init__(self, budget, seed):
        self.budget, self.source = budget, Mersenne64(seed)

    def learn(self, K, coef, i, change):
        if i not in coef:
            if len(coef) == self.budget:
                del coef[list(coef)[self.source.below(len(coef))]]
            coef[i] = np.zeros_like(change)
        coef[i] += change


class Forgetron:
    """Dekel, Shalev-Shwartz and Singer 2008, self-tuned, by the roots of its quadratic."""

    def __init__(self, budget, largest):
        self.budget, self.largest, self.mistakes, self.cost = budget, largest, 0, 0.0

    def learn(self, K, coef, i, change):
        self.mistakes += 1
        coef[i] = coef.pop(i, 0.0) + change  # the newest
        if len(coef) <= self.budget:
            return
        oldest = next(iter(coef))
        f = sum(c * K[j, oldest] for j, c in coef.items()) / self.largest
        sigma, mu = np.abs(coef[oldest])[0], (np.sign(coef[oldest]) * f)[0]
        quadratic = np.array([sigma**2 - 2 * sigma * mu, 2 * sigma, -self.room()])
        roots = np.roots(quadratic)
        candidates = [1.0, *(r.real for r in roots if r.imag == 0 and 0 < r.real < 1)]
        phi = max(c for c in candidates if np.polyval(quadratic, c) <= 1e-12)
        self.cost += quadratic[0] * phi**2 + quadratic[1] * phi
        for j in coef:
            coef[j] = coef[j] * phi
        del coef[oldest]

    def room(self):
        return 15 / 32 * self.mistakes - self.cost


class Projectron:
    """Orabona, Keshet and Caputo 2008; a full budget projects always."""

    def __init__(self, budget, eta):
        self.budget, self.eta = budget, eta

    def learn(self, K, coef, i, change):
        S = list(coef)
        d = np.linalg.solve(K[np.ix_(S, S)], K[S, i]) if S else np.zeros(0)
        distance = np.sqrt(max(K[i, i] - d @ K[S, i], 0.0))
        if S and (distance <= self.eta or len(S) == self.budget or distance < 1e-6):
            for j, amount in zip(S, d, strict=True):
                coef[j] = coef[j] + amount * change
        else:
            coef[i] = change


def with_budget(K, y, max_iter, policy, average=False):
    """Mistakes by example, coefficients by output and example, and mistakes per pass.

    y in {-1, +1} is a problem of two classes, and codes from 0 on are that of Crammer and Singer.
    """
    n, is_joint = len(y), y.min() == 0
    n_outputs = y.max() + 1 if is_joint else 1
    coef, alpha, total = {}, np.zeros(n, int), np.zeros((n_outputs, n))

    def step(i, _):
        f = sum((c * K[j, i] for j, c in coef.items()), np.zeros(n_outputs))
        change = np.zeros(n_outputs)
        if is_joint:
            rival = int(np.argmax(np.where(np.arange(n_outputs) == y[i], -np.inf, f)))
            is_mistake = f[y[i]] <= f[rival]
            change[y[i]], change[rival] = 1.0, -1.0
        else:
            is_mistake = y[i] * f[0] <= 0
            change[0] = y[i]
        if is_mistake:
            alpha[i] += 1
            policy.learn(K, coef, i, change)
        if average:
            for j, c in coef.items():
                total[:, j] += c
        return is_mistake

    mistakes = passes(n, max_iter, step)
    beta = np.zeros((n_outputs, n))
    for j, c in coef.items():
        beta[:, j] = c
    return alpha, total / (n * len(mistakes)) if average else beta, mistakes


def clouds(n, d, n_classes, seed=0, spread=1.0):
    """Overlapping clouds around random centres, and their numbers."""
    codes = np.arange(n) % n_classes
    centres = rng(seed).normal(size=(n_classes, d))
    return centres[codes] + spread * rng(seed + 1).normal(size=(n, d)), codes
