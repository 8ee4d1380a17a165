"""What every estimator has: parameters in scikit-learn's manner, fitted state, labels and score.

scikit-learn's tools (clone, GridSearchCV, cross_val_score, pipelines) work with these classes, but
scikit-learn itself is imported only when it asks for its own tags.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator import routing as _routing
from maxmargin._estimator.nested_params import changed_params, with_nested
from maxmargin._input.sparse import Matrix
from maxmargin.exceptions import NotFittedError, compatible, warn_caller

Self = TypeVar("Self", bound="BaseEstimator")

# The last one whose pickles do not name it.
_VERSION_WITHOUT_NAME = "0.1.0"


class BaseEstimator:
    """Parameters, representation and the bookkeeping of features.

    The parameters of `__init__` are stored as given under their own names; everything that `fit`
    finds has a trailing underscore.
    """

    # What scikit-learn calls its kind.
    _estimator_type: str

    # All that `fit` finds, put here in one assignment; `commit` and `fitted_model` alone know it.
    _model: Any

    # Whether a weight of 2 is a second copy and one of 0 none wherever samples are counted too: in
    # gamma='scale', class_weight='balanced' and calibration.
    _counts_weights = True

    def _store(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments of `__init__`, its `locals()`, under their own names."""
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _counted(self, sample_weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Return how often every sample counts, None for once."""
        return sample_weight if self._counts_weights else None

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; scikit-learn's hook, which subclasses may override.

        Raises RuntimeError if the constructor takes positional arguments without names.
        """
        parameters = _parameters_of(cls).values()
        if any(one.kind is one.VAR_POSITIONAL for one in parameters):
            raise RuntimeError(
                "estimators should always specify their parameters in the signature of their "
                f"__init__ (no varargs); {cls.__name__} does not follow this convention"
            )
        return sorted(one.name for one in parameters if one.kind is not one.VAR_KEYWORD)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of a kernel that has some, as `kernel__gamma`.
        """
        params = {name: getattr(self, name) for name in self._get_param_names()}
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
        """Return the call that makes it, with the parameters that are not at their defaults.

        With all of them where scikit-learn's `print_changed_only` is False.
        """
        config: dict[str, Any] = getattr(sys.modules.get("sklearn"), "get_config", dict)()
        shows_all = not config.get("print_changed_only", True)
        parameters, values = _parameters_of(type(self)), self.get_params(deep=False)
        order = {name: None for name in parameters if name in values} | values
        shown = [
            f"{name}={values[name]!r}"
            for name in order
            if shows_all
            or name not in parameters
            or repr(values[name]) != repr(parameters[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def as_sklearn(self) -> Any:
        """Return scikit-learn's fitted estimator of this name, which predicts the same.

        For exporters and the like. Parameters that it does not take are left at its defaults.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If scikit-learn has no such class or no such kernel.
        """
        from maxmargin._interchange import as_sklearn

        return as_sklearn(self)

    @classmethod
    def from_sklearn(cls: type[Self], model: Any) -> Self:
        """Return an estimator, without `certificate_`, that predicts as scikit-learn's model does.

        Parameters
        ----------
        model : estimator
            Of scikit-learn's class of this name, fitted.

        Raises
        ------
        NotFittedError
            If `model` is not fitted.
        ValueError
            If it is not of that class.
        """
        from maxmargin._interchange import from_sklearn

        made: Self = from_sklearn(cls, model)
        return made

    def __dir__(self) -> list[str]:
        """Return the names of attributes: before `fit`, without those that it is to find."""
        names = [*super().__dir__()]
        if self.__sklearn_is_fitted__():  # then to ask for coef_ may be to compute it
            return names
        return [name for name in names if name[0] == "_" or hasattr(self, name)]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_version": _core.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle's state, with defaults for the parameters that its version did not have.

        A warning says so where another version wrote it. Raises ValueError if it is no state of
        such an estimator, or its parts do not fit together.
        """
        owner = type(self).__name__
        if not (isinstance(state, dict) and all(isinstance(name, str) for name in state)):
            raise ValueError(f"the state of {owner} must be a dict of its attributes")
        state = _defaults_of(type(self)) | state
        version = str(state.pop("_version", _VERSION_WITHOUT_NAME))
        now = _core.__version__
        if version != now:
            warn_caller(
                f"this {owner} was pickled by maxmargin {version} and is loaded by {now}: check "
                "its predictions, or fit it again"
            )
        try:
            if "n_features_in_" in state:  # as 0.1.0 pickled it: the parts are attributes
                state, model = self._converted(dict(state))
                commit(self, model)
            vars(self).update(state)
            if "_model" in vars(self):
                _input.check_fits(self._is_own(self._model), "the model")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"The internal representation of {owner} was altered: {error}"
            ) from error

    def _converted(self, state: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return such a state without those attributes, and the model that they are of."""
        raise NotImplementedError

    def _is_own(self, model: Any) -> bool:
        """Return whether a model is one that `fit` may find."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        is_pairwise = getattr(self, "kernel", None) == "precomputed"
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind != "outlier_detector"),
            transformer_tags=None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            input_tags=InputTags(sparse=not is_pairwise, pairwise=is_pairwise),
        )

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

    @property
    def n_features_in_(self) -> int:
        n_features: int = fitted_model(self).n_features
        return n_features

    @n_features_in_.setter
    def n_features_in_(self, value: int) -> None:
        """Nothing: scikit-learn's `validate_data` sets it before `fit`, which finds it itself."""

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        names: NDArray[np.object_] | None = fitted_model(self).feature_names
        if names is None:
            raise AttributeError(f"{type(self).__name__!r} was not fitted with names of features")
        return names

    @feature_names_in_.setter
    def feature_names_in_(self, value: Any) -> None:
        self._rename(np.asarray(value, dtype=object))

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self._rename(None)

    def _rename(self, names: NDArray[np.object_] | None) -> None:
        """Give the features names; `validate_data` does so before `fit`, to a model of others."""
        model = fitted_model(self) if self.__sklearn_is_fitted__() else None
        if model is not None and (names is None or names.shape == (model.n_features,)):
            commit(self, model.with_parts(feature_names=names))

    def _matrix_to_fit(self, X: Any) -> Matrix:
        return _input.check_matrix(X, type(self).__name__)


