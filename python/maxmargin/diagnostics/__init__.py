"""Margins, bounds and certificates, computed in float64 from data and a fitted model.

For an estimator, every function also takes a fitted pipeline of scikit-learn's that ends in one,
and a fitted search, whose `best_estimator_` is meant. `X` is then what the pipeline takes, its
earlier steps transform it, and margins, widths and distances are those of the transformed samples.
"""

from maxmargin._estimator.certificate import Certificate
from maxmargin.diagnostics._leave_one_out import (
    leave_one_out_bound,
    leave_one_out_margins,
    radius_margin_bound,
)
from maxmargin.diagnostics._left_out import leave_one_out_decisions
from maxmargin.diagnostics._margins import (
    functional_margin,
    geometric_margin,
    margin_width,
    mistake_bound,
    slacks,
)
from maxmargin.diagnostics._recomputation import certificate

__all__ = [
    "Certificate",
    "certificate",
    "functional_margin",
    "geometric_margin",
    "leave_one_out_bound",
    "leave_one_out_decisions",
    "leave_one_out_margins",
    "margin_width",
    "mistake_bound",
    "radius_margin_bound",
    "slacks",
]


def __dir__() -> list[str]:
    return sorted(__all__)
