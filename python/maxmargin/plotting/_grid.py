"""The score of a search over C and gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin.plotting._style import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_grid"]

# Each contour is half as far from the best score as the one before it.
_N_HALVINGS = 8
_MOST_DIGITS = 9


def plot_grid(
    C: Any,
    gamma: Any,
    scores: Any,
    *,
    label: str = "score",
    less_is_better: bool = False,
    best: tuple[float, float] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contours of a score over C and gamma, with the best point marked.

    Parameters
    ----------
    C : array-like of shape (n_C,)
        Values > 0, ascending; at least two.
    gamma : array-like of shape (n_gamma,)
        Values > 0, ascending; at least two.
    scores : array-like of shape (n_C, n_gamma)
        The score of every pair; NaN where it is not known.
    label : str, default='score'
        What the score is, for the colour bar.
    less_is_better : bool, default=False
        Whether the best score is the least, as of errors.
    best : tuple of float, default=None
        The C and gamma to mark, of the values above. None: the first with the best score.
    title : str, default=None
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the shapes do not fit together, or values are not as described.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from maxmargin.plotting import plot_grid
    >>> ax = plot_grid([1.0, 10.0], [0.1, 1.0], [[0.90, 0.80], [0.95, 0.85]])  # doctest: +SKIP
    """
    require_matplotlib()
    from matplotlib.colors import BoundaryNorm
    from matplotlib.ticker import MaxNLocator

    C, gamma, values = _input.check_scores_of_grid(C, gamma, scores)
    x, y = np.log2(C), np.log2(gamma)
    ax = new_axes(ax)
    masked = np.ma.masked_invalid(values.T)
    colours = "viridis_r" if less_is_better else "viridis"
    levels = _levels(values, less_is_better)
    beyond: Any = "max" if less_is_better else "min"
    norm = BoundaryNorm(levels, 256, extend=beyond)
    filled = ax.contourf(x, y, masked, levels, cmap=colours, norm=norm, extend=beyond)
    ax.contour(filled, colors="white", linewidths=0.6, alpha=0.7)
    _draw_points(ax, x, y, values, _place_of_best(x, y, values, less_is_better, best))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("log2(C)")
    ax.set_ylabel("log2(gamma)")
    ax.set_title(title or "")
    ax.figure.colorbar(filled, ax=ax, label=label, format=f"%.{_digits(levels)}g")
    return ax


def _draw_points(
    ax: Any,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    values: NDArray[np.float64],
    best: tuple[int, int],
) -> None:
    rows, columns = np.nonzero(np.isfinite(values))
    ax.plot(x[rows], y[columns], ".", color="black", markersize=3, alpha=0.6, clip_on=False)
    i, j = best
    text = f"C = {2.0 ** x[i]:.4g}, gamma = {2.0 ** y[j]:.4g}: {values[i, j]:.4g}"
    style = {"color": "crimson", "markeredgecolor": "white", "markersize": 16, "zorder": 3}
    ax.plot(x[i], y[j], "*", label=text, clip_on=False, **style)
    # Below the axes, where it hides no contour.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False, handletextpad=0.2)


def _levels(values: NDArray[np.float64], less_is_better: bool) -> NDArray[np.float64]:
    """Return the ascending levels of the contours, which are dense near the best score."""
    worst, best = np.nanmin(values), np.nanmax(values)
    if less_is_better:
        worst, best = best, worst
    if worst == best:
        return np.array([best - 0.5, best + 0.5])
    shares = np.append(0.5 ** np.arange(1, _N_HALVINGS + 1), 0.0)
    return np.unique(best + (worst - best) * shares)


def _digits(levels: NDArray[np.float64]) -> int:
    """Return so many significant digits that no two levels look the same."""
    for digits in range(3, _MOST_DIGITS):
        if len({f"{level:.{digits}g}" for level in levels}) == len(levels):
            return digits
    return _MOST_DIGITS


def _place_of_best(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    values: NDArray[np.float64],
    less_is_better: bool,
    best: tuple[float, float] | None,
) -> tuple[int, int]:
    """Return the row and the column of the point to mark."""
    if best is None:
        place = np.nanargmin(values) if less_is_better else np.nanargmax(values)
        row, column = divmod(int(place), len(y))
        return row, column
    row, column = (int(np.abs(a - np.log2(b)).argmin()) for a, b in zip((x, y), best, strict=True))
    return row, column
