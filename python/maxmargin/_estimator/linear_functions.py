"""Estimators with weights: their fitted state, and the attributes that show and change it."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import BaseEstimator, Classifier, commit, fitted_model
from maxmargin._estimator.fitted import FittedState, check_classes
from maxmargin._input.sparse import Matrix, is_in_mapped_file

Self = TypeVar("Self", bound="LinearFunctions")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedFunctions(FittedState):
    """The core's model with its labels."""

    core: _core.LinearModel
    shows_sparse: bool = False  # whether coef_ is a sparse matrix

    def check(self) -> None:
        super().check()
        check_classes(self.classes, self.core.n_classes)

    @cached_property
    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The arrays of the core's model, (n_functions, n_features) and (n_functions,)."""
        return self.core.coef, self.core.intercept

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def coef(self) -> NDArray[np.float64]:
        """The weights as users see them: of a regression without the axis of functions."""
        coef = self.weights[0]
        return coef if self.core.n_classes > 0 else coef[0]

    def with_weights(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64], shows_sparse: bool
    ) -> FittedFunctions:
        coef = coef.reshape(self.core.coef.shape)
        core = _core.LinearModel(coef, intercept, self.core.n_classes)
        return self.with_parts(core=core, shows_sparse=shows_sparse)


class LinearFunctions(BaseEstimator):
    """An estimator with f(x) = w.x + b: of two classes or a regression one, else one a class."""

    n_jobs: int | None

    _model_type: type[FittedFunctions]

    # What to do where f leaves the range of float64.
    _remedy = "reduce C"

    @property
    def coef_(self) -> Any:
        model = fitted_model(self)
        if not model.shows_sparse:
            return model.coef
        from scipy.sparse import csr_matrix

        return csr_matrix(model.coef)

    @coef_.setter
    def coef_(self, value: Any) -> None:
        model, is_sparse = fitted_model(self), hasattr(value, "toarray")
        coef = _input.check_part("coef_", value.toarray() if is_sparse else value, model.coef.shape)
        commit(self, model.with_weights(coef, model.core.intercept, is_sparse))

    @property
    def intercept_(self) -> NDArray[np.float64]:
        intercept: NDArray[np.float64] = fitted_model(self).weights[1]
        return intercept

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        model = fitted_model(self)
        shape = model.core.intercept.shape
        value = np.full(shape, value) if np.ndim(value) == 0 else value
        intercept = _input.check_part("intercept_", value, shape)
        commit(self, model.with_weights(model.core.coef, intercept, model.shows_sparse))

    def sparsify(self: Self) -> Self:
        """Show `coef_` as a sparse matrix from here on, as in scikit-learn; predictions stay."""
        commit(self, fitted_model(self).with_parts(shows_sparse=True))
        return self

    def densify(self: Self) -> Self:
        """Show `coef_` as an array again."""
        commit(self, fitted_model(self).with_parts(shows_sparse=False))
        return self

    def _converted(self, state: dict[str, Any]) -> tuple[dict[str, Any], FittedFunctions]:
        coef, classes = np.atleast_2d(state.pop("coef_")), state.pop("classes_", None)
        _input.check_fits(coef.shape[1:] == (state.pop("n_features_in_"),), "n_features_in_")
        n_classes = 0 if classes is None else len(classes)
        core = _core.LinearModel(coef.astype(np.float64), state.pop("intercept_"), n_classes)
        names = state.pop("feature_names_in_", None)
        parts = self._old_parts(state)
        model = self._model_type(core=core, classes=classes, feature_names=names, **parts)
        model.check()
        return state, model

    def _old_parts(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the parts of the model besides functions that version 0.1.0 pickled."""
        state.pop("n_iter_", None)
        names = [field.name for field in dataclasses.fields(self._model_type)]
        return {name: state.pop(f"{name}_") for name in names if f"{name}_" in state}

    def _is_own(self, model: Any) -> bool:
        is_classifier = isinstance(self, Classifier)
        return isinstance(model, self._model_type) and is_classifier == (model.classes is not None)

    def _scores(self, matrix: Matrix, model: FittedFunctions) -> NDArray[np.float64]:
        """Return f of every function, shape (n_samples, n_functions)."""
        n_threads = _input.check_n_jobs(self.n_jobs)
        return model.core.decision_values(matrix, n_threads, is_in_mapped_file(matrix))

    def _overflow_message(self, what: str) -> str:
        return (
            f"{type(self).__name__} overflows on these data ({what}): scale the data, or "
            f"{self._remedy}"
        )
