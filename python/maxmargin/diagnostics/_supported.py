"""Which estimators a diagnostic is defined for."""

from __future__ import annotations

from typing import Any

from maxmargin._estimator.base import BaseEstimator


def require(
    estimator: Any, caller: str, classes: tuple[type[BaseEstimator], ...], wording: str
) -> None:
    """Refuse an estimator that is of none of the classes, or not fitted.

    Raises TypeError if it is of none; the message says by `wording` what the diagnostic takes.
    Raises NotFittedError if it is not fitted.
    """
    if not isinstance(estimator, classes):
        raise TypeError(f"{caller} takes {wording}, got {type(estimator).__name__}")
    estimator._check_fitted()


def is_estimator(separator: Any) -> bool:
    """Return whether it is an estimator, of this package or another, rather than weights."""
    return hasattr(separator, "predict")


def has_squared_hinge(estimator: Any) -> bool:
    """Return whether a support vector classifier was trained with that loss."""
    return getattr(estimator, "loss", "hinge") == "squared_hinge"
