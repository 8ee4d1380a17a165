"""What the linear estimators share that learn from one example, or one batch, at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.one_vs_rest import class_factors, positive_classes
from maxmargin._input import Callback, ClassWeight
from maxmargin._input.examples import EMPTY, Examples
from maxmargin._input.mapped import is_mapped
from maxmargin._input.sparse import CsrMatrix, Matrix, product
from maxmargin.online._mistake_driven import MistakeDriven
from maxmargin.online._settings import check_one_pass, settings_of
from maxmargin.progress import with_line_of_passes

Self = TypeVar("Self", bound="OnlineLinear")


class OnlineLinear(MistakeDriven):
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
    verbose: bool | int

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

        Returns
        -------
        object
            The estimator itself.

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
            _check_same_model(self, X, matrix, classes)
            start = self._present_state()
        validation_weight = EMPTY
        if self.early_stopping:
            examples, validation_weight = examples.split(
                self.validation_fraction, settings.passes.seed
            )
        result = train(self, examples, validation_weight, settings, start)
        objective = self._evaluate(examples, settings, result.states)
        self._set_fit(examples, settings, result, objective)
        self._record_features(X, matrix.shape[1])
        self._warn(settings)
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
        owner = type(self).__name__
        settings = settings_of(self)
        settings.passes.max_iter, settings.passes.tol = 1, None
        check_one_pass(self.class_weight, self.early_stopping)
        is_first = not self.__sklearn_is_fitted__()
        if is_first and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit, or to fit_stream"
            )
        known = _input.check_classes(classes) if classes is not None else self.classes_
        matrix = self._matrix_to_fit(X)
        codes = _input.check_known_labels(y, matrix.shape[0], owner, known)
        if sample_weight is not None:
            sample_weight = _input.check_sample_weight(
                sample_weight, matrix.shape[0], may_vanish=True
            )
        examples = self._examples(matrix, codes, known, sample_weight)
        start = None
        if not is_first:
            _check_same_model(self, X, matrix, known)
            start = self._present_state()
        result = train(self, examples, EMPTY, settings, start)
        self._set_fit(examples, settings, result)
        if is_first:
            self._record_features(X, matrix.shape[1])
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
        before = dict(vars(self))
        mistakes: list[NDArray[np.int64]] = []
        try:
            for chunk in chunks:
                if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
                    raise ValueError(
                        "chunks must hold tuples (X, y) or (X, y, sample_weight), got one of type "
                        f"{type(chunk).__name__}"
                    )
                X, y, *weight = chunk
                self.partial_fit(X, y, classes, *weight)
                mistakes.append(self.n_mistakes_)
            if not mistakes:
                raise ValueError("chunks holds no chunk to learn from")
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        self.n_mistakes_ = np.sum(mistakes, axis=0)
        self.mistakes_per_pass_ = [np.array([count]) for count in self.n_mistakes_]
        self.converged_ = not self.n_mistakes_.any()
        return self

    # -- what an estimator says of itself ----------------------------------------------------------

    def _set_steps(self, settings: _core.OnlineSettings) -> None:
        """Set the loss and the steps."""
        raise NotImplementedError

    def _evaluate(
        self, examples: Examples, settings: _core.OnlineSettings, states: _core.OnlineStates
    ) -> NDArray[np.float64] | None:
        """Return the objective that `fit` reports, if it does."""
        return None

    def _warn(self, settings: _core.OnlineSettings) -> None:
        """Warn, for the caller of `fit`, that training did not converge."""
        raise NotImplementedError

    # -- training ----------------------------------------------------------------------------------

    def _matrix_to_fit(self, X: Any) -> Matrix:
        """Return `X` in the core's form; the core checks its values where it reads them."""
        return _input.check_matrix(X, type(self).__name__, checks_values=False)

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

    def _present_state(self) -> _core.OnlineStates:
        """Return where training goes on; coef_ holds unless it is an average."""
        if self._state.has_averages:
            return self._state
        return self._state.with_weights(self.coef_, self.intercept_)

    def _set_fit(
        self,
        examples: Examples,
        settings: _core.OnlineSettings,
        result: _core.OnlineResult,
        objective: NDArray[np.float64] | None = None,
    ) -> None:
        self.classes_ = examples.classes
        self._state = result.states
        self.coef_, self.intercept_ = weights_of(self._state)
        self._set_record(result.records)

    def _take(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("_state"), dict):  # as earlier versions pickled it
            state = {**state, "_state": _core.OnlineStates(**state["_state"])}
        super()._take(state)

    def _check_state(self) -> None:
        self._check_weights(self.coef_, self.intercept_)
        is_whole = self._state.w.shape == self.coef_.shape
        _input.check_consistent(is_whole, type(self).__name__, "the state of training")

    def _scores(self, matrix: Matrix) -> NDArray[np.float64]:
        return product(matrix, np.ascontiguousarray(self.coef_.T)) + self.intercept_

    _shorter_steps = "shorter steps"

    def _overflow_message(self, what: str) -> str:
        return (
            f"{type(self).__name__} overflows on these data ({what}): scale the data, or take "
            f"{self._shorter_steps}"
        )


def _check_same_model(
    estimator: OnlineLinear, X: Any, matrix: Matrix, classes: NDArray[Any]
) -> None:
    owner = type(estimator).__name__
    _input.check_features(
        X,
        matrix.shape[1],
        owner,
        estimator.n_features_in_,
        vars(estimator).get("feature_names_in_"),
    )
    if not np.array_equal(classes, estimator.classes_):
        raise ValueError(
            f"{owner} goes on from weights for the classes {estimator.classes_.tolist()}, but got "
            f"the classes {classes.tolist()}"
        )
    one_problem = len(estimator._state.n_steps) == 1
    if len(classes) > 2 and one_problem != (estimator.multi_class == "crammer_singer"):
        raise ValueError(f"{owner} goes on from weights of another multi_class")


def weights_of(
    states: _core.OnlineStates,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the averages if there are any, else the last w and b."""
    if states.has_averages:
        return states.average_w, states.average_b
    return states.w, states.b


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
    arrays = (X.data, X.indices) if isinstance(X, CsrMatrix) else (X,)
    settings.is_mapped = any(map(is_mapped, arrays))

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
