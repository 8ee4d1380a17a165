"""A support vector classifier that chooses C and gamma by cross-validation."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.base import commit, fitted_model
from maxmargin._estimator.fitted import part
from maxmargin._estimator.folds import check_folds, check_splits, stratified_folds
from maxmargin._estimator.texts import FIT, PAIRWISE, documented, documented_method
from maxmargin._estimator.time_left import TimeLeft
from maxmargin._estimator.wording import shown
from maxmargin._input import Callback, ClassWeight
from maxmargin.kernels._parameter import Kernel, has_gamma
from maxmargin.svm._model import TrainedMachine
from maxmargin.svm._search import Fold, Scorer, Search
from maxmargin.svm.classification import SVC

__all__ = ["SVCCV"]

Self = TypeVar("Self", bound="SVCCV")


@dataclasses.dataclass(frozen=True, eq=False)
class FittedSearch(TrainedMachine):
    C: float = dataclasses.field(kw_only=True)
    gamma: float | None = dataclasses.field(kw_only=True)
    Cs: NDArray[np.float64] = dataclasses.field(kw_only=True)
    gammas: NDArray[np.float64] | None = dataclasses.field(kw_only=True)
    scores: NDArray[np.float64] = dataclasses.field(kw_only=True)
    certificates: NDArray[np.object_] = dataclasses.field(kw_only=True)
    best_score: float = dataclasses.field(kw_only=True)


@documented(PAIRWISE)
class SVCCV(SVC):
    """`SVC` with the C and gamma of a grid that do best in cross-validation.

    All C, folds and pairs of classes of a gamma share one matrix of kernel values, where it fits in
    `cache_size` with 8 bytes a value, twice for more than two classes; the samples held out are
    predicted from it. Each fit begins at the solution for the C before it. Where the matrix does
    not fit, kernel rows are computed as `SVC` computes them. Scores are those of an `SVC` on the
    rows of each fold in the order of `X`, at equal `tol`. The point with the highest mean score
    is taken, of several such the least C and then the least gamma, and trained on all samples; the
    fitted attributes are of that machine. Of `time_limit`, the last fit has as much as a fold; a
    point that was not reached has the score NaN.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,)
        Values of C, > 0, ascending; or how many, from 2^-5 to 2^15 with equal ratios. Those of
        LIBSVM's grid search are 11.
    gammas : int or array-like of shape (n_gammas,)
        Values of gamma, > 0, ascending; or how many, from 2^-15 to 2^3 with equal ratios, which is
        for features of about unit size. Not used with a kernel that has no gamma to be set.
    cv : int, cross-validation splitter or iterable
        Folds, >= 2. Every class needs that many samples. Each fold has its share of every class;
        which samples it gets is drawn with `random_state`. Or what yields, for every fold, the rows
        to train on and those held out, as scikit-learn's splitters do: itself, or by a method
        `split(X, y)`. Every class needs a sample to train on, of positive weight.
    scoring : None, str or callable
        None is the accuracy on the samples held out, with the sample weights. Or the name of one of
        scikit-learn's scorers, or a function of a fitted `SVC`, the samples held out and their
        labels, of whose values the greatest is the best.
    loss : {'hinge', 'squared_hinge'}
        max(0, 1 - y_i f(x_i)), or its square.
    random_state : int, numpy Generator, RandomState or None
        Seed of the folds, and of those of `probability`; None is 0, so that fits repeat. Nothing
        else is random.
    cache_size : float
        Budget for kernel values in MB (2^20 bytes), > 0.
    time_limit : float or None
        Seconds after which the search stops; `fit` keeps what has been reached.
    callback : callable or None
        As that of `SVC`; while the search goes on, the dict has share_done too, the share of its
        machines that are trained.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    gamma_ : float
        The gamma that was chosen; only where the kernel has one to be set.
    best_score_ : float
        The mean score of that point.
    Cs_ : ndarray of float64, shape (n_Cs,)
        The values of C.
    gammas_ : ndarray of float64, shape (n_gammas,)
        The values of gamma; only where the kernel has one to be set.
    scores_ : ndarray of float64, shape (n_folds, n_Cs, n_gammas)
        The scores, by fold and point; one gamma where the kernel has none to be set.
    certificates_ : ndarray of Certificate, shape (n_folds, n_Cs, n_gammas)
        That of every fit, of all pairs of classes together, without `machines`.
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    probA_, probB_, certificate_, n_iter_, fit_status_
    shape_fit_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from maxmargin import SVCCV
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> model = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], cv=2).fit(X, y)
    >>> model.C_, model.gamma_, model.best_score_
    (0.1, 0.1, 1.0)
    """

    Cs: Any
    gammas: Any
    cv: Any
    scoring: Any

    C: float = part("C")
    C_: float = part("C")
    gamma_: float = part("gamma")
    best_score_: float = part("best_score")
    Cs_: NDArray[np.float64] = part("Cs")
    gammas_: NDArray[np.float64] = part("gammas")
    scores_: NDArray[np.float64] = part("scores")
    certificates_: NDArray[np.object_] = part("certificates")

    def __init__(
        self,
        *,
        Cs: Any = 11,
        gammas: Any = 10,
        cv: Any = 5,
        scoring: Any = None,
        loss: str = "hinge",
        kernel: Kernel = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 1000,
        class_weight: ClassWeight = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        probability: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C and gamma by cross-validation and train on samples `X` with labels `y`.

        A warning is of the final machine.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes, each with a sample in every fold.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the bound of each alpha, >= 0. A sample of weight 0 is left out.
        """
        begun = time.perf_counter()
        Cs = _grid("Cs", self.Cs, -5.0, 15.0)
        gammas = _grid("gammas", self.gammas, -15.0, 3.0)
        scorer = _scorer(self.scoring, self.break_ties)
        own = set(self._get_param_names()) & set(SVC._get_param_names())
        common = {name: getattr(self, name) for name in own}
        cell = SVC(**{**common, "probability": False})
        cell._counts_weights = self._counts_weights
        (_, _, is_squared), training = cell._check_parameters()
        is_searched = has_gamma(training.kernel)
        matrix = self._matrix_to_fit(X)
        codes, classes = _input.check_labels(y, matrix.shape[0], type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        folds = self._folds(X, y, codes, weight, classes)
        bounds = [
            _input.upper_bounds(
                C, self._class_weight(codes, weight, classes), codes, weight, classes
            )
            for C in (Cs[0], Cs[-1])
        ]
        if is_squared:
            _input.check_ridge(bounds[0])
        samples, training = cell._prepare(matrix, training, bounds[1], weight)
        kernels = [training.kernel]
        if is_searched:
            kernels = [training.kernel._replace(gamma=float(gamma)) for gamma in gammas]
        left = TimeLeft(training.settings["time_limit"], len(folds) + 1, begun)
        search = Search(
            cell=cell,
            training=training,
            Cs=Cs,
            kernels=kernels,
            sets_gamma=is_searched,
            folds=folds,
            scorer=scorer,
            end=time.perf_counter() + left.share(len(folds)),
            X=X,
            y=y,
            matrix=matrix,
            samples=samples,
            codes=codes,
            classes=classes,
            weight=weight,
        )
        scores, certificates = search.run()
        means = np.where(np.isnan(scores), -np.inf, scores).mean(axis=0)
        best = np.unravel_index(int(means.argmax()), means.shape)
        chosen: dict[str, Any] = {"C": float(Cs[best[0]])}
        if is_searched:
            chosen["gamma"] = float(gammas[best[1]])
        limit = None if self.time_limit is None else max(left.share(), 1e-9)
        final = SVC(**{**common, **chosen, "time_limit": limit})
        final._counts_weights = self._counts_weights
        model = fitted_model(final.fit(X, y, sample_weight=sample_weight))
        commit(
            self,
            FittedSearch(
                **{field.name: getattr(model, field.name) for field in dataclasses.fields(model)},
                C=chosen["C"],
                gamma=chosen.get("gamma"),
                Cs=Cs,
                gammas=gammas if is_searched else None,
                scores=scores,
                certificates=certificates,
                best_score=float(scores.mean(axis=0)[best]),
            ),
        )
        return self

    def _class_weight(
        self, codes: NDArray[np.int64], weight: NDArray[np.float64], classes: NDArray[Any]
    ) -> NDArray[np.float64]:
        return _input.check_class_weight(self.class_weight, classes, codes, self._counted(weight))

    def _folds(
        self,
        X: Any,
        y: Any,
        codes: NDArray[np.int64],
        weight: NDArray[np.float64],
        classes: NDArray[Any],
    ) -> list[Fold]:
        """Return the folds, with class weights as a fit on the rows of each would have them."""
        has_splits = hasattr(self.cv, "split") or np.iterable(self.cv)
        if has_splits and not isinstance(self.cv, str):
            folds = check_splits(self.cv, X, y, codes, weight, classes)
        else:
            n_folds = _input.check_integer("cv", self.cv, at_least=2)
            check_folds(codes, weight, classes, n_folds, f"cv={n_folds}")
            seed = _input.check_seed(self.random_state)
            fold_of = stratified_folds(codes, weight, n_folds, seed, goes_on=True)
            folds = [
                (np.where(fold_of == fold, 0.0, weight), np.flatnonzero(fold_of == fold))
                for fold in range(n_folds)
            ]
        weighted = []
        for trained, held_out in folds:
            rows = np.flatnonzero(trained)
            factors = self._class_weight(codes[rows], trained[rows], classes)
            _input.check_weighted_classes(factors[codes] * trained, codes, classes)
            weighted.append((factors[codes] * trained, held_out))
        return weighted


def _grid(name: str, values: Any, begin: float, end: float) -> NDArray[np.float64]:
    """Return the values of a grid, or as many as asked for, between these powers of 2."""
    if isinstance(values, (int, np.integer)) and not isinstance(values, bool):
        n = _input.check_integer(name, values, at_least=1)
        return np.logspace(begin, end, n, base=2.0)
    return _input.check_grid(name, values)


def _accuracy(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) == y))


def _scorer(scoring: Any, break_ties: bool) -> Scorer | None:
    """Return what scores a fitted estimator; None for the accuracy of the core's votes."""
    if scoring is None:
        return _accuracy if break_ties else None
    if isinstance(scoring, str):
        try:
            from sklearn.metrics import get_scorer
        except ImportError as error:
            raise ImportError(f"scoring={scoring!r} needs scikit-learn") from error
        scorer: Scorer = get_scorer(scoring)
        return scorer
    if not callable(scoring):
        raise ValueError(f"scoring must be None, a name or a callable, got {shown(scoring)}")
    return scoring  # type: ignore[no-any-return]
