"""The kernel matrix of samples, class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import _input
from maxmargin.plotting._style import INK, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_kernel_matrix"]


def plot_kernel_matrix(kernel: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the kernel values of all samples with all, ordered by class.

    A kernel that suits the labels shows as bright blocks on the diagonal: samples are alike within
    a class and unlike between classes.

    Parameters
    ----------
    kernel : Kernel, callable or None
        One of `maxmargin.kernels`, or a function of two matrices of samples. None: `X` holds the
        values.
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) without a kernel
    y : array-like of shape (n_samples,)
        Labels, of two classes or more.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes
        With a colour bar.

    Raises
    ------
    TypeError
        If `kernel` is nothing that can be called.
    ValueError
        If the values do not form a square matrix of finite numbers, or `y` does not fit it.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from maxmargin import kernels
    >>> from maxmargin.plotting import plot_kernel_matrix
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> ax = plot_kernel_matrix(kernels.RBF(gamma=0.5), X, y)  # doctest: +SKIP
    """
    if kernel is not None and not callable(kernel):
        raise TypeError(
            "kernel must be one of maxmargin.kernels, as RBF(gamma=0.5), a function of two "
            f"matrices or None, got {kernel!r}"
        )
    values = np.asarray(X if kernel is None else kernel(X, X), dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not np.isfinite(values).all():
        raise ValueError(
            f"the kernel values must form a square matrix of finite numbers, got {values.shape}"
        )
    codes, classes = _input.check_labels(y, len(values), "The picture")
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(classes))
    ends = np.cumsum(counts)
    ax = new_axes(ax, 6.0, 5.0)
    # Around zero where there are values of both signs, so that the middle colour means zero.
    reach = np.abs(values).max()
    limits: dict[str, Any] = {"cmap": "viridis"}
    if values.min() < 0 < values.max():
        limits = {"cmap": "PuOr_r", "vmin": -reach, "vmax": reach}
    image = ax.imshow(values[np.ix_(order, order)], interpolation="nearest", **limits)
    for end in ends[:-1] - 0.5:
        ax.axhline(end, color="white", linewidth=1.0)
        ax.axvline(end, color="white", linewidth=1.0)
    names = [str(label) for label in classes]
    centres = ends - counts / 2 - 0.5
    ax.set_xticks(centres, names)
    ax.set_yticks(centres, names)
    ax.tick_params(length=0, colors=INK)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("class")
    ax.set_ylabel("class")
    ax.figure.colorbar(image, ax=ax, label="K(x, z)")
    return ax
