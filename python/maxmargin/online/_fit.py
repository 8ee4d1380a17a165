"""What the linear estimators share that learn from one example, or one batch, at a time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Classifier, commit, fitted_model
from maxmargin._estimator.fitted import part
from maxmargin._estimator.linear_functions import FittedFunctions, LinearFunctions
from maxmargin._estimator.one_vs_rest import OneVsRest, class_factors, positive_classes
from maxmargin._estimator.texts import FIT, documented_method
from maxmargin._input import Callback, ClassWeight
from maxmargin._input.examples import EMPTY, Examples
from maxmargin._input.sparse import Matrix, is_in_mapped_file
from maxmargin.online._passes import Passes, passes_of
from maxmargin.online._settings import check_one_pass, settings_of
from maxmargin.progress import with_line_of_passes

Self = TypeVar("Self", bound="OnlineLinear")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedOnline(FittedFunctions):
    """The model, where training goes on, and the record of the last call of a fit."""

    classes: NDArray[Any]
    states: _core.OnlineStates
    passes: Passes
    objective: NDArray[np.float64] | None = None

    def check(self) -> None:
        super().check()
        _input.check_fits(self.states.shape == self.core.coef.shape, "the state of training")

    @property
    def t(self) -> float:
        return 1.0 + float(self.states.n_steps.max())

    def present(self) -> _core.OnlineStates:
        """Return where training goes on; the weights of the model hold unless it is an average."""
        if self.states.has_averages:
            return self.states
        return self.states.with_weights(self.core.coef, self.core.intercept)


class OnlineLinear(LinearFunctions, OneVsRest, Classifier):
    """Linear functions trained by subgradient steps: `fit`, `partial_fit` and `fit_stream`."""

    penalty: str | None
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_weight: ClassWeight
    warm_start: bool
    average: bool | int
    multi_class: str
    eta0: float
    max_iter: int
    tol: float | None
    shuffle: bool
    random_state: Any
    verbose: bool | int

    _model_type = FittedOnline

    n_iter_: int = part("passes.n_iter")
    n_mistakes_: NDArray[np.int64] = part("passes.n_mistakes")
    mistakes_per_pass_: list[NDArray[np.int64]] = part("passes.mistakes_per_pass")
    converged_: bool = part("passes.converged")
    t_: float = part("t")

    _remedy = "take shorter steps"

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`, from w = 0 unless `warm_start` is set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything
            else is converted to a copy. A `numpy.memmap` is read through a window of it, so that it
            may be larger than memory.
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the loss, and so of the learning rate, >= 0. Samples of weight 0 are left
            out; every class must keep one.

        Raises
        ------
        ValueError
            If a parameter, the data, the labels or the weights are not as described, or w leaves
            the range of float64. The estimator then stays as it was.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` passes were not enough.
        """
        settings = settings_of(self)
        goes_on = _input.check_flag("warm_start", self.warm_start)
        matrix = self._matrix_to_fit(X)
        codes, classes = _input.check_labels(y, matrix.shape[0], type(self).__name__)
        if sample_weight is not None:
            sample_weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
            _input.check_weighted_classes(sample_weight, codes, classes)
        examples = self._examples(matrix, codes, classes, sample_weight)
        start = None
        if goes_on and self.__sklearn_is_fitted__():
            start = _start_of(self, fitted_model(self), X, matrix, classes)
        validation_weight = EMPTY
        if self.early_stopping:
            examples, validation_weight = examples.split(
                self.validation_fraction, settings.passes.seed
            )
        result = train(self, examples, validation_weight, settings, start)
        model = self._finished(_input.feature_names(X), examples, settings, result)
        commit(self, model)
        self._warn(settings, model, examples)
        return self

    def partial_fit(
        self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Make one pass over samples `X` with labels `y`, from the present weights.

        Parameters
        ----------
        X, sample_weight
            As in `fit`; all weights may be zero, which leaves w and b as they are.
        y : array-like of shape (n_samples,)
            Labels, any of `classes`.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come. Required in the first call; may be left out later.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            As in `fit`; also if `classes` is missing in the first call, or another than before.
        """
        commit(self, self._after_pass(self._model_before(), X, y, classes, sample_weight))
        return self

    def fit_stream(self: Self, chunks: Iterable[Any], classes: Any = None) -> Self:
        """Make one pass over samples that come in chunks, from the present weights.

        The weights are those of `partial_fit` called for one chunk after the other, but a stream
        that breaks off, or holds a bad chunk, leaves the estimator as it was, and the counts of
        mistakes are of the whole stream. Only one chunk is held at a time.

        Parameters
        ----------
        chunks : iterable
            Of pairs (X, y) or triples (X, y, sample_weight), as for `partial_fit`.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come. Required unless the estimator is fitted.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        TypeError
            If `chunks` is not iterable.
        ValueError
            As in `partial_fit`; also if a chunk is not a pair or a triple, or there is none.
        """
        if not isinstance(chunks, Iterable):
            raise TypeError(f"chunks must be an iterable of tuples, got {type(chunks).__name__}")
        model = self._model_before()
        mistakes: list[NDArray[np.int64]] = []
        for chunk in chunks:
            if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
                raise ValueError(
                    "chunks must hold tuples (X, y) or (X, y, sample_weight), got one of type "
                    f"{type(chunk).__name__}"
                )
            X, y, *weight = chunk
            model = self._after_pass(model, X, y, classes, *weight)
            mistakes.append(model.passes.n_mistakes)
        if model is None or not mistakes:
            raise ValueError("chunks holds no chunk to learn from")
        of_all = np.sum(mistakes, axis=0)
        passes = Passes([np.array([count]) for count in of_all], not of_all.any())
        commit(self, model.with_parts(passes=passes))
        return self

    # -- what an estimator says of itself ----------------------------------------------------------

    def _set_steps(self, settings: _core.OnlineSettings) -> None:
        """Set the loss and the steps."""
        raise NotImplementedError

    def _finished(
        self,
        names: NDArray[np.object_] | None,
        examples: Examples,
        settings: _core.OnlineSettings,
        result: _core.OnlineResult,
        *,
        is_one_pass: bool = False,
    ) -> FittedOnline:
        """Return what `fit` or `partial_fit` is to keep."""
        return FittedOnline(
            core=result.states.model(len(examples.classes)),
            classes=examples.classes,
            feature_names=names,
            states=result.states,
            passes=passes_of(result.records),
        )

    def _warn(
        self, settings: _core.OnlineSettings, model: FittedOnline, examples: Examples
    ) -> None:
        """Warn, for the caller of `fit`, that training did not converge."""
        raise NotImplementedError

    def _matrix_to_fit(self, X: Any) -> Matrix:
        """Return `X` in the core's form; the core checks its values where it reads them."""
        owner = type(self).__name__
        return _input.with_weights(_input.check_matrix(X, owner, checks_values=False), owner)

    def _examples(
        self,
        matrix: Matrix,
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
    ) -> Examples:
        weight = _input.check_class_weight(
            self.class_weight, classes, codes, self._counted(sample_weight)
        )
        if len(classes) > 2 and self.multi_class == "crammer_singer":
            positive = np.zeros(0, dtype=np.int64)
        else:
            positive = positive_classes(len(classes))
            weight = class_factors(weight)
        return Examples(matrix, codes, classes, sample_weight, weight, positive)

    def _model_before(self) -> FittedOnline | None:
        return fitted_model(self) if self.__sklearn_is_fitted__() else None

    def _after_pass(
        self,
        model: FittedOnline | None,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> FittedOnline:
        """Return the model after a pass over samples, from another or from weights of 0."""
        owner = type(self).__name__
        settings = settings_of(self)
        settings.passes.max_iter, settings.passes.tol = 1, None
        check_one_pass(self.class_weight, self.early_stopping)
        if classes is not None:
            known = _input.check_classes(classes)
        elif model is not None:
            known = model.classes
        else:
            raise ValueError(
                "classes must be passed on the first call to partial_fit, or to fit_stream"
            )
        matrix = self._matrix_to_fit(X)
        codes = _input.check_known_labels(y, matrix.shape[0], owner, known)
        if sample_weight is not None:
            sample_weight = _input.check_sample_weight(
                sample_weight, matrix.shape[0], may_vanish=True
            )
        examples = self._examples(matrix, codes, known, sample_weight)
        start = None if model is None else _start_of(self, model, X, matrix, known)
        result = train(self, examples, EMPTY, settings, start)
        names = _input.feature_names(X) if model is None else model.feature_names
        return self._finished(names, examples, settings, result, is_one_pass=True)

    def _old_parts(self, state: dict[str, Any]) -> dict[str, Any]:
        training = _old_training(state)
        return {**super()._old_parts(state), **training}


def _old_training(state: dict[str, Any]) -> dict[str, Any]:
    """Take from a state of 0.1.0 where training goes on, and the record of its passes."""
    states = state.pop("_state")
    passes = Passes(state.pop("mistakes_per_pass_"), state.pop("converged_"))
    for name in ("n_mistakes_", "_has_diverged"):
        state.pop(name, None)
    return {
        "states": _core.OnlineStates(**states) if isinstance(states, dict) else states,
        "passes": passes,
    }


def _start_of(
    estimator: OnlineLinear, model: FittedOnline, X: Any, matrix: Matrix, classes: NDArray[Any]
) -> _core.OnlineStates:
    """Return where the training of a model goes on, on samples of the same classes and features."""
    owner = type(estimator).__name__
    _input.check_features(X, matrix.shape[1], owner, model.n_features, model.feature_names)
    if not np.array_equal(classes, model.classes):
        raise ValueError(
            f"{owner} goes on from weights for the classes {model.classes.tolist()}, but got the "
            f"classes {classes.tolist()}"
        )
    one_problem = len(model.states.n_steps) == 1
    if len(classes) > 2 and one_problem != (estimator.multi_class == "crammer_singer"):
        raise ValueError(f"{owner} goes on from weights of another multi_class")
    return model.present()


def train(
    estimator: OnlineLinear,
    examples: Examples,
    validation_weight: NDArray[np.float64],
    settings: _core.OnlineSettings,
    start: _core.OnlineStates | None,
) -> _core.OnlineResult:
    X = examples.X
    heaviest = 1.0 if examples.weight is None else float(examples.weight.max())
    if not math.isfinite(float(examples.class_weight.max()) * estimator.eta0 * heaviest):
        raise ValueError(
            f"eta0={estimator.eta0} times class_weight and sample_weight overflows; reduce them"
        )
    settings.is_mapped = is_in_mapped_file(X)

    def run(callback: Callback | None) -> _core.OnlineResult:
        try:
            return _core.online_fit(
                X,
                examples.codes,
                examples.given_weight(),
                validation_weight,
                examples.class_weight,
                examples.positive,
                settings,
                start,
                callback,
            )
        except _core.NumericError as error:
            _input.check_values(X, type(estimator).__name__)
            raise ValueError(estimator._overflow_message(str(error))) from error

    if not _input.check_verbose(estimator.verbose):
        return run(None)
    measure = "objective" if settings.follows_loss else "mistake_rate"
    if len(validation_weight) > 0:
        measure = "validation_error"
    return with_line_of_passes(run, measure)
