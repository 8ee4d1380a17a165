"""What the parameters of a linear online estimator are in the core's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxmargin import _core, _input
from maxmargin._input import ClassWeight
from maxmargin.online._passes import check_passes

if TYPE_CHECKING:
    from maxmargin.online._fit import OnlineLinear

# Where `early_stopping` is set without a tolerance.
_EARLY_TOL = 1e-3


def settings_of(estimator: OnlineLinear) -> _core.OnlineSettings:
    """Return the core's settings, checked."""
    early = _input.check_flag("early_stopping", estimator.early_stopping)
    _input.check_real("validation_fraction", estimator.validation_fraction, above=0, below=1)
    _input.check_choice("multi_class", estimator.multi_class, ("ovr", "crammer_singer"))
    settings = _core.OnlineSettings()
    settings.passes = check_passes(estimator)
    if early and settings.passes.tol is None:
        settings.passes.tol = _EARLY_TOL
    settings.passes.n_iter_no_change = _input.check_integer(
        "n_iter_no_change", estimator.n_iter_no_change, at_least=1
    )
    settings.fit_intercept = _input.check_flag("fit_intercept", estimator.fit_intercept)
    settings.penalty = _penalty(estimator)
    settings.average_from = _average_from(estimator.average)
    settings.n_threads = _input.check_n_jobs(estimator.n_jobs)
    estimator._set_steps(settings)
    return settings


def _penalty(estimator: OnlineLinear) -> _core.LinearPenalty:
    alpha = _input.check_real("alpha", estimator.alpha, at_least=0)
    ratio = _input.check_real("l1_ratio", estimator.l1_ratio, at_least=0, at_most=1)
    if estimator.penalty is None:
        return _core.LinearPenalty(0.0, 0.0)
    kind = _input.check_choice("penalty", estimator.penalty, ("l2", "l1", "elasticnet"))
    share = {"l2": 0.0, "l1": 1.0, "elasticnet": ratio}[kind]
    return _core.LinearPenalty(alpha * (1.0 - share), alpha * share)


def _average_from(average: bool | int) -> int:
    """Return the first step that the average counts, 0 for no average."""
    if isinstance(average, (bool, np.bool_)):
        return int(average)
    return _input.check_integer("average", average, at_least=0, at_most=2**62)


def check_one_pass(class_weight: ClassWeight, early_stopping: bool) -> None:
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not available in partial_fit, which does not know all "
            "samples; give a dict of class weights"
        )
    if early_stopping:
        raise ValueError("early_stopping must be False in partial_fit, which makes one pass")
