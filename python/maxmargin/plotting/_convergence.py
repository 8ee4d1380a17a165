"""How a fit converges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxmargin import _input
from maxmargin._estimator.certificate import Certificate, LinearCertificate
from maxmargin.plotting._style import BLUE, INK, ORANGE, frame, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_convergence"]


def plot_convergence(
    reports: Sequence[Mapping[str, Any]] = (),
    certificates: Sequence[Certificate | LinearCertificate] = (),
    *,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the KKT violation and the relative duality gap by iteration, where they are known.

    Parameters
    ----------
    reports : sequence of dict, default=()
        What a `callback` was given: with ``reports = []``, fit with ``callback=reports.append``.
        They hold the violation, those of linear machines the gap.
    certificates : sequence of Certificate or LinearCertificate, default=()
        Those of fits of one problem that were stopped earlier and later, as by `max_iter`, in any
        order. They hold the gap, those of kernel machines the violation as well.
    tol : float, default=None
        Where given, a line at the tolerance, > 0: on the violation, of linear machines on the gap.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None: on a new figure of pyplot's.

    Returns
    -------
    matplotlib.axes.Axes
        With a logarithmic axis for the values, and for the iterations where they span more than two
        powers of ten. Values and iterations that are not above 0 are left out.

    Raises
    ------
    ValueError
        If nothing is left to draw.
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
        tol = _input.check_real("tol", tol, above=0)
    states = [dict(report) for report in reports] + [_state_of(mine) for mine in certificates]
    violation, gap = (_points(states, key) for key in ("kkt_violation", "relative_gap"))
    if not violation and not gap:
        raise ValueError(
            "there must be a report or a certificate to draw, of more than 0 iterations"
        )
    ax = new_axes(ax)
    frame(ax, grid="both")
    if violation:
        ax.plot(
            *zip(*violation, strict=True), "o-", color=BLUE, markersize=4, label="KKT violation"
        )
    if gap:
        ax.plot(*zip(*gap, strict=True), "s-", color=ORANGE, markersize=4, label="relative gap")
    if tol is not None:
        ax.axhline(tol, color=INK, linestyle="dashed", linewidth=1.1, label=f"tol = {tol:g}")
    ax.set_yscale("log")
    iterations = [n_iter for n_iter, _ in violation + gap]
    if max(iterations) > 100 * min(iterations):
        ax.set_xscale("log")
    ax.set_xlabel("iterations")
    drawn = (("KKT violation", violation), ("relative gap", gap))
    ax.set_ylabel(" and ".join(name for name, points in drawn if points))
    ax.legend(frameon=False)
    return ax


def _state_of(certificate: Any) -> dict[str, float]:
    keys = ("n_iter", "kkt_violation", "relative_gap")
    return {key: getattr(certificate, key) for key in keys if hasattr(certificate, key)}


def _points(states: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    """Return iterations and values, ascending, of the states that have one to draw."""
    known = {(state["n_iter"], state[key]) for state in states if key in state}
    return sorted((n_iter, value) for n_iter, value in known if n_iter > 0 and value > 0)