def commit(estimator: BaseEstimator, model: Any) -> None:
    """Let the estimator be what `model` says: before, it is the old one, and after, the new one."""
    estimator._model = model


def fitted_model(estimator: BaseEstimator) -> Any:
    """Return what was committed last.

    A method asks once: a fit in another thread may commit between two questions. Raises
    NotFittedError if there is no such thing.
    """
    estimator._check_fitted()
    return estimator._model


def _parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor."""
    _, *parameters = inspect.signature(cls.__init__).parameters.values()
    return {one.name: one for one in parameters}


def _defaults_of(cls: type[Any]) -> dict[str, Any]:
    """Return the default values of the constructors, up to the first one of this package."""
    defaults: dict[str, Any] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base):
            values = {name: one.default for name, one in _parameters_of(base).items()}
            defaults = values | defaults
            if base.__module__.partition(".")[0] == __name__.partition(".")[0]:
                break
    return {name: value for name, value in defaults.items() if value is not inspect.Parameter.empty}


class Classifier(BaseEstimator):
    """A classifier: `classes_` sorted, accuracy as score."""

    _estimator_type = "classifier"

    @property
    def classes_(self) -> NDArray[Any]:
        classes: NDArray[Any] = fitted_model(self).classes
        return classes

    @classes_.setter
    def classes_(self, value: Any) -> None:
        commit(self, fitted_model(self).with_parts(classes=np.asarray(value)))

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
