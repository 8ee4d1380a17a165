"""Charts of measured times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.plotting._style import colour_of, frame, mark_of, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_benchmarks"]


def plot_benchmarks(
    seconds: Mapping[str, Mapping[str, float]],
    *,
    label: str = "seconds to train",
    ax: Axes | None = None,
) -> Axes:
    """Draw measured times as dots on a logarithmic axis, a row for each problem.

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        By library, which are the series, and by problem, which are the rows; times > 0. A problem
        that a library lacks has no dot.
    label : str, default='seconds to train'
        What the times are.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes
        With the first problem at the top.

    Raises
    ------
    ValueError
        If there is no time, or one is not a number > 0.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from maxmargin.plotting import plot_benchmarks
    >>> seconds = {"one": {"a9a": 0.35, "w8a": 3.1}, "another": {"a9a": 17.4, "w8a": 185.0}}
    >>> ax = plot_benchmarks(seconds)  # doctest: +SKIP
    """
    problems = list(dict.fromkeys(problem for times in seconds.values() for problem in times))
    if not problems:
        raise ValueError("seconds must hold a time")
    for library, times in seconds.items():
        for problem, time in times.items():
            if not (np.isfinite(time) and time > 0):
                raise ValueError(f"seconds[{library!r}][{problem!r}] must be > 0, got {time!r}")
    ax = new_axes(ax, 7.4, 1.5 + 0.42 * len(problems))
    frame(ax, grid="x")
    for row in range(0, len(problems), 2):
        ax.axhspan(row - 0.5, row + 0.5, color="#f4f4f4", zorder=0)
    # The dots of a row lie one below the other, so that equal times do not hide each other.
    lanes = np.linspace(-0.3, 0.3, len(seconds)) if len(seconds) > 1 else np.zeros(1)
    for index, (library, times) in enumerate(seconds.items()):
        rows = [problems.index(problem) + lanes[index] for problem in times]
        ax.plot(
            list(times.values()), rows, linestyle="none", marker=mark_of(index), markersize=6.5,
            color=colour_of(index), markeredgecolor="white", markeredgewidth=0.5, label=library,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(problems)), problems)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(problems) - 0.5, -0.5)
    ax.set_xlabel(label)
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize="small",
        handletextpad=0.1, columnspacing=1.2,
    )  # fmt: skip
    return ax
