"""Decision regions of a machine in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._sparse import CsrMatrix
from maxmargin.plotting._style import (
    INK,
    colour_of,
    draw_samples,
    legend_beside,
    new_axes,
    pale,
    plane_of,
    share_of_marks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_decision_regions"]

# Shares of a class's colour in its region, and in the part of it between the margins.
_REGION, _BAND = 0.30, 0.12


def plot_decision_regions(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    margins: bool | None = None,
    resolution: int = 300,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the regions of the classes, the margins, and the samples, support vectors ringed.

    Between two classes stands the line f = 0, and beside it, dashed, the margins f = -1 and
    f = +1; the band between them is paler. Of more classes, the regions are those of `predict`. A
    one-class machine has the line f = 0 between inside and outside.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or one-class machine with two features: `predict` is called, and
        `decision_function` where there is one line to draw.
    X : array-like of shape (n_samples, 2)
        Samples to draw; the picture reaches a little beyond them.
    y : array-like of shape (n_samples,), default=None
        Their labels. None: those that the estimator predicts.
    margins : bool, default=None
        Whether to draw the margins of two classes. None: where the estimator has a
        `certificate_`, since f of a perceptron has no scale.
    resolution : int, default=300
        Points along each side of the grid on which the estimator is evaluated, >= 2.
    legend : bool, default=True
        Whether there is a legend: beside the axes if the figure has a layout that makes room for it
        (``layout="constrained"``, as that of a new figure), else inside.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `X` does not have two features, is sparse, or does not fit `y`; if the estimator is a
        regressor.
    NotFittedError
        If the estimator is not fitted.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.plotting import plot_decision_regions
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> ax = plot_decision_regions(SVC(kernel="linear").fit(X, y), X, y)  # doctest: +SKIP
    """
    samples = check_plane(X)
    resolution = _validation.check_integer("resolution", resolution, at_least=2, at_most=10_000)
    classes, names = _classes_of(estimator, X)
    labels = estimator.predict(X) if y is None else y
    codes = _validation.check_known_labels(labels, len(samples), "The picture", classes)
    if margins is None:
        margins = hasattr(estimator, "certificate_")
    ax = new_axes(ax)
    across, up, points = plane_of(samples, resolution)
    if hasattr(X, "iloc"):  # a data frame of pandas, whose names the estimator may ask for
        points = type(X)(points, columns=X.columns)
        ax.set_xlabel(str(X.columns[0]))
        ax.set_ylabel(str(X.columns[1]))
    if len(classes) == 2:
        values = estimator.decision_function(points).reshape(resolution, resolution)
        is_one_class = not hasattr(estimator, "classes_")
        _draw_sides(ax, across, up, values, margins and not is_one_class)
    else:
        predicted = np.searchsorted(classes, estimator.predict(points))
        _draw_regions(ax, across, up, predicted.reshape(resolution, resolution), len(classes))
    draw_samples(ax, samples, codes, names)
    _ring_support_vectors(ax, estimator, share_of_marks(len(samples)))
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    if legend:
        legend_beside(ax)
    return ax


def check_plane(X: Any) -> NDArray[Any]:
    """Return the samples as an array of two columns."""
    matrix = _validation.check_matrix(X, "The picture")
    if isinstance(matrix, CsrMatrix):
        raise ValueError("X must be dense to be drawn")
    if matrix.shape[1] != 2:
        raise ValueError(f"X must have 2 features to be drawn, got {matrix.shape[1]}")
    return matrix


def _classes_of(estimator: Any, X: Any) -> tuple[NDArray[Any], list[str]]:
    """Return the labels that the estimator gives, ascending, and their names."""
    if hasattr(estimator, "classes_"):
        return estimator.classes_, [str(label) for label in estimator.classes_]
    if not hasattr(estimator, "decision_function"):
        raise ValueError(
            f"estimator must be a fitted classifier or one-class machine, got {estimator!r}"
        )
    estimator.decision_function(X)  # says so where the estimator is not fitted
    return np.array([-1, 1]), ["outside", "inside"]


def _draw_sides(
    ax: Axes, across: NDArray[Any], up: NDArray[Any], values: NDArray[Any], margins: bool
) -> None:
    """Draw the sides of f = 0, and with `margins` the lines f = -1 and f = +1 around the band."""
    if margins:
        levels, shares = [-1.0, 0.0, 1.0], [_REGION, _BAND, _BAND, _REGION]
        styles, widths = ["dashed", "solid", "dashed"], [1.1, 1.8, 1.1]
    else:
        levels, shares, styles, widths = [0.0], [_REGION, _REGION], ["solid"], [1.8]
    sides = [0] * (len(shares) // 2) + [1] * (len(shares) // 2)
    colours = [pale(colour_of(side), share) for side, share in zip(sides, shares, strict=True)]
    ax.contourf(across, up, values, [-np.inf, *levels, np.inf], colors=colours, zorder=0)
    ax.contour(
        across, up, values, levels, colors=INK, linestyles=styles, linewidths=widths, zorder=2
    )


def _draw_regions(
    ax: Axes, across: NDArray[Any], up: NDArray[Any], codes: NDArray[np.int64], n_classes: int
) -> None:
    """Draw one region for each class, with a line around it."""
    for code in range(n_classes):
        is_mine = (codes == code).astype(np.float64)
        colour = pale(colour_of(code), _REGION)
        if is_mine.any():
            ax.contourf(across, up, is_mine, [0.5, 1.5], colors=[colour], zorder=0)
        if is_mine.any() and not is_mine.all():
            ax.contour(across, up, is_mine, [0.5], colors=INK, linewidths=0.8, zorder=2)


def _ring_support_vectors(ax: Axes, estimator: Any, share: float) -> None:
    vectors = getattr(estimator, "support_vectors_", None)
    if vectors is None or vectors.shape[1] != 2 or len(vectors) == 0:
        return
    ax.scatter(
        vectors[:, 0], vectors[:, 1], s=75 * share, facecolors="none", edgecolors=INK,
        linewidths=0.9 * share**0.5, zorder=4, label=f"support vectors ({len(vectors)})",
    )  # fmt: skip
