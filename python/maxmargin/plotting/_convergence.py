"""How a fit converges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import _validation
from maxmargin._certificate import Certificate
from maxmargin.plotting._style import BLUE, INK, ORANGE, frame, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_convergence"]


def plot_convergence(
    reports: Sequence[Mapping[str, Any]] = (),
    certificates: Sequence[Certificate] = (),
    *,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the KKT violation by iteration, and the duality gap where certificates tell it.

    Parameters
    ----------
    reports : sequence of dict, default=()
        What a `callback` was given: with ``reports = []``, fit with ``callback=reports.append``.
    certificates : sequence of Certificate, default=()
        Those of fits of one problem that were stopped earlier and later, as by `max_iter`, in any
        order. Their violation and their relative gap are drawn.
    tol : float, default=None
        Where given, a line at the tolerance on the violation, > 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes
        With a logarithmic axis for the violation, and for the iterations where they span more than
        two powers of ten. Values that are not above 0 are left out.

    Raises
    ------
    ValueError
        If there is neither a report nor a certificate.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.plotting import plot_convergence
    >>> reports = []
    >>> model = SVC(callback=reports.append).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> ax = plot_convergence(reports, [model.certificate_], tol=model.tol)  # doctest: +SKIP
    """
    if tol is not None:
        tol = _validation.check_real("tol", tol, above=0)
    ended = sorted(certificates, key=lambda certificate: certificate.n_iter)
    states = [(report["n_iter"], report["kkt_violation"]) for report in reports]
    states += [(certificate.n_iter, certificate.kkt_violation) for certificate in ended]
    if not states:
        raise ValueError("there must be a report or a certificate to draw")
    ax = new_axes(ax)
    frame(ax, grid="both")
    iterations, violation = np.array(sorted(set(states)), dtype=np.float64).T
    is_shown = violation > 0
    ax.plot(
        iterations[is_shown], violation[is_shown], "o-", color=BLUE, markersize=4,
        label="KKT violation",
    )  # fmt: skip
    gaps = [(mine.n_iter, mine.relative_gap) for mine in ended if mine.relative_gap > 0]
    if gaps:
        ax.plot(*zip(*gaps, strict=True), "s-", color=ORANGE, markersize=4, label="relative gap")
    if tol is not None:
        ax.axhline(tol, color=INK, linestyle="dashed", linewidth=1.1, label=f"tol = {tol:g}")
    ax.set_yscale("log")
    if iterations[0] > 0 and iterations[-1] > 100 * iterations[0]:
        ax.set_xscale("log")
    ax.set_xlabel("iterations")
    ax.legend(frameon=False)
    return ax
