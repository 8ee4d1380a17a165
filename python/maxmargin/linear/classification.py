"""Linear support vector classification."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Classifier
from maxmargin._estimator.certificate import LinearCertificate, linear_certificate_of
from maxmargin._estimator.fitted import part
from maxmargin._estimator.linear_functions import FittedFunctions, LinearFunctions
from maxmargin._estimator.one_vs_rest import OneVsRest
from maxmargin._estimator.texts import FIT, LINEAR_CLASSIFICATION, documented, documented_method
from maxmargin._input import Callback, ClassWeight
from maxmargin._input.sparse import Matrix
from maxmargin.linear._fit import (
    FittedMachine,
    LinearTraining,
    Solution,
    commit,
    intercept_scaling_of,
    run,
    training_of,
    warn_of_stop,
)

__all__ = ["LinearSVC"]

MULTI_CLASS = ("ovr", "crammer_singer")

Self = TypeVar("Self", bound="LinearSVC")


class ClassProblem(NamedTuple):
    """Samples of several classes, checked, and how machines are to be trained on them."""

    matrix: Matrix
    codes: NDArray[np.int64]
    labels: dict[str, Any]  # what the fitted state holds of them
    class_weight: NDArray[np.float64]
    weight: NDArray[np.float64]
    formulation: _core.LinearFormulation
    training: LinearTraining

    def check_weights(self, C: float) -> None:
        """Check that C times the weights is finite, and positive somewhere in every class."""
        _input.upper_bounds(C, self.class_weight, self.codes, self.weight, self.labels["classes"])

    def train(
        self,
        Cs: NDArray[np.float64],
        callback: Callback | None,
        fold_of: NDArray[np.int64] | None = None,
        n_folds: int = 0,
    ) -> list[Solution]:
        """Return the solutions for every fold left out (none: all samples) and C."""
        return _core.linear_svc_fit(
            self.matrix,
            self.codes,
            self.weight,
            self.class_weight,
            np.empty(0, dtype=np.int64) if fold_of is None else fold_of,
            n_folds,
            Cs,
            self.formulation,
            self.training.options,
            callback,
        )


@documented(LINEAR_CLASSIFICATION)
class LinearSVC(LinearFunctions, OneVsRest, Classifier):
    """Linear support vector classification, one class against the rest or all together.

    Solves, with y_i in {-1, +1} and f(x) = w.x + b,

        min 1/2 ||w||^2 + 1/2 (b / s)^2 + sum of C_i max(0, 1 - y_i f(x_i))^2

    or the same with the hinge loss max(0, 1 - y_i f(x_i)); s is `intercept_scaling`. The term in b
    is there because b is the weight of a further feature that is s in every sample, as in LIBLINEAR
    and in scikit-learn; it vanishes as s grows, and ``intercept_scaling=numpy.inf`` solves the
    problem without it, whose b is that of `SVC`. Training ends when the duality gap proves that the
    objective is within `tol` of its least value, relative to it; `certificate_` has
    the gap.

    With ``multi_class='crammer_singer'`` there is one problem of all classes m, with f_m(x) =
    w_m.x + b_m for each [4]_:

        min sum over m of (1/2 ||w_m||^2 + 1/2 (b_m / s)^2)
            + sum of C_i max(0, 1 - (f of the class of x_i - the greatest f of another))

    Parameters
    ----------
    C : float
        Penalty of the loss, > 0; C_i is C times the weights of the sample and of its class.

    Attributes
    ----------
    classes_, coef_, intercept_, certificate_, n_iter_, n_features_in_, feature_names_in_

    See Also
    --------
    SVC : Support vector classification with kernels, one class against one.

    References
    ----------
    .. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, "A dual coordinate
       descent method for large-scale linear SVM", ICML 2008.
    .. [2] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel representations",
       JMLR 2 (2001): the interior point method, where Newton's stalls.
    .. [3] S. S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large
       scale linear SVMs", JMLR 6 (2005): Newton's method for many more samples than features.
    .. [4] K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based
       vector machines", JMLR 2 (2001).
    .. [5] S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, "A sequential dual
       method for large scale multi-class linear SVMs", KDD 2008: the solver of [4]_.
    .. [6] J. D. Lee, Y. Sun, M. A. Saunders, "Proximal Newton-type methods for minimizing composite
       functions", SIAM Journal on Optimization 24 (2014): penalty l1 on few features.
    .. [7] Y. Yan, Q. Li, "An efficient augmented Lagrangian method for support vector machine",
       Optimization Methods and Software 35 (2020): the hinge loss in Newton's method.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> model = LinearSVC().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-1.0], [5.0]]).tolist()
    ['a', 'b']
    >>> model.certificate_.converged
    True
    """

    penalty: str
    loss: str
    C: float
    multi_class: str
    class_weight: ClassWeight
    random_state: Any

    _model_type: type[FittedFunctions] = FittedMachine

    certificate_: LinearCertificate = part("certificate")
    n_iter_: int = part("n_iter")

    _warn_of_stop = warn_of_stop

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out.
        """
        problem = self._prepare(X, y, sample_weight)
        C = _input.check_C(self.C)
        problem.check_weights(C)
        [(core, _)], certificate = run(
            self, lambda callback: problem.train(np.array([C]), callback), problem.training
        )
        commit(self, FittedMachine(core=core, certificate=certificate, **problem.labels))
        return self

    def path(self: Self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[Self]:
        """Train a model for every C, each from the one before it; the estimator stays as it is.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        Cs : array-like of shape (n_Cs,)
            Values of C, > 0, ascending.

        Returns
        -------
        list of LinearSVC
            Fitted copies of the estimator with `C` set, in the order of `Cs`. `seconds` of their
            certificates are those of the solver, for that C.

        Raises
        ------
        ValueError, Cancelled
            As in `fit`.

        Warns
        -----
        ConvergenceWarning
            For every C whose solver stopped before `tol` was reached.
        """
        problem = self._prepare(X, y, sample_weight)
        grid = _input.check_grid("Cs", Cs)
        problem.check_weights(grid[-1])
        solutions, _ = run(self, lambda callback: problem.train(grid, callback), problem.training)
        models = []
        for C, (core, outcomes) in zip(grid.tolist(), solutions, strict=True):
            model = type(self)(**self.get_params()).set_params(C=C)
            seconds = sum(outcome.seconds for outcome in outcomes)
            certificate = linear_certificate_of(outcomes, seconds)
            commit(model, FittedMachine(core=core, certificate=certificate, **problem.labels))
            models.append(model)
        return models

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> ClassProblem:
        owner = type(self).__name__
        training = training_of(self)
        formulation = self._check_formulation()
        matrix = _input.with_weights(self._matrix_to_fit(X), owner)
        codes, classes = _input.check_labels(y, matrix.shape[0], owner)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        class_weight = _input.check_class_weight(
            self.class_weight, classes, codes, self._counted(weight)
        )
        labels = {"classes": classes, "feature_names": _input.feature_names(X)}
        return ClassProblem(matrix, codes, labels, class_weight, weight, formulation, training)

    def _check_formulation(self) -> _core.LinearFormulation:
        multi_class = _input.check_choice("multi_class", self.multi_class, MULTI_CLASS)
        penalty = _input.check_choice("penalty", self.penalty, ("l1", "l2"))
        loss = _input.check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        scaling = intercept_scaling_of(self)
        if multi_class == "crammer_singer":
            if np.isinf(scaling):
                raise ValueError(
                    "intercept_scaling must be a finite number > 0 with "
                    "multi_class='crammer_singer', got inf"
                )
            return _core.LinearFormulation(loss=loss, intercept_scaling=scaling, is_multiclass=True)
        if penalty == "l1" and loss == "hinge":
            raise ValueError(
                "penalty='l1' is available with loss='squared_hinge' only, got loss='hinge'"
            )
        return _core.LinearFormulation(loss=loss, penalty=penalty, intercept_scaling=scaling)
