"""The run of the core that trains a kernel machine: its options, its errors, its certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._estimator.certificate import Certificate, Certificates, together
from maxmargin._input import Callback
from maxmargin.kernels._parameter import KernelParams, overflow_message
from maxmargin.progress import last_report, watched

# What the core returns: the model, and the certificates of its machines, by field.
Solution: TypeAlias = tuple[_core.KernelModel, dict[str, NDArray[Any]]]

Found = TypeVar("Found")

# Where training overflows, bounds of coefficients beyond this are taken for the cause.
_HUGE_BOUND = 1e100


class Training(NamedTuple):
    """The checked options of a fit; `settings` are the core's, by name."""

    settings: dict[str, Any]
    begun: float  # the time limit counts from here
    kernel: KernelParams
    callback: Callback | None
    verbose: bool
    upper: NDArray[np.float64] = np.empty(0)  # the C_i, where they are known

    def options(self, **changes: Any) -> _core.TrainingOptions:
        left = self.settings["time_limit"] - (time.perf_counter() - self.begun)
        settings = {**self.settings, "time_limit": max(0.0, left), **changes}
        return _core.TrainingOptions(**settings)

    def solve(self, train: Callable[[], Found]) -> Found:
        """Return the core's solution, or say what leaves the range of float64.

        Raises ValueError if kernel values or the solution do.
        """
        try:
            return train()
        except _core.NumericError as error:
            raise ValueError(self._overflow_message(str(error))) from error

    def run(
        self, train: Callable[[Callback | None], Solution]
    ) -> tuple[_core.KernelModel, Certificate]:
        """Return the core's solution and its certificate, once it is reported."""
        start = time.perf_counter()
        with watched(self.callback, self.verbose) as callback:
            model, machines = self.solve(lambda: train(callback))
            certificate = together(Certificates(machines), time.perf_counter() - start)
            if callback is not None:
                callback(last_report(vars(certificate), certificate, certificate.seconds))
        return model, certificate

    def _overflow_message(self, what: str) -> str:
        is_finite = np.isfinite(self.upper)
        largest = float(self.upper.max(initial=0.0, where=is_finite))
        if largest > _HUGE_BOUND:
            return (
                f"the bounds of the coefficients, C times the weights, are as large as "
                f"{largest:.3g}, and training overflows ({what}): reduce C or the weights"
            )
        return overflow_message(self.kernel, what)
