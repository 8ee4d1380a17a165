"""Decision regions of a machine in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.pipelines import Steps, unwrapped
from maxmargin._input.sparse import CsrMatrix, take_rows
from maxmargin.plotting._style import (
    INK,
    colour_of,
    draw_samples,
    legend_beside,
    name_axes,
    new_axes,
    pale,
    plane_of,
    points_like,
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

    Between two classes stands the line f = 0, and on either side, dashed, the margins f = -1 and
    f = +1; the band between them is paler. Of more classes, the regions are those of `predict`. A
    one-class machine has the line f = 0 between inside and outside.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or one-class machine with two features: `predict` is called, and
        `decision_function` where there is one line to draw. Or a fitted pipeline that ends in one,
        or a fitted search.
    X : array-like of shape (n_samples, 2)
        Samples to draw; the picture reaches a little beyond them. The support vectors of a pipeline
        are found among them, and ringed only where they are what it was fitted on.
    y : array-like of shape (n_samples,), default=None
        Their labels. None: those that the estimator predicts.
    margins : bool, default=None
        Whether to draw the margins of two classes. None: where the estimator (of a pipeline, the
        last step) has a `certificate_`, since f of a perceptron has no scale.
    resolution : int, default=300
        Points along each side of the grid on which the estimator is evaluated, >= 2.
    legend : bool, default=True
        Whether there is a legend: at the right of the axes if the figure has a layout that makes
        room for it (``layout="constrained"``, as that of a new figure), else inside.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If a pipeline does not end in an estimator that predicts.
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
    resolution = _input.check_integer("resolution", resolution, at_least=2, at_most=10_000)
    machine, before = unwrapped(estimator)
    classes, names = _classes_of(machine, estimator, X)
    labels = estimator.predict(X) if y is None else y
    codes = _input.check_known_labels(labels, len(samples), "The picture", classes)
    if margins is None:
        margins = hasattr(machine, "certificate_")
    ax = new_axes(ax)
    name_axes(ax, X)
    across, up, points = plane_of(samples, resolution)
    points = points_like(X, points)
    if len(classes) == 2:
        values = estimator.decision_function(points).reshape(resolution, resolution)
        is_one_class = not hasattr(machine, "classes_")
        _draw_sides(ax, across, up, values, margins and not is_one_class)
    else:
        predicted = np.searchsorted(classes, estimator.predict(points))
        _draw_regions(ax, across, up, predicted.reshape(resolution, resolution), len(classes))
    draw_samples(ax, samples, codes, names)
    _ring_support_vectors(
        ax, _support_vectors(machine, before, X, samples), share_of_marks(len(samples))
    )
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    if legend:
        legend_beside(ax)
    return ax


def check_plane(X: Any) -> NDArray[Any]:
    """Return the samples as an array of two columns."""
    matrix = _input.check_matrix(X, "The picture")
    if isinstance(matrix, CsrMatrix):
        raise ValueError("X must be dense to be drawn")
    if matrix.shape[1] != 2:
        raise ValueError(f"X must have 2 features to be drawn, got {matrix.shape[1]}")
    return matrix


def _classes_of(machine: Any, estimator: Any, X: Any) -> tuple[NDArray[Any], list[str]]:
    """Return the labels that the estimator gives, by the machine in it, and their names."""
    if hasattr(machine, "classes_"):
        return machine.classes_, [str(label) for label in machine.classes_]
    if not hasattr(machine, "decision_function"):
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


def _support_vectors(
    machine: Any, before: Steps, X: Any, samples: NDArray[Any]
) -> NDArray[Any] | None:
    """Return the support vectors in the plane, or None where there are none or they are not known.

    Those of a pipeline are transformed. In the plane they are the samples at `support_`, if that is
    what these become.
    """
    vectors = getattr(machine, "support_vectors_", None)
    if vectors is None or vectors.shape[0] == 0:
        return None
    if not before.named:
        return vectors if vectors.shape[1] == 2 else None
    support = getattr(machine, "support_", None)
    if support is None or support.max() >= len(samples) or not before.keep_samples():
        return None
    given = take_rows(_input.check_matrix(before.transform(X), "The picture"), support)
    fitted = _input.check_matrix(vectors, "The picture")
    a, b = (m.to_dense() if isinstance(m, CsrMatrix) else m for m in (given, fitted))
    # `fit_transform` and `transform` may round otherwise.
    is_same = a.shape == b.shape and np.allclose(a, b, rtol=0.0, atol=1e-4 * np.abs(b).max())
    return samples[support] if is_same else None


def _ring_support_vectors(ax: Axes, vectors: NDArray[Any] | None, share: float) -> None:
    if vectors is None:
        return
    ax.scatter(
        vectors[:, 0], vectors[:, 1], s=75 * share, facecolors="none", edgecolors=INK,
        linewidths=0.9 * share**0.5, zorder=4, label=f"support vectors ({len(vectors)})",
    )  # fmt: skip
