"""What tests compare with: definitions evaluated in float64, optimality conditions, a small QP.

No oracle uses the package's own code. Below them are fits that several files share.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, _core


def kernel(A, B, kernel="rbf", gamma=1.0, coef0=0.0, degree=3):
    """The kernel matrix of the rows of A and B in float64; distances from differences."""
    A, B = (np.asarray(M.todense() if sp.issparse(M) else M, dtype=np.float64) for M in (A, B))
    if kernel == "rbf":
        return np.array([np.exp(-gamma * np.square(a - B).sum(axis=1)) for a in A])
    if kernel == "laplacian":
        return np.array([np.exp(-gamma * np.abs(a - B).sum(axis=1)) for a in A])
    if kernel == "chi_squared":
        squares = [np.square(a - B) / np.where(a + B > 0, a + B, 1.0) for a in A]
        return np.exp(-gamma * np.array(squares).sum(axis=2))
    if kernel == "histogram_intersection":
        return np.array([np.minimum(a, B).sum(axis=1) for a in A])
    dots = A @ B.T
    return {
        "linear": lambda: dots,
        "poly": lambda: (gamma * dots + coef0) ** degree,
        "sigmoid": lambda: np.tanh(gamma * dots + coef0),
    }[kernel]()


def dual_objective(K, beta):
    """1/2 alpha' Q alpha - sum alpha, in the signed variables beta_i = y_i alpha_i."""
    return 0.5 * beta @ K @ beta - np.abs(beta).sum()


def primal_objective(K, y, beta, b, upper):
    """1/2 ||w||^2 + sum of C_i max(0, 1 - y_i f(x_i))."""
    losses = np.maximum(0.0, 1.0 - y * (K @ beta + b))
    return 0.5 * beta @ K @ beta + upper @ losses


def kkt_violation(K, y, beta, upper):
    """max of -gradient over I_up minus its min over I_low (0 where either is empty)."""
    alpha, v = y * beta, y - K @ beta
    up = np.where(y > 0, alpha < upper, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < upper)
    if not (up.any() and low.any()):
        return 0.0
    return max(0.0, v[up].max() - v[low].min())


def c_svc_checks(K, y, beta, b, upper, tol):
    """Assert that (beta, b) solves the C-SVC with kernel matrix K to `tol`; return its objective.

    y is in {-1, +1}, beta = y * alpha over all rows, f(x_i) = (K beta)_i + b.
    """
    alpha = y * beta
    assert np.isfinite(beta).all()
    assert np.isfinite(b)
    assert (alpha >= -1e-12).all()
    assert (alpha <= upper * (1 + 1e-12)).all()
    assert abs(beta.sum()) <= 1e-9 * max(1.0, alpha.sum())
    v = y - K @ beta
    up = np.where(y > 0, alpha < upper, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < upper)
    slack = 2e-7 * np.abs(K).max() * alpha.sum()  # rows may be float32
    assert v[up].max() - v[low].min() <= 1.01 * tol + slack
    assert v[up].max() - 1.01 * tol - slack <= b <= v[low].min() + 1.01 * tol + slack
    return dual_objective(K, beta)


def beta_of(model, n_samples):
    """The signed dual variables of a fitted two-class SVC over all rows, + for classes_[1]."""
    beta = np.zeros(n_samples)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def check_binary(model, X, y, sample_weight=None, class_weight=(1.0, 1.0), **kernel_parameters):
    """Run c_svc_checks on a fitted two-class SVC and return its objective."""
    signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    weight = np.ones(len(signs)) if sample_weight is None else sample_weight
    upper = model.C * np.where(signs > 0, class_weight[1], class_weight[0]) * weight
    K = kernel(X, X, model.kernel, **kernel_parameters)
    beta = beta_of(model, len(signs))
    return c_svc_checks(K, signs, beta, model.intercept_[0], upper, model.tol)


def ovo_decisions(model, X, support_vectors, **kernel_parameters):
    """Every machine's decision value from dual_coef_ and intercept_ in LIBSVM's layout (k > 2)."""
    K = kernel(X, support_vectors, model.kernel, **kernel_parameters)
    ends = np.cumsum(model.n_support_)
    part = [slice(end - n, end) for end, n in zip(ends, model.n_support_, strict=True)]
    columns = []
    for p, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        of_i = K[:, part[i]] @ model.dual_coef_[j - 1, part[i]]
        of_j = K[:, part[j]] @ model.dual_coef_[i, part[j]]
        columns.append(of_i + of_j + model.intercept_[p])
    return np.column_stack(columns)


def solve_c_svc(K, y, upper):
    """Solve min 1/2 b'Kb - y'b with 0 <= y_i b_i <= upper_i and sum b = 0; return b."""
    return solve_in_box(K, y, np.where(y > 0, 0.0, -upper), np.where(y > 0, upper, 0.0))


def solve_in_box(K, y, low, high, iterations=200):
    """Solve min 1/2 b'Kb - y'b with low_i <= b_i <= high_i and sum b = 0; return b.

    A primal-dual interior-point method in float64 for a positive semidefinite K and low < high.
    """
    n = len(y)
    beta, offset = (low + high) / 2.0, 0.0
    z, u = np.ones(n), np.ones(n)
    for _ in range(iterations):
        s, t = beta - low, high - beta
        mu = (s @ z + t @ u) / (2 * n)
        residual = K @ beta - y + offset - z + u
        scale = max(1.0, abs(0.5 * beta @ K @ beta - y @ beta))
        if mu * 2 * n < 1e-11 * scale and abs(residual).max() < 1e-9 and abs(beta.sum()) < 1e-9:
            break
        target = 0.1 * mu
        system = np.block(
            [[K + np.diag(z / s + u / t), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
        )
        right = np.r_[-residual + (target / s - z) - (target / t - u), -beta.sum()]
        step = np.linalg.solve(system, right)
        d_beta, d_offset = step[:n], step[n]
        d_z, d_u = target / s - z - z / s * d_beta, target / t - u + u / t * d_beta
        longest = 1.0
        for value, change in ((s, d_beta), (t, -d_beta), (z, d_z), (u, d_u)):
            falls = change < 0
            if falls.any():
                longest = min(longest, 0.99 * (-value[falls] / change[falls]).min())
        beta, offset = beta + longest * d_beta, offset + longest * d_offset
        z, u = z + longest * d_z, u + longest * d_u
    return beta


# -- fits ------------------------------------------------------------------------------------------


def unconverged_fit(model, X, y, **kwargs):
    """Fit, expecting or not expecting a ConvergenceWarning; the certificate must agree with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **kwargs)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned == (not model.certificate_.converged)
    return model


def true_violation(model, X, y, **kernel_parameters):
    """The kernel matrix, beta and KKT violation of a fitted two-class SVC."""
    K = kernel(X, X, model.kernel, **kernel_parameters)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = beta_of(model, len(y))
    return K, beta, kkt_violation(K, signs, beta, np.full(len(y), model.C))


def fields_of(solution):
    """Parts of the model that the core trained, and the fields of the certificates by machine."""
    model, certificates = solution
    parts = {name: getattr(model, name) for name in ("support", "n_support", "dual_coef", "rho")}
    reasons = [_core.STOP_REASONS[reason] for reason in certificates["stop_reason"]]
    return {"model": model, **parts, **certificates, "stop_reason": reasons}
