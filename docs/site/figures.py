"""The figures of the documentation, made by the library: `figures.py FOLDER` writes them as SVG.

The same library gives the same bytes, but for `reports`, which come by the clock. The site is built
with them; one alone is kept, for who reads the pages where nothing is built.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, ConvergenceWarning, OneClassSVM, Perceptron, kernels, plotting
from maxmargin.datasets import load_digits

# Under the first figure of a page; the site, which has them, leaves it out.
NOTE = (
    "*In a clone, `pip install '.[docs]' && python docs/site/figures.py docs/figures` draws the "
    "figures of all pages.*"
)
KEPT = "first-picture"
SETTINGS = {"svg.hashsalt": "maxmargin", "font.size": 11}
COORDINATES = re.compile(r' (?:d|x|y)="[^"]*"')
FIGURES: dict[str, Callable[[], Figure]] = {}


def figure(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    """Register a function that draws the figure of its name."""
    FIGURES[draw.__name__.replace("_", "-")] = draw
    return draw


def names() -> list[str]:
    """The files, as pages refer to them."""
    return [f"figures/{name}.svg" for name in FIGURES]


def svg(name: str) -> str:
    """The text of a figure."""
    with matplotlib.rc_context(SETTINGS):
        drawn = FIGURES[name]()
        text = io.StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None})
    return COORDINATES.sub(_rounded, text.getvalue())


def _rounded(coordinates: re.Match[str]) -> str:
    """To hundredths of a point, which nobody sees."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", coordinates[0])


def axes(width: float = 6.0, height: float = 4.3, n_columns: int = 1) -> tuple[Figure, Any]:
    drawn = Figure(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(1, n_columns, sharey=n_columns > 1)


# --- data ---------------------------------------------------------------------------------------


def blobs(n: int, distance: float, seed: int = 0) -> tuple[Any, Any]:
    """Two clouds of n samples each, whose centres are so far apart."""
    rng = np.random.default_rng(seed)
    shift = np.array([distance, distance / 2]) / 2
    X = np.vstack([rng.normal(size=(n, 2)) * 0.8 - shift, rng.normal(size=(n, 2)) * 0.8 + shift])
    return X, np.repeat([-1, 1], n)


def separable() -> tuple[Any, Any]:
    """Two classes with a line between them, in a random order."""
    X, y = blobs(40, 3.4, seed=5)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] + 2.0, y[order]


def moons(n: int, noise: float, seed: int = 0) -> tuple[Any, Any]:
    """Two half circles that reach into each other."""
    rng = np.random.default_rng(seed)
    t = np.pi * rng.random((2, n))
    upper = np.column_stack([np.cos(t[0]), np.sin(t[0])])
    lower = np.column_stack([1 - np.cos(t[1]), 0.5 - np.sin(t[1])])
    return np.vstack([upper, lower]) + noise * rng.normal(size=(2 * n, 2)), np.repeat([-1, 1], n)


