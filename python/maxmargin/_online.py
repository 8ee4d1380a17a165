"""What the linear estimators share that learn from one example, or one batch, at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._examples import (
    NONE,
    Examples,
    RowCoder,
    Settings,
    core_settings,
    is_state,
    weights_of,
    zero_state,
)
from maxmargin._mistake_driven import MistakeDriven
from maxmargin._one_vs_rest import class_factors, positive_classes
from maxmargin._sparse import Matrix, product
from maxmargin._validation import Callback, ClassWeight
from maxmargin.progress import with_line_of_passes

Self = TypeVar("Self", bound="OnlineLinear")

# Where `early_stopping` is set without a tolerance.
_EARLY_TOL = 1e-3


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
            out.

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
        settings = self._settings()
        goes_on = _validation.check_flag("warm_start", self.warm_start)
        coder = RowCoder(settings)
        may_be_joint = self.multi_class == "crammer_singer"  # which reads no coded rows
        matrix = self._matrix_to_fit(X, None if may_be_joint else coder.are_bounded)
        codes, classes = _validation.check_labels(y, matrix.shape[0], type(self).__name__)
        if sample_weight is not None:
            sample_weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        examples = self._examples(matrix, codes, classes, sample_weight)
        if may_be_joint and len(classes) == 2:
            coder.code(matrix)
        examples = examples._replace(coded=coder.coded)
        start = None
        if goes_on and self.__sklearn_is_fitted__():
            self._check_same_model(X, matrix, classes)
            start = self._present_state()
        validation_weight = NONE
        if self.early_stopping:
            examples, validation_weight = self._set_aside(examples, settings["seed"])
        result = self._train(examples, validation_weight, settings, start)
        result.update(self._evaluate(examples, settings, result))
        self._set_fit(examples, settings, result)
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
        settings = {**self._settings(), "max_iter": 1, "tol": None}
        self._check_one_pass()
        is_first = not self.__sklearn_is_fitted__()
        if is_first and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit, or to fit_stream"
            )
        known = _validation.check_classes(classes) if classes is not None else self.classes_
        matrix = self._matrix_to_fit(X)
        codes = _validation.check_known_labels(y, matrix.shape[0], owner, known)
        if sample_weight is not None:
            sample_weight = _validation.check_sample_weight(
                sample_weight, matrix.shape[0], may_vanish=True
            )
        examples = self._examples(matrix, codes, known, sample_weight)
        start = None
        if not is_first:
            self._check_same_model(X, matrix, known)
            start = self._present_state()
        result = self._train(examples, NONE, settings, start)
        self._set_fit(examples, settings, result)
        if is_first:
            self._record_features(X, matrix.shape[1])
        return self

    def fit_stream(self: Self, chunks: Iterable[Any], classes: Any = None) -> Self:
        """Make one pass over samples that come in chunks, from the present weights.

        The weights are those of `partial_fit` called for one chunk after the other, but a stream
        that breaks off, or holds a bad chunk, leaves the estimator as it was, and the attributes
        that tell of mistakes tell of the whole stream. Only one chunk is held at a time.

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

    def _settings(self) -> Settings:
        """Return the core's settings, checked; `seed` is drawn once."""
        options = self._check_pass_options()
        early = _validation.check_flag("early_stopping", self.early_stopping)
        _validation.check_real("validation_fraction", self.validation_fraction, above=0, below=1)
        _validation.check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        l2, l1 = self._penalties()
        return {
            **options._asdict(),
            "tol": _EARLY_TOL if early and options.tol is None else options.tol,
            "n_iter_no_change": _validation.check_integer(
                "n_iter_no_change", self.n_iter_no_change, at_least=1
            ),
            "fit_intercept": _validation.check_flag("fit_intercept", self.fit_intercept),
            "l2": l2,
            "l1": l1,
            "average_from": self._average_from(),
            **self._own_settings(),
        }

    def _own_settings(self) -> Settings:
        raise NotImplementedError

    def _evaluate(
        self, examples: Examples, settings: Settings, result: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what `fit` reports of a result beyond what training found."""
        return {}

    def _warn(self, settings: Settings) -> None:
        """Warn, for the caller of `fit`, that training did not converge."""
        raise NotImplementedError

    def _check_one_pass(self) -> None:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not available in partial_fit, which does not know all "
                "samples; give a dict of class weights"
            )
        if self.early_stopping:
            raise ValueError("early_stopping must be False in partial_fit, which makes one pass")

    def _penalties(self) -> tuple[float, float]:
        """Return the factors of 1/2 ||w||^2 and of ||w||_1."""
        alpha = _validation.check_real("alpha", self.alpha, at_least=0)
        ratio = _validation.check_real("l1_ratio", self.l1_ratio, at_least=0, at_most=1)
        if self.penalty is None:
            return 0.0, 0.0
        kind = _validation.check_choice("penalty", self.penalty, ("l2", "l1", "elasticnet"))
        share = {"l2": 0.0, "l1": 1.0, "elasticnet": ratio}[kind]
        return alpha * (1.0 - share), alpha * share

    def _average_from(self) -> int:
        """Return the first step that the average counts, 0 for no average."""
        if isinstance(self.average, (bool, np.bool_)):
            return int(self.average)
        return _validation.check_integer("average", self.average, at_least=0, at_most=2**62)

    # -- training ----------------------------------------------------------------------------------

    def _examples(
        self,
        matrix: Matrix,
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
    ) -> Examples:
        weight = _validation.check_class_weight(self.class_weight, classes, codes)
        if len(classes) > 2 and self.multi_class == "crammer_singer":
            positive = np.zeros(0, dtype=np.int64)
        else:
            positive = positive_classes(len(classes))
            weight = class_factors(weight)
        return Examples(matrix, codes, classes, sample_weight, weight, positive)

    def _check_same_model(self, X: Any, matrix: Matrix, classes: NDArray[Any]) -> None:
        owner = type(self).__name__
        _validation.check_features(
            X, matrix.shape[1], owner, self.n_features_in_, vars(self).get("feature_names_in_")
        )
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"{owner} goes on from weights for the classes {self.classes_.tolist()}, but got "
                f"the classes {classes.tolist()}"
            )
        one_problem = len(self._state["n_steps"]) == 1
        if len(classes) > 2 and one_problem != (self.multi_class == "crammer_singer"):
            raise ValueError(f"{owner} goes on from weights of another multi_class")

    def _present_state(self) -> dict[str, NDArray[Any]]:
        """Return where training goes on; coef_ holds unless it is an average."""
        state = dict(self._state)
        if len(state["average_b"]) == 0:
            state["w"], state["b"] = self.coef_, self.intercept_
        if not self._average_from():
            state["average_w"], state["average_b"] = np.zeros((0, self.n_features_in_)), NONE
            state["n_averaged"] = np.zeros_like(state["n_averaged"])
        return state

    def _set_aside(self, examples: Examples, seed: int) -> tuple[Examples, NDArray[np.float64]]:
        """Return the examples without those of the validation, and the weights of the latter."""
        codes = examples.codes
        random = np.random.default_rng(seed)
        is_validated = np.zeros(len(codes), dtype=bool)
        for k in range(len(examples.classes)):
            rows = np.flatnonzero(codes == k)
            count = math.floor(self.validation_fraction * len(rows) + 0.5)
            is_validated[random.permutation(rows)[:count]] = True
        left = np.bincount(codes[~is_validated], minlength=len(examples.classes))
        if not is_validated.any() or not left.all():
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {len(codes)} samples leaves no "
                "sample of some class to train on, or none to validate with"
            )
        weight = np.ones(len(codes)) if examples.weight is None else examples.weight
        training = examples._replace(weight=np.where(is_validated, 0.0, weight))
        return training, np.where(is_validated, weight, 0.0)

    def _train(
        self,
        examples: Examples,
        validation_weight: NDArray[np.float64],
        settings: Settings,
        start: dict[str, NDArray[Any]] | None,
    ) -> dict[str, Any]:
        heaviest = 1.0 if examples.weight is None else float(examples.weight.max())
        largest = float(examples.class_weight.max()) * settings["eta0"]
        if not math.isfinite(largest * heaviest):
            raise ValueError(
                f"eta0={settings['eta0']} times class_weight and sample_weight overflows; "
                "reduce them"
            )

        def train(callback: Callback | None) -> dict[str, Any]:
            try:
                return _core.online_fit(
                    examples.X,
                    examples.codes,
                    examples.given_weight(),
                    validation_weight,
                    examples.class_weight,
                    examples.positive,
                    zero_state(examples) if start is None else start,
                    core_settings(settings, examples.X),
                    callback,
                    examples.coded,
                )
            except _core.NumericError as error:
                raise ValueError(self._overflow_message(str(error))) from error

        if not _validation.check_verbose(self.verbose):
            return train(None)
        measure = "objective" if settings.get("follows_loss") else "mistake_rate"
        if len(validation_weight) > 0:
            measure = "validation_error"
        return with_line_of_passes(train, measure)

    def _set_fit(self, examples: Examples, settings: Settings, result: dict[str, Any]) -> None:
        self.classes_ = examples.classes
        self._state: dict[str, NDArray[Any]] = result["state"]
        self.coef_, self.intercept_ = weights_of(self._state)
        self._set_record(result)

    def _check_state(self) -> None:
        self._check_weights(self.coef_, self.intercept_)
        is_whole = is_state(self._state, *self.coef_.shape)
        _validation.require_intact(is_whole, type(self).__name__, "the state of training")

    def _scores(self, matrix: Matrix) -> NDArray[np.float64]:
        return product(matrix, np.ascontiguousarray(self.coef_.T)) + self.intercept_

    _shorter_steps = "shorter steps"

    def _overflow_message(self, what: str) -> str:
        return (
            f"{type(self).__name__} overflows on these data ({what}): scale the data, or take "
            f"{self._shorter_steps}"
        )
