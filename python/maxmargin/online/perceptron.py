"""The perceptron, on the samples themselves."""

from __future__ import annotations

from typing import Any

from maxmargin import _core, _input
from maxmargin._estimator.texts import ONLINE, documented
from maxmargin._input import ClassWeight
from maxmargin._input.examples import Examples
from maxmargin.online._fit import FittedOnline, OnlineLinear
from maxmargin.online._passes import warn_of_mistakes

__all__ = ["Perceptron"]


@documented(ONLINE)
class Perceptron(OnlineLinear):
    """The perceptron [1]_: a linear classifier that learns from its mistakes.

    Examples are taken one at a time, y_i in {-1, +1}. On a mistake, y_i (w.x_i + b) <= 0,

        w += eta0 y_i x_i,    b += eta0 y_i,

    until a pass over the data makes no mistake. If some separator has margin gamma, the bias
    counting as the weight of a constant feature 1, it makes at most R^2 / gamma^2 mistakes,
    R = max ||(x_i, 1)|| [2]_; `maxmargin.diagnostics.mistake_bound` gives that number.

    Parameters
    ----------
    penalty : {'l2', 'l1', 'elasticnet'} or None
        Penalty on w, of which every step takes its share: alpha/2 ||w||^2, alpha ||w||_1, or
        alpha ((1 - l1_ratio)/2 ||w||^2 + l1_ratio ||w||_1). b has none. With a penalty a pass
        without a mistake does not end training, since w goes on shrinking.
    eta0 : float
        Learning rate, > 0. Without weights, and starting from w = 0, it scales w and b and changes
        nothing else.
    tol : float or None
        With a number >= 0, training stops also when the share of mistakes has not fallen by more
        than `tol` below the least so far in `n_iter_no_change` passes in a row. With None it stops
        only at a pass without a mistake, or after `max_iter`.
    margin : float
        An example is a mistake where y_i f(x_i) <= `margin`, >= 0 (the margin perceptron).
    average : bool or int
        Whether `coef_` and `intercept_` are means of w and b over all examples gone through [3]_;
        a number >= 1 is the example with which the mean begins. An l1 charge counts from the
        example in which its feature is next not 0.
    multi_class : {'ovr', 'crammer_singer'}
        With more than two classes, one perceptron for each class against the rest, or the
        multi-class perceptron [4]_: on a mistake, f_y <= max of the others, w_y += eta0 x and
        w_r -= eta0 x for the (first) class r that attains the maximum.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_
    n_mistakes_ : ndarray of int64, shape (n_problems,)
        Mistakes in all passes; one problem with two classes or 'crammer_singer', else n_classes.
    mistakes_per_pass_
    converged_ : bool
        Whether the last pass made no mistake: without a penalty, the last w and b separate the
        training data. It and the three above speak of the last call of `fit` or `partial_fit`.
    t_, n_features_in_, feature_names_in_

    Notes
    -----
    scikit-learn's class of this name shuffles and stops by a tolerance on the loss by default; by
    its defaults, this one is Rosenblatt's rule, and `tol` is about mistakes. The penalties are
    those of scikit-learn, the l1 norm by cumulative truncation [5]_. Weights are float64, also for
    float32 data, whose values are exact in it.

    Large dense data are copied, a byte for an element, where there is neither a penalty nor an
    average: a pass reads the copy, and the data only where it leaves a mistake undecided.

    References
    ----------
    .. [1] F. Rosenblatt, "The perceptron: a probabilistic model for information storage and
       organization in the brain", Psychological Review 65 (1958).
    .. [2] A. B. J. Novikoff, "On convergence proofs on perceptrons", Symposium on the Mathematical
       Theory of Automata (1962), Theorem 1.
    .. [3] Y. Freund, R. E. Schapire, "Large margin classification using the perceptron algorithm",
       Machine Learning 37 (1999).
    .. [4] K. Crammer, Y. Singer, "Ultraconservative online algorithms for multiclass problems",
       Journal of Machine Learning Research 3 (2003).
    .. [5] Y. Tsuruoka, J. Tsujii, S. Ananiadou, "Stochastic gradient descent training for
       L1-regularized log-linear models with cumulative penalty", ACL (2009).

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> model = Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-1.0], [5.0]]).tolist()
    ['a', 'b']
    >>> model.converged_
    True
    """

    margin: float

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        eta0: float = 1.0,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        margin: float = 0.0,
        average: bool | int = False,
        multi_class: str = "ovr",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        verbose: bool | int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._store(locals())

    def _set_steps(self, settings: _core.OnlineSettings) -> None:
        settings.loss = _core.MarginLoss(_input.check_real("margin", self.margin, at_least=0))
        settings.step = _core.StepSize.constant(_input.check_real("eta0", self.eta0, above=0))

    def _warn(
        self, settings: _core.OnlineSettings, model: FittedOnline, examples: Examples
    ) -> None:
        warn_of_mistakes(self, model.passes, settings.passes.max_iter)
