"""What `fit` finds: one object, kept in one assignment and shown as attributes.

So whoever reads an estimator while `fit` runs, or after it was interrupted, finds the model of
before or the new one, and nothing between the two.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.base import fitted_model
from maxmargin._input.sparse import Matrix
from maxmargin._input.state import check_fits

Self = TypeVar("Self", bound="FittedState")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedState:
    """What all estimators find.

    The parts of a fit fit together; `check` refuses others.
    """

    classes: NDArray[Any] | None = None
    feature_names: NDArray[np.object_] | None = None

    def check(self) -> None:
        """Refuse parts that do not fit together.

        Raises ValueError if one does not fit the others.
        """
        check_names(self.feature_names, self.n_features)  # type: ignore[attr-defined]

    def with_parts(self: Self, **parts: Any) -> Self:
        """Return the same with other parts; ValueError where they do not fit."""
        model = dataclasses.replace(self, **parts)
        model.check()
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle's state.

        Raises ValueError if its parts do not fit together.
        """
        try:
            self.__init__(**state)  # type: ignore[misc]
            self.check()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"The internal representation of a model was altered: {error}"
            ) from error


def matrix_of(X: Any, owner: str, model: Any) -> Matrix:
    """Return samples in the core's form; they must have the features that `fit` saw."""
    matrix = _input.check_matrix(X, owner)
    _input.check_features(X, matrix.shape[1], owner, model.n_features, model.feature_names)
    return matrix


def part(path: str) -> Any:
    """Return a property of an estimator: a part of its fitted state.

    It raises AttributeError where the state lacks it.
    """
    get = attrgetter(path)

    def read(estimator: Any) -> Any:
        model = fitted_model(estimator)
        try:
            value = get(model)
        except AttributeError:
            value = None
        if value is None:
            name = path.rpartition(".")[2]
            raise AttributeError(f"this {type(estimator).__name__} was not fitted with {name}")
        return value

    return property(read)


def check_names(names: Any, n_features: int) -> None:
    """Refuse what are neither None nor names of so many features; raises `check_fits`'s error."""
    is_named = _input.is_array(names, np.object_, (n_features,))
    check_fits(names is None or is_named, "feature_names_in_")


def check_classes(classes: Any, n_classes: int) -> None:
    """Refuse what are not so many classes, or, for 0 classes, not None.

    Raises ValueError if they do not fit.
    """
    if n_classes == 0:
        check_fits(classes is None, "classes_")
    else:
        check_fits(_input.are_classes(classes) and len(classes) == n_classes, "classes_")
