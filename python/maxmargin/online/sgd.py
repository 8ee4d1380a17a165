"""Linear classifiers by stochastic subgradient descent on the primal objective."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.fitted import part
from maxmargin._estimator.texts import ONLINE, documented
from maxmargin._estimator.wording import counted
from maxmargin._input import ClassWeight
from maxmargin._input.examples import Examples
from maxmargin.exceptions import ConvergenceWarning, warn_caller
from maxmargin.online._fit import FittedOnline, OnlineLinear

__all__ = ["SGDClassifier"]

_LOSSES = {
    "hinge": _core.MarginLoss(1.0),
    "squared_hinge": _core.MarginLoss(1.0, is_squared=True),
    "perceptron": _core.MarginLoss(0.0),
}
_RATES = ("optimal", "pegasos", "constant", "adaptive", "invscaling")


@documented(ONLINE)
class SGDClassifier(OnlineLinear):
    """A linear classifier trained by stochastic subgradient descent.

    It goes towards the least value of

        F(w, b) = alpha R(w) + 1/n sum_i c_i loss(y_i (w.x_i + b)),    y_i in {-1, +1},

    where c_i is the weight of sample i and n the number of samples whose weight is not 0. R(w) is
    1/2 ||w||^2 (`penalty='l2'`), ||w||_1 ('l1') or (1 - l1_ratio)/2 ||w||^2 + l1_ratio ||w||_1
    ('elasticnet'); b has no penalty. The problem is that of a support vector machine with
    C = 1 / (alpha n). A step of length eta_t takes one sample, or a batch of them:

        w = (1 - eta_t alpha) w + eta_t c_i loss'_i y_i x_i,    b += eta_t c_i loss'_i y_i,

    loss'_i being minus a subgradient of the loss at m = y_i (w.x_i + b); the l1 norm acts by
    cumulative truncation [3]_. The perceptron is loss='perceptron', penalty=None,
    learning_rate='constant', eta0=1, shuffle=False, tol=None.

    Parameters
    ----------
    loss : {'hinge', 'squared_hinge', 'perceptron'}
        max(0, 1 - m), its square, or max(0, -m). With the square, whose slope grows, steps of
        'optimal' and 'pegasos' may diverge: take 'constant' or 'invscaling' with a small `eta0`.
    penalty : {'l2', 'l1', 'elasticnet'} or None
        R above.
    tol : float or None
        Training stops when the objective as it was met in a pass (the mean loss of the samples when
        they were read, and the penalty at the end) has not fallen by more than `tol` below the
        least so far in `n_iter_no_change` passes in a row. With None, after `max_iter`.
    learning_rate : {'optimal', 'pegasos', 'constant', 'adaptive', 'invscaling'}
        eta_t is 1 / (alpha (t + t0)) with Bottou's t0 = s alpha^(-3/4) - 1 ('optimal', as in
        scikit-learn; s is 1, or 2 + 2 alpha^(-1/4) with the squared hinge); 1 / (alpha t) [1]_
        ('pegasos'), both for `alpha` > 0; eta0; or eta0 / t^power_t ('invscaling').
        t counts steps from 1, over all passes, and goes on in `partial_fit` and with `warm_start`.
        With 'adaptive' it is eta0 at the beginning of every fit, and a fifth of what it was
        wherever `tol` would end training, which it does once eta_t is 1e-6 or less.
    eta0 : float
        Learning rate of 'constant', 'adaptive' (the first) and 'invscaling', > 0.
    power_t : float
        Exponent of 'invscaling', a finite number.
    average : bool or int
        Whether `coef_` and `intercept_` are means of w and b over the steps [2]_; a number >= 1 is
        the step with which the mean begins. An l1 charge counts from the step in which its
        feature is next not 0, or from the end of the pass.
    batch_size : int or 'all'
        Samples in a step, >= 1; 'all' is the subgradient method on the whole data.
    multi_class : {'ovr', 'crammer_singer'}
        With more than two classes, one problem for each class against the rest, or one for all,
        with m = f_y - max of the others [4]_.

    Attributes
    ----------
    classes_, coef_, intercept_
    objective_ : ndarray of float64, shape (n_problems,)
        F at `coef_` and `intercept_`, evaluated after `fit` (not `partial_fit`); one
        problem with two classes or 'crammer_singer', else one for each class. Samples that early
        stopping kept out have no part in it.
    n_iter_
    n_mistakes_ : ndarray of int64, shape (n_problems,)
        Samples read at which m was not above the margin of the loss, 1 or 0.
    mistakes_per_pass_
    converged_ : bool
        Whether `tol` ended training, or a pass after which no other would change w.
    t_, n_features_in_, feature_names_in_

    Notes
    -----
    scikit-learn's class of this name takes smaller steps in b for sparse data, counts the penalty
    at every step for its stopping rule, and offers losses without a margin. For the exact optimum,
    with a certificate, see `SVC` and the other machines.

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: primal estimated
       sub-gradient solver for SVM", Mathematical Programming 127 (2011).
    .. [2] B. T. Polyak, A. B. Juditsky, "Acceleration of stochastic approximation by averaging",
       SIAM Journal on Control and Optimization 30 (1992).
    .. [3] Y. Tsuruoka, J. Tsujii, S. Ananiadou, "Stochastic gradient descent training for
       L1-regularized log-linear models with cumulative penalty", ACL (2009).
    .. [4] K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based
       vector machines", Journal of Machine Learning Research 2 (2001).

    Examples
    --------
    >>> from maxmargin import SGDClassifier
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> model = SGDClassifier(alpha=0.01, random_state=0).fit(X, y)
    >>> model.predict([[-1.0], [5.0]]).tolist()
    ['a', 'b']
    """

    loss: str
    learning_rate: str
    power_t: float
    batch_size: int | str

    objective_: NDArray[np.float64] = part("objective")

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        average: bool | int = False,
        batch_size: int | str = 1,
        multi_class: str = "ovr",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        verbose: bool | int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._store(locals())

    _remedy = "take shorter steps, as learning_rate='constant' or 'invscaling' with a small eta0"

    def _set_steps(self, settings: _core.OnlineSettings) -> None:
        settings.loss = _LOSSES[_input.check_choice("loss", self.loss, tuple(_LOSSES))]
        settings.step = self._step_size()
        settings.follows_loss = True
        if isinstance(self.batch_size, str) and self.batch_size == "all":
            settings.batch_size = 0
        else:
            settings.batch_size = _input.check_integer("batch_size", self.batch_size, at_least=1)

    def _step_size(self) -> _core.StepSize:
        rate = _input.check_choice("learning_rate", self.learning_rate, _RATES)
        exponent = _input.check_real("power_t", self.power_t)
        eta0 = _input.check_real("eta0", self.eta0, above=0)
        if rate == "constant":
            return _core.StepSize.constant(eta0)
        if rate == "adaptive":
            return _core.StepSize.adaptive(eta0)
        if rate == "invscaling":
            return _core.StepSize.power(eta0, exponent)
        alpha = _input.check_real("alpha", self.alpha, at_least=0)
        if alpha == 0.0:
            raise ValueError(f"alpha must be > 0 with learning_rate={rate!r}, which divides by it")
        offset = 0.0 if rate == "pegasos" else self._bottou_offset(alpha)
        return _core.StepSize.inverse_time(alpha, offset)

    def _bottou_offset(self, alpha: float) -> float:
        """Return the t0 with which the first step ends where w is expected, alpha^(-1/4) away."""
        length = math.pow(alpha, -0.25)
        slope = 2.0 * (1.0 + length) if self.loss == "squared_hinge" else 1.0  # where m = -length
        return max(0.0, slope / (length * alpha) - 1.0)

    def _finished(
        self,
        names: NDArray[np.object_] | None,
        examples: Examples,
        settings: _core.OnlineSettings,
        result: _core.OnlineResult,
        *,
        is_one_pass: bool = False,
    ) -> FittedOnline:
        model = super()._finished(names, examples, settings, result)
        is_plain = settings.penalty.l1 == settings.penalty.l2 == 0.0
        converged = all(
            record.is_stalled or (record.is_separated and is_plain) for record in result.records
        )
        objective = None
        if not is_one_pass:
            objective = self._objective(examples, settings, model.core)
            converged = converged and not self._has_diverged(settings, objective, examples)
        passes = dataclasses.replace(model.passes, converged=converged)
        return dataclasses.replace(model, passes=passes, objective=objective)

    def _objective(
        self, examples: Examples, settings: _core.OnlineSettings, core: _core.LinearModel
    ) -> NDArray[np.float64]:
        objective = _core.online_objective(
            examples.X,
            examples.codes,
            examples.given_weight(),
            examples.class_weight,
            examples.positive,
            settings,
            core.coef,
            core.intercept,
        )
        if not np.isfinite(objective).all():
            raise ValueError(self._overflow_message("the objective overflows"))
        return objective

    def _has_diverged(
        self, settings: _core.OnlineSettings, objective: NDArray[np.float64], examples: Examples
    ) -> bool:
        """Return whether the weights are worse than none.

        The hinge with l2 is what the steps are made for: its last weights are rough, no more.
        """
        if self.loss == "perceptron" or not (self.loss == "squared_hinge" or settings.penalty.l1):
            return False
        return bool((objective > _mean_weight(examples)).any())

    def _warn(
        self, settings: _core.OnlineSettings, model: FittedOnline, examples: Examples
    ) -> None:
        passes, objective = settings.passes, model.objective
        assert objective is not None
        if model.passes.converged or passes.tol is None:
            return
        if self._has_diverged(settings, objective, examples):
            fault = (
                f"is no better than weights of 0: its objective is {objective.max():.4g}. "
                f"{self._remedy.capitalize()}."
            )
        else:
            fault = (
                f"did not converge: the objective still fell by more than tol={passes.tol:g} "
                f"in the last of {counted(passes.max_iter, 'pass', 'passes')}. Increase "
                "max_iter."
            )
        warn_caller(f"{type(self).__name__} {fault}", ConvergenceWarning)


def _mean_weight(examples: Examples) -> float:
    """Return the greatest mean of the c_i over the problems."""
    if examples.weight is None and (examples.class_weight == 1.0).all():
        return 1.0
    weight = np.ones(len(examples.codes)) if examples.weight is None else examples.weight
    n_examples = max(1, int(np.count_nonzero(weight)))
    by_class = np.bincount(examples.codes, weights=weight, minlength=len(examples.classes))
    if len(examples.positive) == 0:
        return float(examples.class_weight @ by_class) / n_examples
    of_positive = by_class[examples.positive]
    of_rest, factor = examples.class_weight.T
    means = (of_rest * (by_class.sum() - of_positive) + factor * of_positive) / n_examples
    return float(means.max())
