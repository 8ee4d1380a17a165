"""What every estimator has: parameters in scikit-learn's manner, fitted state, labels and score.

scikit-learn's tools (clone, GridSearchCV, cross_val_score, pipelines) work with these classes, but
scikit-learn itself is imported only when it asks for its own tags.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator import routing as _routing
from maxmargin._estimator.nested_params import changed_params, with_nested
from maxmargin._input.sparse import Matrix
from maxmargin.exceptions import NotFittedError, compatible

Self = TypeVar("Self", bound="BaseEstimator")


class BaseEstimator:
    """Parameters, representation and the bookkeeping of features.

    The parameters of `__init__` are stored as given under their own names; everything that `fit`
    finds has a trailing underscore.
    """

    # All that `fit` finds, put here in one assignment; `commit` and `fitted_model` alone know it.
    _model: Any

    # What methods may keep between calls and rebuild on demand; left out of copies and pickles.
    _cache: dict[str, Any]

    # What an error adds about a model from a file without its number of features.
    _feature_hint: str = ""

    # Whether a weight of 2 is a second copy and one of 0 none wherever samples are counted too: in
    # gamma='scale', class_weight='balanced' and calibration.
    _counts_weights = True

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _store(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments of `__init__`, its `locals()`, under their own names."""
        for name in self._parameter_names():
            setattr(self, name, arguments[name])

    def _counted(self, sample_weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Return how often every sample counts, None for once."""
        return sample_weight if self._counts_weights else None

    @classmethod
    def _parameter_names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters
        return sorted(name for name in parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of a kernel that has some, as `kernel__gamma`.
        """
        params = {name: getattr(self, name) for name in self._parameter_names()}
        return with_nested(params) if deep else params

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters by name; `kernel__gamma` is the gamma of the kernel in `kernel`.

        Raises
        ------
        ValueError
            If there is no parameter of that name; then none is set.
        """
        changed = changed_params(self.get_params(deep=False), params, f"estimator {self}")
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    set_fit_request = _routing.RequestSetter("fit")
    set_partial_fit_request = _routing.RequestSetter("partial_fit")
    set_score_request = _routing.RequestSetter("score")

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's record of the metadata that the methods ask for."""
        return _routing.requests_of(self)

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in parameters.items()
            if name != "self" and repr(getattr(self, name)) != repr(parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "_cache" in state:
            state["_cache"] = {}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if not self.__sklearn_is_fitted__():
            return
        try:
            self._check_state()
        except (AttributeError, IndexError, TypeError) as error:
            owner = type(self).__name__
            raise ValueError(
                f"The internal representation of {owner} was altered: {error}"
            ) from error

    def _check_state(self) -> None:
        """Refuse fitted state whose parts do not fit together.

        Raises
        ------
        ValueError
            If it was altered since `fit`.
        """

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self) or "n_features_in_" in vars(self)

    def _is_pairwise(self) -> bool:
        """Return whether X holds a value for every pair of samples."""
        return getattr(self, "kernel", None) == "precomputed"

    def _input_tags(self) -> Any:
        from sklearn.utils import InputTags

        is_pairwise = self._is_pairwise()
        return InputTags(sparse=not is_pairwise, pairwise=is_pairwise)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise compatible(NotFittedError)(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    if not TYPE_CHECKING:  # or every attribute would pass the type checker

        def __getattr__(self, name: str) -> Any:
            """Say of what `fit` is to find that it has yet to be called.

            Reached also where a property raises AttributeError.
            """
            if name.endswith("_") and not name.startswith("_"):
                self._check_fitted()
            return super().__getattribute__(name)

    def _matrix_to_fit(self, X: Any) -> Matrix:
        return _input.check_matrix(X, type(self).__name__)

    def _matrix_to_predict(self, X: Any) -> Matrix:
        """Return `X` in the core's form; it must have the features that `fit` saw."""
        self._check_fitted()
        owner = type(self).__name__
        matrix = _input.check_matrix(X, owner)
        names = vars(self).get("feature_names_in_")
        _input.check_features(
            X, matrix.shape[1], owner, self.n_features_in_, names, self._feature_hint
        )
        return matrix

    def _record_features(self, X: Any, n_features: int) -> None:
        """Remember the features of the data that the estimator is now fitted on."""
        self.n_features_in_ = n_features
        vars(self).pop("_feature_hint", None)
        names = _input.feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        else:
            vars(self).pop("feature_names_in_", None)


def commit(estimator: BaseEstimator, model: Any) -> None:
    """Let the estimator be what `model` says: before, it is the old one, and after, the new one."""
    estimator._model = model


def fitted_model(estimator: BaseEstimator) -> Any:
    """Return what was committed last.

    A method asks once: a fit in another thread may commit between two questions.

    Raises
    ------
    NotFittedError
        If there is no such thing.
    """
    estimator._check_fitted()
    return estimator._model


class Classifier(BaseEstimator):
    """A classifier: `classes_` sorted, accuracy as score."""

    _estimator_type = "classifier"

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict(X)`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every sample in the mean.
        """
        predicted = self.predict(X)
        labels = _input.column_of_labels(y, len(predicted), type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, len(predicted))
        return float(np.average(predicted == labels, weights=weight))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(),
            input_tags=self._input_tags(),
        )


class Regressor(BaseEstimator):
    """A regression: R^2 as score."""

    _estimator_type = "regressor"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the prediction for every sample."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 of `predict(X)`.

        It is 1 - (sum of squared errors) / (sum of squared deviations from the mean of y); where
        all of y is the same, 1 if every prediction is right and 0 otherwise.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every sample in the sums.
        """
        predicted = self.predict(X)
        targets = _input.check_targets(y, len(predicted), type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, len(predicted))
        with np.errstate(under="ignore"):
            errors = float(weight @ np.square(targets - predicted))
            spread = float(weight @ np.square(targets - np.average(targets, weights=weight)))
        if spread == 0.0:
            return 1.0 if errors == 0.0 else 0.0
        return 1.0 - errors / spread

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=RegressorTags(),
            classifier_tags=None,
            input_tags=self._input_tags(),
        )