def rings(n: int, seed: int = 0) -> tuple[Any, Any]:
    """A disc and a ring around it."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.random(2 * n)
    radius = np.repeat([0.45, 1.25], n) + 0.16 * rng.normal(size=2 * n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.repeat([1, -1], n)


# --- the theory ---------------------------------------------------------------------------------


@figure
def perceptron_passes() -> Figure:
    X, y = separable()
    drawn, ax = axes()
    model = Perceptron(max_iter=1000).fit(X, y)
    plotting.plot_passes(model, X, y, ax=ax)
    return drawn


@figure
def perceptron_mistakes() -> Figure:
    X, y = separable()
    drawn, ax = axes(6.0, 3.0)
    plotting.plot_mistakes(Perceptron(max_iter=1000).fit(X, y), ax=ax)
    return drawn


@figure
def hard_margin() -> Figure:
    X, y = separable()
    drawn, ax = axes()
    plotting.plot_decision_regions(SVC(kernel="linear", C=np.inf).fit(X, y), X, y, ax=ax)
    return drawn


@figure
def soft_margins() -> Figure:
    X, y = blobs(60, 2.0, seed=1)
    drawn, columns = axes(10.5, 3.9, 3)
    for ax, C in zip(columns, (0.01, 0.1, 100.0), strict=True):
        model = SVC(kernel="linear", C=C).fit(X, y)
        plotting.plot_decision_regions(model, X, y, ax=ax, legend=False)
        ax.set_title(f"C = {C:g}: {len(model.support_)} support vectors", fontsize="medium")
    return drawn


@figure
def losses() -> Figure:
    margin = np.linspace(-2.0, 2.5, 400)
    curves = {
        "mistake": (np.where(margin <= 0, 1.0, 0.0), "#333333", "dotted"),
        "perceptron": (np.maximum(0, -margin), "#009e73", "dashdot"),
        "hinge": (np.maximum(0, 1 - margin), "#0072b2", "solid"),
        "squared hinge": (np.maximum(0, 1 - margin) ** 2, "#d55e00", "dashed"),
    }
    drawn, ax = axes(6.0, 3.4)
    for name, (values, colour, style) in curves.items():
        ax.plot(margin, values, color=colour, linestyle=style, linewidth=2, label=name)
    ax.set_ylim(-0.1, 4.0)
    ax.set_xlabel("functional margin y f(x)")
    ax.set_ylabel("loss")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return drawn


@figure
def kernel_machines() -> Figure:
    X, y = rings(70)
    machines = {
        "linear": SVC(kernel="linear"),
        "polynomial, degree 2": SVC(kernel=kernels.Polynomial(degree=2, coef0=1.0)),
        "RBF": SVC(gamma=1.0),
    }
    drawn, columns = axes(10.5, 3.3, 3)
    for ax, (name, machine) in zip(columns, machines.items(), strict=True):
        plotting.plot_decision_regions(machine.fit(X, y), X, y, ax=ax, legend=False)
        ax.set_title(name, fontsize="medium")
        ax.set_aspect("equal")
    return drawn


@figure
def gamma() -> Figure:
    X, y = moons(70, 0.22)
    drawn, columns = axes(10.5, 3.5, 3)
    for ax, value in zip(columns, (0.1, 2.0, 100.0), strict=True):
        model = SVC(C=10.0, gamma=value).fit(X, y)
        plotting.plot_decision_regions(model, X, y, ax=ax, legend=False)
        ax.set_title(f"gamma = {value:g}: {len(model.support_)} support vectors", fontsize="medium")
    return drawn


@figure
def kernel_matrix() -> Figure:
    digits = load_digits()
    drawn, ax = axes(5.6, 4.6)
    X, y = digits.X_train[:300], digits.y_train[:300]
    plotting.plot_kernel_matrix(kernels.RBF(gamma=0.1), X, y, ax=ax)
    return drawn


@figure
def many_classes() -> Figure:
    rng = np.random.default_rng(2)
    centres = np.array([[0.0, 0.0], [2.4, 0.6], [0.8, 2.4], [-1.8, 1.9]])
    X = np.vstack([centre + 0.75 * rng.normal(size=(40, 2)) for centre in centres])
    y = np.repeat(["a", "b", "c", "d"], 40)
    drawn, ax = axes()
    plotting.plot_decision_regions(SVC(C=1.0, gamma=0.5).fit(X, y), X, y, ax=ax)
    return drawn


@figure
def regression() -> Figure:
    rng = np.random.default_rng(0)
    x = np.sort(6 * rng.random(80))[:, None]
    z = np.sin(x[:, 0]) + 0.15 * rng.normal(size=80)
    model = SVR(C=10.0, epsilon=0.2).fit(x, z)
    line = np.linspace(0, 6, 300)[:, None]
    value = model.predict(line)
    drawn, ax = axes(6.0, 3.6)
    ax.fill_between(
        line[:, 0], value - 0.2, value + 0.2, color="#d6e6f2", label="tube, epsilon = 0.2"
    )
    ax.plot(line[:, 0], value, color="#0072b2", linewidth=2, label="f(x)")
    ax.scatter(x[:, 0], z, s=18, color="#333333", zorder=3, label="samples")
    ax.scatter(
        x[model.support_, 0], z[model.support_], s=75, facecolors="none", edgecolors="#d55e00",
        zorder=4, label=f"support vectors ({len(model.support_)})",
    )  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return drawn


@figure
def one_class() -> Figure:
    X = moons(90, 0.12)[0]
    drawn, ax = axes(6.0, 3.8)
    plotting.plot_decision_regions(OneClassSVM(nu=0.1, gamma=2.0).fit(X), X, ax=ax)
    return drawn


# --- the guide ----------------------------------------------------------------------------------


@figure
def first_picture() -> Figure:
    X, y = moons(100, 0.2)
    drawn, ax = axes()
    model = SVC(C=10.0, gamma=2.0).fit(X, y)
    plotting.plot_decision_regions(model, X, y, resolution=100, ax=ax)
    return drawn


@figure
def scaling() -> Figure:
    X, y = moons(70, 0.2)
    X, y = X * [0.1, 800.0] + [1.7, 100_000.0], np.where(y > 0, "b", "a")
    machines = {
        "SVC()": SVC(),
        "make_pipeline(StandardScaler(), SVC())": make_pipeline(StandardScaler(), SVC()),
    }
    drawn, columns = axes(10.5, 3.9, 2)
    for ax, (name, machine) in zip(columns, machines.items(), strict=True):
        is_last = ax is columns[-1]
        plotting.plot_decision_regions(machine.fit(X, y), X, y, ax=ax, legend=is_last)
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("length (m)")
    columns[0].set_ylabel("pressure (Pa)")
    return drawn


def noisy_quadrants(n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(X.prod(axis=1) + noise * rng.normal(size=n) > 0, 1, -1)


@figure
def reports() -> Figure:
    reports: list[dict[str, float]] = []
    model = SVC(C=1000.0, gamma=1.0, callback=reports.append).fit(*noisy_quadrants(5000, 0.5))
    drawn, ax = axes(6.0, 3.8)
    plotting.plot_convergence(reports, tol=model.tol, ax=ax)
    return drawn


@figure
def convergence() -> Figure:
    X, y = noisy_quadrants(500, 0.3)
    certificates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        for max_iter in [*np.unique(np.geomspace(50, 2000, 20).astype(int)).tolist(), -1]:
            model = SVC(C=10.0, gamma=0.5, max_iter=max_iter, n_jobs=1).fit(X, y)
            certificates.append(model.certificate_)
    drawn, ax = axes(6.0, 3.8)
    plotting.plot_convergence(certificates=certificates, tol=model.tol, ax=ax)
    return drawn


@figure
def grid() -> Figure:
    (X, y), test = moons(100, 0.3, seed=5), moons(1000, 0.3, seed=1)
    C, gamma = 2.0 ** np.arange(-5, 11), 2.0 ** np.arange(-7, 6)
    scores = [[SVC(C=c, gamma=g, n_jobs=1).fit(X, y).score(*test) for g in gamma] for c in C]
    drawn, ax = axes(6.4, 4.6)
    plotting.plot_grid(C, gamma, scores, label="accuracy on test data", ax=ax)
    return drawn


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        (folder / f"{name}.svg").write_text(svg(name), encoding="utf-8")
