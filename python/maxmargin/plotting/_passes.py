"""What perceptrons do in their passes over the examples."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import _input
from maxmargin._estimator.pipelines import unwrapped
from maxmargin._estimator.wording import counted
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.plotting._decision_regions import check_plane
from maxmargin.plotting._style import (
    BLUE,
    INK,
    colour_of,
    draw_samples,
    frame,
    legend_beside,
    mark_of,
    name_axes,
    new_axes,
    plane_of,
    points_like,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_mistakes", "plot_passes"]

_RESOLUTION = 200


def plot_mistakes(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the mistakes of every pass.

    Parameters
    ----------
    estimator : Perceptron or KernelPerceptron
        Fitted: `mistakes_per_pass_` is drawn. Of more than two classes, every class against the
        rest has a line. Or a fitted pipeline that ends in one, or a fitted search.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the estimator has no `mistakes_per_pass_`.
    ImportError
        If matplotlib is not installed.
    """
    estimator, _ = unwrapped(estimator)
    if not hasattr(estimator, "mistakes_per_pass_"):
        raise ValueError(f"estimator must be a fitted perceptron, got {estimator!r}")
    problems = estimator.mistakes_per_pass_
    ax = new_axes(ax)
    from matplotlib.ticker import MaxNLocator

    frame(ax, grid="y")
    for index, mistakes in enumerate(problems):
        passes = np.arange(1, len(mistakes) + 1)
        if len(problems) == 1 and len(passes) <= 60:
            ax.bar(passes, mistakes, color=BLUE, width=0.8)
        else:
            label = None if len(problems) == 1 else f"{estimator.classes_[index]} against the rest"
            mark = mark_of(index) if len(passes) <= 60 else None
            ax.plot(
                passes, mistakes, color=colour_of(index), marker=mark, markersize=4, label=label
            )
    if len(problems) > 1:
        ax.legend(fontsize="small", frameon=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(left=0.4)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("pass")
    ax.set_ylabel("mistakes")
    total = int(sum(mistakes.sum() for mistakes in problems))
    end = "" if estimator.converged_ else ", not converged"
    passes_made = counted(estimator.n_iter_, "pass", "passes")
    ax.set_title(f"{counted(total, 'mistake')} in {passes_made}{end}", fontsize="medium")
    return ax


def plot_passes(
    estimator: Any, X: Any, y: Any, *, n_lines: int = 6, ax: Axes | None = None
) -> Axes:
    """Draw the line f = 0 of a perceptron after the first passes, some between, and the last.

    The estimator is not changed: one with the same parameters is fitted again for every line, with
    `max_iter` passes, which gives what the first had after so many.

    Parameters
    ----------
    estimator : Perceptron or KernelPerceptron
        Fitted on `X` and `y`, of two classes. Where it shuffles, `random_state` must be None or a
        number.
        Or a fitted pipeline that ends in one, whose other steps stay as they are, or a fitted
        search.
    X : array-like of shape (n_samples, 2)
    y : array-like of shape (n_samples,)
    n_lines : int, default=6
        How many lines to draw at most, >= 1.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the estimator is not a fitted perceptron of two classes, its orders cannot be repeated,
        or `X` does not have two features.
    ImportError
        If matplotlib is not installed.
    """
    samples = check_plane(X)
    n_lines = _input.check_integer("n_lines", n_lines, at_least=1)
    estimator, before = unwrapped(estimator)
    if not hasattr(estimator, "mistakes_per_pass_") or len(estimator.classes_) != 2:
        raise ValueError(f"estimator must be a fitted perceptron of two classes, got {estimator!r}")
    seed = estimator.random_state
    if estimator.shuffle and not (seed is None or isinstance(seed, (int, np.integer))):
        raise ValueError(
            f"random_state must be None or a number for the passes to be repeated, got {seed!r}"
        )
    codes = _input.check_known_labels(y, len(samples), "The picture", estimator.classes_)
    transformed = before.transform(X)
    ax = new_axes(ax)
    from matplotlib import colormaps

    name_axes(ax, X)
    across, up, points = plane_of(samples, _RESOLUTION)
    points = before.transform(points_like(X, points))
    chosen = np.unique(np.geomspace(1, estimator.n_iter_, n_lines).round().astype(int))
    for index, n_passes in enumerate(chosen):
        is_last = index == len(chosen) - 1
        # From pale to dark; the last one in ink.
        colour = INK if is_last else colormaps["viridis_r"](0.12 + 0.75 * index / len(chosen))
        values = _after(estimator, transformed, y, int(n_passes)).decision_function(points)
        ax.contour(
            across, up, values.reshape(len(up), len(across)), [0.0], colors=[colour],
            linewidths=2.4 if is_last else 1.5, zorder=2,
        )  # fmt: skip
        label = f"after {counted(int(n_passes), 'pass', 'passes')}"
        ax.plot([], [], color=colour, linewidth=2.4 if is_last else 1.5, label=label)
    draw_samples(ax, samples, codes, [str(label) for label in estimator.classes_])
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    legend_beside(ax)
    return ax


def _after(estimator: Any, X: Any, y: Any, n_passes: int) -> Any:
    """Return the perceptron after so many passes."""
    params = {**estimator.get_params(deep=False), "max_iter": n_passes}
    if "verbose" in params:
        params["verbose"] = False
    again = type(estimator)(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        return again.fit(X, y)
