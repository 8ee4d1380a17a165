"""What all pictures share: colours, marks, axes, and the samples themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, distinct for the colour-blind; every series also has its own shape.
BLUE, ORANGE = "#0072b2", "#d55e00"
COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#555555")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
INK, GRID = "#333333", "#d9d9d9"


def require_matplotlib() -> None:
    """Raise ImportError with a remedy if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'maxmargin[plot]'") from error


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return `ax`, or the axes of a new figure of that many inches."""
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def colour_of(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def mark_of(index: int) -> str:
    return MARKS[(index + index // len(COLOURS)) % len(MARKS)]


def pale(colour: str, share: float) -> tuple[float, float, float]:
    """Return the colour mixed with white: `share` of it, between 0 and 1."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - share * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def frame(ax: Axes, grid: str | None = None) -> None:
    """Leave the two spines that carry ticks; lines of a grid on an axis lie below all else."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.set_axisbelow(True)
        ax.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type,unused-ignore]


def legend_beside(ax: Axes) -> None:
    """Add a legend at the right of the axes, where it hides no sample.

    Only a layout engine makes room for it there; in a figure without one it lies inside.
    """
    if ax.figure.get_layout_engine() is None:
        ax.legend(loc="best", framealpha=0.9, fontsize="small")
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")


def share_of_marks(n: int) -> float:
    """Return how large the marks of so many samples are, so that they leave room between them."""
    return min(1.0, max(0.15, 200 / n))


def draw_samples(ax: Axes, X: NDArray[Any], codes: NDArray[np.int64], names: list[str]) -> None:
    """Draw the samples of every class in its colour and shape, with an entry in the legend."""
    share = share_of_marks(len(X))
    for code, name in enumerate(names):
        mine = X[codes == code]
        ax.scatter(
            mine[:, 0], mine[:, 1], s=26 * share, color=colour_of(code), marker=mark_of(code),
            edgecolors="white", linewidths=0.6 * share, zorder=3, label=name,
        )  # fmt: skip


def points_like(X: Any, points: NDArray[Any]) -> Any:
    """Return the points as a data frame where `X` is one, whose names estimators may ask for."""
    return type(X)(points, columns=X.columns) if hasattr(X, "iloc") else points


def name_axes(ax: Axes, X: Any) -> None:
    """Name the axes by the columns of a data frame."""
    if hasattr(X, "iloc"):
        ax.set_xlabel(str(X.columns[0]))
        ax.set_ylabel(str(X.columns[1]))


def plane_of(X: NDArray[Any], resolution: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return both coordinates of a grid around the samples, and its points as rows."""
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    margin = np.where(high > low, 0.08 * (high - low), 1.0)
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin, strict=True))
    columns, rows = np.meshgrid(x, y)
    return x, y, np.column_stack([columns.ravel(), rows.ravel()]).astype(X.dtype)
