"""The perceptron in the feature space of a kernel."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Classifier, commit, fitted_model
from maxmargin._estimator.fitted import FittedState, part
from maxmargin._estimator.one_vs_rest import OneVsRest, positive_classes
from maxmargin._estimator.texts import FIT, PASSES, documented, documented_method
from maxmargin._input import Callback, Gamma
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows
from maxmargin.kernels._parameter import (
    KernelParams,
    check_kernel,
    check_samples,
    overflow_message,
    with_gamma,
)
from maxmargin.online._passes import Passes, check_passes, passes_of, warn_of_mistakes
from maxmargin.progress import with_line_of_passes

__all__ = ["KernelPerceptron"]

MULTI_CLASS = ("ovr", "crammer_singer")

Self = TypeVar("Self", bound="KernelPerceptron")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedExpansion(FittedState):
    """Functions that are sums of kernel values with support vectors, and how they were found."""

    classes: NDArray[Any]
    kernel: KernelParams
    vectors: Matrix
    dual_coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    support: NDArray[np.int64]
    alpha: NDArray[np.int64]
    passes: Passes
    kernel_rows: int

    def check(self) -> None:
        _input.check_fits(isinstance(self.kernel, KernelParams), "the kernel")
        _input.check_fits(_input.are_classes(self.classes), "classes_")
        coef, n_problems = self.dual_coef, len(positive_classes(len(self.classes)))
        is_coef = _input.is_finite_array(coef, np.float64, (n_problems, None))
        _input.check_fits(is_coef, "dual_coef_")
        is_offset = _input.is_finite_array(self.intercept, np.float64, (n_problems,))
        _input.check_fits(is_offset, "intercept_")
        is_matrix = _input.is_matrix(self.vectors, (coef.shape[1], self.n_features))
        _input.check_fits(is_matrix, "support_vectors_")
        n_samples = self.alpha.shape[-1]
        shapes = (n_samples,), (n_problems, n_samples)
        is_alpha = any(_input.is_array(self.alpha, np.int64, shape) for shape in shapes)
        _input.check_fits(is_alpha, "alpha_")
        is_support = _input.valid_indices(self.support, coef.shape[1], n_samples)
        _input.check_fits(is_support, "support_")
        super().check()

    @property
    def n_features(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def shown_vectors(self) -> Any:
        vectors = self.vectors
        return vectors.to_scipy() if isinstance(vectors, CsrMatrix) else vectors

    @cached_property
    def decision(self) -> _core.Decision:
        kernel = self.kernel.to_core(self.vectors)
        return _core.Decision(self.vectors, self.dual_coef, -self.intercept, kernel)


@documented(PASSES)
class KernelPerceptron(OneVsRest, Classifier):
    """The perceptron in the feature space of a kernel [1]_ [2]_.

    alpha_i counts the mistakes on example i, y_i in {-1, +1}:

        f(x) = sum of alpha_i y_i (K(x_i, x) + 1),    alpha_i += 1 on a mistake, y_i f(x_i) <= 0,

    until a pass over the data makes no mistake. The 1 stands for a bias and goes with
    `fit_intercept`; with the linear kernel the mistakes are those of `Perceptron`. With more than
    two classes there is one function for each.

    Kernel values are computed in blocks of many examples, for all classes at once, and cached where
    that pays. The mistakes are those of the rule above, one example at a time, in float64: those
    of exact arithmetic, except where |f| is as small as the rounding of its sum.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid'}
        x.z; (gamma x.z + coef0)^degree; exp(-gamma ||x - z||^2); tanh(gamma x.z + coef0).
    degree : int
        Degree of the polynomial kernel, >= 0.
    gamma : {'scale', 'auto'} or float
        'scale' is 1 / (n_features * X.var()), 1 where the variance is zero; 'auto' is
        1 / n_features; or a number > 0.
    coef0 : float
        Constant term of the polynomial and sigmoid kernels.
    fit_intercept : bool
        Whether 1 is added to the kernel.
    average : bool
        Whether the coefficients are those of the mean of all f, one after each example of every
        pass [2]_, rather than of the last f. Training makes the same mistakes.
    multi_class : {'ovr', 'crammer_singer'}
        With more than two classes, 'ovr' is one problem for each class against the rest.
        'crammer_singer' is one problem of all classes [3]_: the function of an example's own class
        must be greater than all others, else the example is added to it and subtracted from that of
        the greatest rival (the first of several). With two classes both make the same mistakes, and
        one function is trained.
    tol : float or None
        With a number >= 0, training stops also when the share of mistakes has not fallen by more
        than `tol` below the least so far in 5 passes in a row. With None it stops only at a pass
        without a mistake, or after `max_iter`.
    cache_size : float
        Budget for kernel rows in MB (2^20 bytes), > 0.
    verbose : bool or int
        Whether to show progress on stderr: the pass, and the share of mistakes in the last complete
        one, of several problems their mean.

    Attributes
    ----------
    classes_
    alpha_ : ndarray of int64, shape (n_samples,) or (n_classes, n_samples)
        Mistakes on every training example, of one problem or of every class against the rest.
    support_ : ndarray of int64, shape (n_SV,)
        Rows of `X` that have a coefficient, ascending: those on which a mistake was made.
    support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
        `X[support_]`.
    dual_coef_ : ndarray of float64, shape (1, n_SV) or (n_classes, n_SV)
        Coefficients of the support vectors: alpha_i y_i, where there is no average.
    intercept_ : ndarray of float64, shape (1,) or (n_classes,)
        f(x) is dual_coef_ @ K(support_vectors_, x) + intercept_.
    n_iter_
    n_mistakes_ : ndarray of int64, shape (1,) or (n_classes,)
        Mistakes of every problem in all passes.
    mistakes_per_pass_
    converged_ : bool
        Whether the last pass made no mistake: f, if not averaged, separates the training data.
    kernel_rows_ : int
        Rows of the kernel matrix that were computed.
    n_features_in_, feature_names_in_

    References
    ----------
    .. [1] M. A. Aizerman, E. M. Braverman, L. I. Rozonoer, "Theoretical foundations of the
       potential function method in pattern recognition learning", Automation and Remote Control 25
       (1964).
    .. [2] Y. Freund, R. E. Schapire, "Large margin classification using the perceptron algorithm",
       Machine Learning 37 (1999), section 3.
    .. [3] K. Crammer, Y. Singer, "Ultraconservative online algorithms for multiclass problems",
       JMLR 3 (2003).

    Examples
    --------
    >>> from maxmargin import KernelPerceptron
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = KernelPerceptron(gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> model.predict(X).tolist()
    [0, 1, 1, 0]
    """

    kernel: str
    degree: int
    gamma: Gamma
    coef0: float
    fit_intercept: bool
    average: bool
    multi_class: str
    cache_size: float
    verbose: bool | int
    n_jobs: int | None

    alpha_: NDArray[np.int64] = part("alpha")
    support_: NDArray[np.int64] = part("support")
    support_vectors_: Any = part("shown_vectors")
    dual_coef_: NDArray[np.float64] = part("dual_coef")
    intercept_: NDArray[np.float64] = part("intercept")
    n_iter_: int = part("passes.n_iter")
    n_mistakes_: NDArray[np.int64] = part("passes.n_mistakes")
    mistakes_per_pass_: list[NDArray[np.int64]] = part("passes.mistakes_per_pass")
    converged_: bool = part("passes.converged")
    kernel_rows_: int = part("kernel_rows")

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        max_iter: int = 100,
        fit_intercept: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        average: bool = False,
        multi_class: str = "ovr",
        tol: float | None = None,
        cache_size: float = 200,
        verbose: bool | int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any) -> Self:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.

        Raises
        ------
        ValueError
            If a parameter, the data or the labels are not as described, or the kernel overflows.
            The estimator then stays as it was.

        Warns
        -----
        ConvergenceWarning
            If the last of `max_iter` passes still made mistakes.
        """
        passes = check_passes(self)
        n_threads = _input.check_n_jobs(self.n_jobs)
        average = _input.check_flag("average", self.average)
        _input.check_choice("multi_class", self.multi_class, MULTI_CLASS)
        cache_bytes = _input.check_cache_size(self.cache_size)
        offset = 1.0 if _input.check_flag("fit_intercept", self.fit_intercept) else 0.0
        kernel = check_kernel(self.kernel, self.gamma, self.coef0, self.degree)
        is_shown = _input.check_verbose(self.verbose)
        matrix = self._matrix_to_fit(X)
        codes, classes = _input.check_labels(y, matrix.shape[0], type(self).__name__)
        kernel = with_gamma(kernel, self.gamma, matrix)
        check_samples(kernel, matrix)
        is_joint = self.multi_class == "crammer_singer" and len(classes) > 2

        def train(callback: Callback | None) -> _core.KernelPerceptronFit:
            return _core.kernel_perceptron_fit(
                matrix,
                codes,
                positive_classes(len(classes)),
                kernel.to_core(matrix),
                passes,
                is_joint=is_joint,
                offset=offset,
                average=average,
                cache_bytes=cache_bytes,
                n_threads=n_threads,
                callback=callback,
            )

        try:
            result = with_line_of_passes(train, "mistake_rate") if is_shown else train(None)
        except _core.NumericError as error:
            raise ValueError(overflow_message(kernel, str(error))) from error
        alpha, beta = result.alpha, result.beta
        support = np.flatnonzero(beta.any(axis=0)).astype(np.int64)
        model = FittedExpansion(
            classes=classes,
            feature_names=_input.feature_names(X),
            kernel=kernel,
            vectors=take_rows(matrix, support),
            dual_coef=np.ascontiguousarray(beta[:, support]),
            intercept=offset * beta.sum(axis=1),
            support=support,
            alpha=alpha[0] if len(alpha) == 1 else alpha,
            passes=passes_of(result.records),
            kernel_rows=result.kernel_rows,
        )
        commit(self, model)
        warn_of_mistakes(self, model.passes, passes.max_iter)
        return self

    def _converted(self, state: dict[str, Any]) -> tuple[dict[str, Any], FittedExpansion]:
        n_features = state.pop("n_features_in_")
        for name in ("n_iter_", "n_mistakes_", "_dual_coef", "_cache"):
            state.pop(name, None)
        names = ("classes", "dual_coef", "intercept", "support", "alpha", "kernel_rows")
        model = FittedExpansion(
            feature_names=state.pop("feature_names_in_", None),
            kernel=state.pop("_kernel_params"),
            vectors=state.pop("_support_vectors"),
            passes=Passes(state.pop("mistakes_per_pass_"), state.pop("converged_")),
            **{name: state.pop(f"{name}_") for name in names},
        )
        model.check()
        _input.check_fits(model.n_features == n_features, "n_features_in_")
        return state, model

    def _is_own(self, model: Any) -> bool:
        return isinstance(model, FittedExpansion)

    def _scores(self, matrix: Matrix, model: FittedExpansion) -> NDArray[np.float64]:
        n_threads = _input.check_n_jobs(self.n_jobs)
        check_samples(model.kernel, matrix)
        return model.decision.decision_function(matrix, n_threads, model.kernel.factors(matrix))

    def _overflow_message(self, what: str) -> str:
        return overflow_message(fitted_model(self).kernel, what)
