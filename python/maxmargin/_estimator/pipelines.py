"""Estimators at the end of scikit-learn's pipelines, and those that its searches found.

Both are known by their attributes, so that scikit-learn is not imported: a pipeline has `steps`, a
search a `best_estimator_`, or `refit` and `error_score` as long as it has none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin._estimator.wording import shown
from maxmargin.exceptions import NotFittedError, compatible


class Steps(NamedTuple):
    """What samples go through before the estimator at the end of a pipeline sees them."""

    named: tuple[tuple[str, Any], ...]

    def keep_samples(self) -> bool:
        """Return whether every step transforms features, and none changes which samples there are.

        The samplers of other packages do the latter, in `fit` alone.
        """
        return all(hasattr(step, "transform") for _, step in self.named)

    def transform(self, X: Any) -> Any:
        """Return `X` as the estimator sees it, itself where there are no steps."""
        for name, step in self.named:
            if not hasattr(step, "transform"):
                raise TypeError(
                    "every step of a pipeline before the last must have transform, but "
                    f"{name!r} is {shown(step)}"
                )
            X = step.transform(X)
        return X


def unwrapped(model: Any) -> tuple[Any, Steps]:
    """Return the estimator in a pipeline or a search, and the steps before it.

    Pipelines and searches may be in each other. Anything else is returned as it is. Raises
    TypeError if a pipeline does not end in an estimator that predicts. Raises NotFittedError if a
    search has no `best_estimator_`.
    """
    named: list[tuple[str, Any]] = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "refit") and hasattr(model, "error_score"):
            raise compatible(NotFittedError)(
                f"This {type(model).__name__} instance has no best_estimator_. Call 'fit' with "
                "appropriate arguments, and with a refit, before using it."
            )
        elif isinstance(getattr(model, "steps", None), list):
            last = model.steps[-1][1] if model.steps else None
            if not hasattr(last, "predict"):
                raise TypeError(
                    f"a {type(model).__name__} must end in an estimator that predicts, got "
                    f"{shown(last)}"
                )
            named += [step for step in model.steps[:-1] if step[1] not in (None, "passthrough")]
            model = last
        else:
            return model, Steps(tuple(named))
