"""The certificate of optimality that every support vector machine carries after `fit`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._estimator.wording import counted

__all__ = ["Certificate", "LinearCertificate"]

AnyCertificate = TypeVar("AnyCertificate", "Certificate", "LinearCertificate")

# Of several machines, these are the greatest of theirs; other numbers are sums.
_GREATEST = ("kkt_violation", "relative_gap")

_MANY = 1 << 16  # machines, beyond which their numbers are kept in fewer bytes


@dataclass(frozen=True)
class Certificate:
    """How good a solution is and what it cost, recomputed in float64 at the end of training.

    By weak duality the optimum of the primal problem lies in [-dual_objective, primal_objective],
    so that `duality_gap` bounds how far the solution is from it. That holds for kernels that are
    positive semidefinite; with another (the sigmoid, for one) the solution is a point that
    satisfies the KKT conditions, and there may be better ones. The objectives below are those of
    `SVC`; for the others see the docstring of each.

    With more than two classes there is one machine for each pair, and with several quantiles one
    for each: `machines` holds their certificates, of pairs in the order (0, 1), (0, 2) .., and the
    fields here are sums, except for `kkt_violation`, the greatest, and `seconds`. `print` shows
    these totals.

    Attributes
    ----------
    dual_objective : float
        1/2 alpha' Q alpha - sum alpha, the value that is minimised (LIBSVM's sign and scale).
    primal_objective : float
        1/2 ||w||^2 + sum of C_i max(0, 1 - y_i f(x_i)).
    duality_gap : float
        primal_objective + dual_objective, never negative but for rounding (and for the hard
        margin, whose solution satisfies its constraints only to `tol`).
    kkt_violation : float
        max over I_up of -gradient minus min over I_low of -gradient; training ends below `tol`.
        Where rounding may move the difference of two decision values by more than that, as offsets
        that swallow the kernel and bounds of 1e11 make it, so much is added.
    converged : bool
        Whether the violation is below `tol`.
    stop_reason : str
        "converged", "max_iter", "time_limit" or "stalled"; of several machines, that of the first
        one that did not converge.
    n_iter : int
        Iterations of the solver.
    n_free, n_bounded : int
        Samples whose coefficient is between its bounds, and at one that is not 0.
    kernel_rows : int
        Rows of the kernel matrix that were computed.
    kernel_values : int
        Kernel values that were computed in all: those of the rows, of the solver's square blocks,
        and of what is evaluated anew in float64. What several machines share counts with the first.
    cache_hits, cache_misses : int
        Row requests that the cache could serve, and that it could not.
    seconds : float
        Wall-clock time of training; of several machines together, that of all of `fit`.
    machines : sequence of Certificate
        One for each pair of classes or quantile, empty where there is one machine only. Of more
        than 65,536, the numbers are kept in float32.
    """

    dual_objective: float
    primal_objective: float
    duality_gap: float
    kkt_violation: float
    converged: bool
    stop_reason: str
    n_iter: int
    kernel_rows: int
    kernel_values: int
    cache_hits: int
    cache_misses: int
    seconds: float
    n_free: int = 0
    n_bounded: int = 0
    machines: Sequence[Certificate] = field(default=(), repr=False)

    @property
    def relative_gap(self) -> float:
        """duality_gap / max(1, |primal_objective|); near 1, nothing is proven."""
        return self.duality_gap / max(1.0, abs(self.primal_objective))

    def __str__(self) -> str:
        state = _state_of(self.converged, self.stop_reason)
        requests = self.cache_hits + self.cache_misses
        hits = counted(self.cache_hits, "cache hit")
        share = f" ({self.cache_hits / requests:.0%} of requests)" if requests > 0 else ""
        lines = [
            f"dual objective    {_nine_digits(self.dual_objective)}",
            f"primal objective  {_nine_digits(self.primal_objective)}",
            f"duality gap       {self.duality_gap:.2e} ({self.relative_gap:.2e} relative)",
            f"KKT violation     {self.kkt_violation:.2e}, {state}",
            f"iterations        {self.n_iter}",
            f"kernel rows       {self.kernel_rows} computed, {hits}{share}",
            f"kernel values     {self.kernel_values} computed",
            f"seconds           {self.seconds:.3f}",
        ]
        if self.machines:
            lines.insert(
                0, f"machines          {len(self.machines)}, of which these are the totals"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class LinearCertificate:
    """How good a linear machine is and what it cost, evaluated in float64 at the end of training.

    By weak duality the least value of the problem lies in [-dual_objective, primal_objective], so
    that `duality_gap` bounds how far the machine is from it. Where there are several machines, one
    for each class against the rest, `machines` holds their certificates and the fields here are
    sums, except for `relative_gap`, the greatest, and `seconds`. The objectives are those of the
    estimator's docstring.

    Attributes
    ----------
    primal_objective : float
        The value that training minimises, at `coef_` and `intercept_`.
    dual_objective : float
        The dual's value, minimised as everywhere: its negative is a lower bound of the primal's.
    duality_gap : float
        primal_objective + dual_objective, never negative but for rounding.
    relative_gap : float
        duality_gap / primal_objective; training ends below `tol`.
    converged : bool
        Whether training ended because `relative_gap` was at most `tol`.
    stop_reason : str
        "converged", "max_iter", "time_limit" or "stalled" (no step makes progress in float64); of
        several machines, that of the first one that did not converge.
    n_iter : int
        Iterations of the solver, of its own kind; of several machines, the sum.
    seconds : float
        Wall-clock time of training; of several machines together, that of all of `fit`.
    machines : tuple of LinearCertificate
        One for each class, empty where there is one machine only.
    """

    primal_objective: float
    dual_objective: float
    duality_gap: float
    relative_gap: float
    converged: bool
    stop_reason: str
    n_iter: int
    seconds: float
    machines: tuple[LinearCertificate, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        state = _state_of(self.converged, self.stop_reason)
        lines = [
            f"primal objective  {_nine_digits(self.primal_objective)}",
            f"dual objective    {_nine_digits(self.dual_objective)}",
            f"duality gap       {self.duality_gap:.2e} ({self.relative_gap:.2e} relative), {state}",
            f"iterations        {self.n_iter}",
            f"seconds           {self.seconds:.3f}",
        ]
        if self.machines:
            lines.insert(0, f"machines          {len(self.machines)}, one for each class")
        return "\n".join(lines)


def _state_of(converged: bool, stop_reason: str) -> str:
    """Return whether it has converged, in words; one recomputed on other data may not have."""
    if converged:
        return "converged"
    return "not converged" if stop_reason == "converged" else f"not converged ({stop_reason})"


def _nine_digits(value: float) -> str:
    return f"{value:#.9g}".rstrip(".")


class Certificates(Sequence[Certificate]):
    """The certificates of machines, by the core's fields; each is made when it is asked for."""

    def __init__(self, fields: dict[str, NDArray[Any]]) -> None:
        self.fields = fields

    def narrowed(self) -> Certificates:
        """Return them with numbers in types that hold them; there may be millions of machines."""
        if len(self) <= _MANY:  # of one machine, it would cost a tenth of a fit of 50 rows
            return self
        return Certificates({name: _narrowed(values) for name, values in self.fields.items()})

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what all machines but the first have in common."""
        packed = {name: _without_repetition(values) for name, values in self.fields.items()}
        return {"fields": packed, "size": len(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fields = state["fields"]
        size = state.get("size", len(fields["n_iter"]))
        self.fields = {
            name: np.concatenate([values, np.repeat(values[-1:], size - len(values))])
            for name, values in fields.items()
        }

    def __len__(self) -> int:
        return len(self.fields["n_iter"])

    def __getitem__(self, places: Any) -> Any:
        if isinstance(places, slice):
            return tuple(self[place] for place in range(*places.indices(len(self))))
        found = {name: values.item(places) for name, values in self.fields.items()}
        reason = _core.STOP_REASONS[found["stop_reason"]]
        found["stop_reason"], found["converged"] = reason, reason == "converged"
        found["duality_gap"] = found["primal_objective"] + found["dual_objective"]
        return Certificate(**found)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> NDArray[Any]:
        """Return an attribute of all certificates."""
        values: NDArray[Any]
        if name == "converged":
            values = self.fields["stop_reason"] == _core.STOP_REASONS.index("converged")
        elif name == "duality_gap":
            values = self.fields["primal_objective"] + self.fields["dual_objective"]
        else:
            values = self.fields[name]
        return values


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return counts in the least type, and others in float32 if they have its range."""
    if values.dtype.kind != "f":
        return values.astype(np.min_scalar_type(values.max()))
    is_small = np.abs(values).max() <= np.finfo(np.float32).max
    return values.astype(np.float32) if is_small else values


