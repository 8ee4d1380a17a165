"""Recomputation of a result in float64 from its definition, whatever library it came from.

With y = +1 / -1 for the two labels of a machine, beta = y alpha and K the exact kernel matrix:

    dual objective   1/2 beta' K beta - sum |beta|            (LIBSVM's sign: negative)
    KKT violation    max of y - K beta over I_up  -  min of y - K beta over I_low
    feasibility      0 <= alpha <= C,  sum beta = 0

The objective of a multi-class model is the sum over its machines, the violation the maximum.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

# float64 numbers in one block of kernel values (64 MB).
BLOCK_VALUES = 8_000_000

# A result whose alphas leave [0, C], or whose sum of beta is not 0, by more than this share of C
# or of sum |beta|, does not solve the problem and sets no mark.
FEASIBILITY_TOL = 1e-5


def rbf_block(A, B, gamma, B_norms=None):
    """exp(-gamma ||a - b||^2) for all rows of A against all rows of B, dense float64."""
    B_norms = squared_norms(B) if B_norms is None else B_norms
    products = A @ B.T
    K = products.toarray() if sp.issparse(products) else products
    K *= -2.0
    K += squared_norms(A)[:, None]
    K += B_norms[None, :]
    np.maximum(K, 0.0, out=K)
    K *= -gamma
    return np.exp(K, out=K)


def squared_norms(X):
    """||x||^2 of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def decision_values(X, X_train, machines, gamma, n_threads):
    """sum_i coef_i K(x_i, x), without the bias, of every machine at every row of X: (m, P)."""
    used, position = np.unique(machines.rows, return_inverse=True)
    machine_of = np.repeat(np.arange(len(machines)), np.diff(machines.start))
    coef = sp.csr_matrix(
        (machines.coef.astype(np.float64), (machine_of, position)),
        shape=(len(machines), len(used)),
    )
    vectors = X_train[used]
    norms = squared_norms(vectors)
    m = X.shape[0]
    values = np.zeros((m, len(machines)))
    if len(used) == 0:
        return values
    step = max(1, BLOCK_VALUES // len(used))

    def fill(first):
        block = slice(first, min(first + step, m))
        values[block] = (coef @ rbf_block(X[block], vectors, gamma, norms).T).T

    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, range(0, m, step)))
    return values


def check(data, machines, C, gamma, n_threads):
    """Objective, violation and feasibility of ``machines`` on the training part of ``data``.

    Returns a dict: dual_objective, kkt_violation, bias_error (how far the worst bias lies outside
    the interval that the KKT conditions allow), equality_error and box_error (relative),
    is_feasible, n_support, objective_per_machine, violation_per_machine.
    """
    values = decision_values(data.X, data.X, machines, gamma, n_threads)
    per_machine = [
        _check_machine(data.y, machines, p, values[:, p], C) for p in range(len(machines))
    ]

    def over(key):
        return [one[key] for one in per_machine]

    equality_error, box_error = max(over("equality_error")), max(over("box_error"))
    return {
        "dual_objective": float(sum(over("objective"))),
        "kkt_violation": max(over("violation")),
        "bias_error": max(over("bias_error")),
        "equality_error": equality_error,
        "box_error": box_error,
        "is_feasible": bool(max(equality_error, box_error) <= FEASIBILITY_TOL),
        "n_support": machines.n_support(),
        "objective_per_machine": over("objective"),
        "violation_per_machine": over("violation"),
    }


def _check_machine(labels, machines, p, K_beta_all, C):
    in_pair = np.flatnonzero((labels == machines.positive[p]) | (labels == machines.negative[p]))
    y_all = np.where(labels == machines.positive[p], 1.0, -1.0)
    rows, coef = machines.support(p)
    foreign = np.setdiff1d(rows, in_pair)
    if len(foreign) or len(np.unique(rows)) != len(rows):
        raise ValueError(f"machine {p}: support outside its two classes, or the same row twice")
    beta_all = np.zeros(len(labels))
    beta_all[rows] = coef
    y, beta, K_beta = y_all[in_pair], beta_all[in_pair], K_beta_all[in_pair]
    alpha = y * beta

    # A value that is C up to the rounding of the library's own precision is at its bound.
    rounding = 2 * np.finfo(machines.coef.dtype).eps * C
    below_upper, above_lower = alpha < C - rounding, alpha > 0
    in_up = np.where(y > 0, below_upper, above_lower)
    in_low = np.where(y > 0, above_lower, below_upper)
    residual = y - K_beta
    # I_up or I_low can be empty only if sum beta != 0, which is_feasible reports.
    largest_up = residual[in_up].max(initial=-np.inf)
    smallest_low = residual[in_low].min(initial=np.inf)
    lowest, highest = sorted((largest_up, smallest_low))
    total = np.abs(beta).sum()
    return {
        "objective": float(0.5 * beta @ K_beta - alpha.sum()),
        "violation": float(max(0.0, largest_up - smallest_low)),
        "bias_error": float(max(0.0, lowest - machines.bias[p], machines.bias[p] - highest)),
        "equality_error": float(abs(beta.sum()) / total) if total > 0 else 0.0,
        "box_error": float(max(0.0, -alpha.min(), alpha.max() - C) / C),
    }


def predict(X, X_train, machines, gamma, n_threads):
    """Labels by one-vs-one votes; a tie goes to the class that comes first, as in LIBSVM."""
    values = decision_values(X, X_train, machines, gamma, n_threads) + machines.bias
    order = list(dict.fromkeys(np.concatenate([machines.positive, machines.negative]).tolist()))
    index = {label: i for i, label in enumerate(order)}
    votes = np.zeros((X.shape[0], len(order)), dtype=np.int64)
    for p in range(len(machines)):
        is_positive = values[:, p] >= 0
        votes[is_positive, index[machines.positive[p].item()]] += 1
        votes[~is_positive, index[machines.negative[p].item()]] += 1
    return np.array(order)[votes.argmax(axis=1)]
