"""The solver itself: problems whose whole kernel matrix is small, on one thread.

With 2,000 rows and 8 features kernel values cost next to nothing, so that seconds are those of
selection, steps and gradient updates.
"""

import numpy as np
import pytest

import samples
from maxmargin import _core


def solve(benchmark, figures, quick, *, C, tol, shrinking=True, cache_bytes=1 << 28):
    X, y = samples.two_clouds(200 if quick else 2_000, 8)
    upper = np.full(len(y), C)
    kernel = _core.KernelParams("rbf", gamma=1 / 8)

    options = _core.TrainingOptions(
        tol=tol, cache_bytes=cache_bytes, shrinking=shrinking, n_threads=1
    )

    def call():
        return _core.svc_fit(X, y, 2, upper, kernel, options)

    model, of_machines = benchmark.pedantic(call, rounds=5, warmup_rounds=1)
    fit = {name: values[0] for name, values in of_machines.items()}
    assert _core.STOP_REASONS[fit["stop_reason"]] == "converged"
    n_iter = fit["n_iter"]
    figures(
        lambda seconds: {
            "n_iter": n_iter,
            "iterations_per_ms": n_iter / seconds / 1e3,
            "n_support": len(model.support),
            "kernel_rows": fit["kernel_rows"],
            "kkt_violation": fit["kkt_violation"],
        }
    )


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_solver(benchmark, figures, quick, C, tol):
    solve(benchmark, figures, quick, C=C, tol=tol)


def test_without_shrinking(benchmark, figures, quick):
    solve(benchmark, figures, quick, C=100.0, tol=1e-3, shrinking=False)


def test_two_rows_of_cache(benchmark, figures, quick):
    solve(benchmark, figures, quick, C=1.0, tol=1e-3, cache_bytes=1)
