"""One fit of a kernel perceptron in a child process."""

import hashlib
import warnings

import numpy as np

import problems
import runners


def by_numpy(X, y, gamma, n_passes):
    """Mistakes by class and example, and by class and pass; one example at a time, in float64."""
    n, n_classes = len(X), y.max() + 1
    positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    signs = np.where(y[:, np.newaxis] == positive, 1.0, -1.0)
    squares = np.einsum("ij,ij->i", X, X)
    # The support vectors of all classes, in the order of their first mistakes.
    vectors, vector_squares = np.empty_like(X), np.empty(n)
    coef, bias = np.zeros((n, len(positive))), np.zeros(len(positive))
    place, m = np.full(n, -1), 0
    alpha = np.zeros((len(positive), n), dtype=np.int64)
    mistakes = np.zeros((len(positive), n_passes), dtype=np.int64)
    for k in range(n_passes):
        for i in range(n):
            distances = squares[i] + vector_squares[:m] - 2.0 * (vectors[:m] @ X[i])
            f = np.exp(-gamma * distances) @ coef[:m] + bias
            wrong = signs[i] * f <= 0
            if not wrong.any():
                continue
            if place[i] < 0:
                place[i], vectors[m], vector_squares[m] = m, X[i], squares[i]
                m += 1
            change = np.where(wrong, signs[i], 0.0)
            coef[place[i]] += change
            bias += change
            alpha[:, i] += wrong
            mistakes[:, k] += wrong
    return alpha, mistakes.tolist()


def by_maxmargin(X, y, gamma, request):
    from maxmargin import KernelPerceptron

    model = KernelPerceptron(
        gamma=gamma,
        max_iter=request["passes"],
        cache_size=request["cache_mb"],
        n_jobs=request["threads"],
    ).fit(X, y)
    passes = [mistakes.tolist() for mistakes in model.mistakes_per_pass_]
    return model.alpha_, [
        mistakes + [0] * (request["passes"] - len(mistakes)) for mistakes in passes
    ]


def run(request, save):
    """One timed fit, after a tiny one."""
    warnings.simplefilter("ignore")  # that mistakes are left
    problem = problems.Problem(**request["problem"])
    data = problems.load(problem, request["data_folder"])
    codes = np.unique(data.y, return_inverse=True)[1]

    def fit(X, y):
        if request["library"] == "numpy":
            return by_numpy(X, y, problem.gamma, request["passes"])
        return by_maxmargin(X, y, problem.gamma, request)

    fit(np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3)
    seconds, (alpha, mistakes) = runners.timed(lambda: fit(data.X, codes), request["timeout"])
    save(
        {
            "n": data.X.shape[0],
            "d": data.X.shape[1],
            "fit_seconds": seconds,
            "mistakes_per_pass": mistakes,
            "alpha_sha256": hashlib.sha256(alpha.tobytes()).hexdigest(),
            "n_support": int(np.atleast_2d(alpha).any(axis=0).sum()),
        }
    )