def _without_repetition(values: NDArray[Any]) -> NDArray[Any]:
    return values[:2] if (values[1:] == values[1:2]).all() else values


def _column(machines: Sequence[Certificate | LinearCertificate], name: str) -> NDArray[Any]:
    if isinstance(machines, Certificates):
        return machines.column(name)
    return np.array([getattr(machine, name) for machine in machines])


def _total(machines: Sequence[Certificate | LinearCertificate], name: str) -> Any:
    """Return the greatest or the sum, added one after the other, as a number of Python's."""
    values = _column(machines, name)
    return (values.max() if name in _GREATEST else np.cumsum(values)[-1]).item()


def by_machine(certificate: Certificate, name: str) -> NDArray[Any]:
    """Return a field of all machines."""
    return _column(certificate.machines or (certificate,), name)


def together(machines: Sequence[AnyCertificate], seconds: float) -> AnyCertificate:
    """Return the certificate of several machines that took `seconds` in all, or the only one."""
    first = machines[0]
    if len(machines) == 1:
        return first
    names = [field.name for field in dataclasses.fields(first) if field.type in ("int", "float")]
    failed = np.flatnonzero(~_column(machines, "converged"))
    return type(first)(
        **{**{name: _total(machines, name) for name in names}, "seconds": seconds},
        converged=len(failed) == 0,
        stop_reason=machines[failed[0]].stop_reason if len(failed) > 0 else "converged",
        machines=machines.narrowed() if isinstance(machines, Certificates) else tuple(machines),
    )


def linear_certificate_of(
    outcomes: Sequence[_core.LinearOutcome], seconds: float
) -> LinearCertificate:
    """Return the certificate of a linear fit from the core's outcomes, by machine."""
    machines = []
    for outcome in outcomes:
        names = ("primal_objective", "dual_objective", "stop_reason", "n_iter", "seconds")
        found = {name: getattr(outcome, name) for name in names}
        primal, gap = outcome.primal_objective, outcome.primal_objective + outcome.dual_objective
        found["relative_gap"] = gap / primal if primal > 0.0 else 0.0
        found["converged"] = outcome.stop_reason == "converged"
        machines.append(LinearCertificate(**found, duality_gap=gap))
    return together(machines, seconds)
