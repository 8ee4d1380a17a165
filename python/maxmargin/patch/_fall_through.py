"""An estimator that trains with maxmargin where it can, and with scikit-learn where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.patch import _report


class FallsThrough:
    """Chooses anew in every `fit` between maxmargin and scikit-learn's own class.

    The classes derive from this one, then from maxmargin's class, then from scikit-learn's. What
    scikit-learn's class learned in place of maxmargin's is held in `_original`, which then answers
    in all questions about the model.
    """

    _original_class: type[Any]
    _original: Any
    _counts_weights = False  # as in most of scikit-learn's classes

    # The attributes that maxmargin's class learned.
    _learned: tuple[str, ...] = ()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Train on samples; parameters, result and errors are those of scikit-learn's class."""
        return self._learn("fit", self._why_not(), X, y, sample_weight=sample_weight)

    def _why_not(self) -> str | None:
        """Return why these parameters mean another thing to maxmargin, None if they do not."""
        return None

    def _learn(self, method: str, reason: str | None, *args: Any, **kwargs: Any) -> Any:
        """Call the method of maxmargin's class; for a reason not to, of scikit-learn's class.

        What maxmargin refuses is such a reason: either scikit-learn takes it, or the error is its.
        """
        if reason is None:
            before = {*vars(self)} - {*self._learned}
            try:
                getattr(super(), method)(*args, **kwargs)
            except (TypeError, ValueError) as error:
                reason = str(error)
            else:
                vars(self).pop("_original", None)
                self._learned = tuple(name for name in vars(self) if name not in before)
                return self
        _report.write(f"{type(self).__name__}.{method} falls through to scikit-learn: {reason}")
        original = self._original_class(**self.get_params(deep=False))  # type: ignore[attr-defined]
        self._hand_over(original)
        getattr(original, method)(*args, **kwargs)
        for name in self._learned:
            vars(self).pop(name, None)
        vars(self).pop("_learned", None)
        self._original = original
        return self

    def _hand_over(self, original: Any) -> None:
        """Give scikit-learn's estimator what it is to go on from."""

    @property
    def _has_fallen(self) -> bool:
        return "_original" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        if self._has_fallen:
            return True
        return bool(super().__sklearn_is_fitted__())  # type: ignore[misc]

    def _check_state(self) -> None:
        if not self._has_fallen:
            super()._check_state()  # type: ignore[misc]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Reached also where a property of maxmargin's class finds nothing learned.
            if "_original" in vars(self) and not name.startswith("__"):
                return getattr(self._original, name)
            return super().__getattr__(name)
