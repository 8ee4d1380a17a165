"""What estimators of a family document alike, each text once, and its way into their docstrings.

A text is an entry of a numpydoc section. The class keeps its own as literal text, which goes before
that of the family; editors that read source see those, `help` and the site the whole.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type[Any])
Method = TypeVar("Method", bound=Callable[..., Any])

# Every estimator.
_ALL = """
n_jobs : int or None
    Threads. None or -1: as many as the process may use, by its affinity mask, CPU quota,
    MAXMARGIN_NUM_THREADS (else OMP_NUM_THREADS) and threadpoolctl; -2: all but one. The result does
    not depend on it.
n_features_in_ : int
    Features of the training data.
feature_names_in_ : ndarray of str
    Only where `X` has column names.
"""
CLASSIFIER = """
classes_ : ndarray of shape (n_classes,)
    Sorted labels.
"""
KERNEL = """
kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'}, Kernel or callable
    One of `maxmargin.kernels`, which has numbers of its own, so that `gamma`, `coef0` and `degree`
    must be left at their defaults; or a name:
    x.z; (gamma x.z + coef0)^degree; exp(-gamma ||x - z||^2); tanh(gamma x.z + coef0).
    'precomputed': X is the symmetric matrix of the kernel values of all samples with all; `predict`
    takes the values with all samples of `fit`, or with the support vectors, in the order of
    `support_`. Another callable is given two matrices of samples A and B and returns the values of
    all rows of A with all of B; it is called on blocks, and its values are kept while `fit` runs.
degree : int
    Degree of the polynomial kernel, >= 0.
gamma : {'scale', 'auto'} or float
    'scale' is 1 / (n_features * X.var()), 1 where the variance is zero, with a sample counted as
    often as its `sample_weight` says; 'auto' is 1 / n_features; or a number > 0.
coef0 : float
    Constant term of the polynomial and sigmoid kernels.
cache_size : float
    Budget for kernel rows in MB (2^20 bytes), > 0; two rows are always held. Apart from it, the
    solver holds the values of one block of variables with each other: as many as 1,024 rows have,
    and at most those of 8,192 variables.
"""
_CLASS_WEIGHT = """class_weight : dict, 'balanced' or None
    Factors of C_i by class; 'balanced' is n_samples / (n_classes * count of the class), by the sums
    of `sample_weight`."""
_SOLVER = """
verbose : bool or int
    Whether to show progress on stderr.
max_iter : int
    Cap on the iterations; -1 is a generous one of the solver's own.
time_limit : float or None
    Seconds after which the solver stops; `fit` warns and keeps what has been reached.
"""
KERNEL_MACHINE = f"""{KERNEL}{_SOLVER.rstrip()} Where
    Python evaluates the kernel (a callable, a composition that the core does not know), `fit`
    raises TimeoutError if it ends between two blocks of rows: there is no model without all values.
shrinking : bool
    Whether to set aside variables that look fixed at a bound. The result is checked on all.
tol : float
    Tolerance on the KKT violation, > 0 (LIBSVM's stopping rule; other estimators have other
    measures: docs/guide.md, "One name, several meanings").
callback : callable or None
    Called about every 50 ms with a dict of n_iter, kkt_violation, dual_objective (summed up step by
    step), n_free, n_bounded and seconds, of the machine that is being trained; and once at the end,
    with those of all machines together, as in `certificate_`. If it returns True before the end,
    `fit` raises `maxmargin.Cancelled`, discards what has been reached and leaves the estimator as
    it was; `time_limit` is the stop that keeps it.
support_ : ndarray of int64, shape (n_SV,)
    Rows of `X` that are support vectors, ascending.
support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
    `X[support_]`; empty where the kernel matrix was given.
n_support_ : ndarray of int64, shape (1,)
    Number of support vectors.
intercept_ : ndarray of float64, shape (1,)
    b.
coef_ : ndarray of float64, shape (1, n_features)
    Weights of the linear kernel.
certificate_ : Certificate
    Objectives, duality gap, KKT violation and cost.
n_iter_ : int
    Iterations of the solver.
fit_status_ : int
    0 if the solver converged, else 1.
shape_fit_ : tuple of int
    Shape of the training data.
"""
PAIRWISE = f"""{KERNEL_MACHINE}{CLASSIFIER}
max_iter : int
    Cap on the iterations of every machine; -1 is a generous one of the solver's own.
{_CLASS_WEIGHT}
decision_function_shape : {{'ovr', 'ovo'}}
    With more than two classes: 'ovo' gives the value of every machine, (i, j) positive for class i;
    'ovr' gives every class its votes, a whole number, plus its confidence squeezed into
    (-1/3, 1/3) to break ties, so that values of different votes are far apart.
break_ties : bool
    With more than two classes and 'ovr': whether `predict` is the class of the greatest decision
    value, rather than that of most votes.
probability : bool
    Whether to calibrate probabilities by cross-validation in five folds (five more fits); then
    there are `predict_proba` and `predict_log_proba`; `predict` stays what it is without. Weights
    of samples and classes count as copies there too. Every class needs five samples.
random_state : int, numpy Generator, RandomState or None
    Seed of the folds of `probability`; None is 0, so that fits repeat. Nothing else is random.
time_limit : float or None
    Seconds after which the solver stops; `fit` warns and keeps what has been reached. With
    `probability` they are those of all six fits: each may take an equal share of what is left, so
    that the last, which is the model, has all that the folds did not need.
support_ : ndarray of int64, shape (n_SV,)
    Rows of `X` that are support vectors, grouped by class.
n_support_ : ndarray of int64, shape (n_classes,)
    Support vectors of every class.
dual_coef_ : ndarray of float64, shape (n_classes - 1, n_SV)
    Coefficients y_i alpha_i in LIBSVM's layout; with two classes the sign is such that classes_[1]
    is positive.
intercept_ : ndarray of float64, shape (n_machines,)
    b of every machine.
coef_ : ndarray of float64, shape (n_machines, n_features)
    Weights of the linear kernel.
probA_ : ndarray of float64, shape (n_machines,)
    Only with `probability`: the first class of a pair has probability 1 / (1 + exp(A f + B)), f
    being the machine's value, positive for it. These are the A.
probB_ : ndarray of float64, shape (n_machines,)
    The B of those probabilities.
n_iter_ : ndarray of int64, shape (n_machines,)
    Iterations of every machine.
fit_status_ : int
    0 if every machine converged, else 1.
class_weight_ : ndarray of float64, shape (n_classes,)
    The factors of `class_weight`.
"""
REGRESSION = """
C : float
    Penalty of the loss, > 0; C_i is C times the weight of the sample.
epsilon : float
    Half the width of the tube inside which errors cost nothing, >= 0, in the units of y.
tol : float
    Tolerance on the KKT violation, > 0 (LIBSVM's stopping rule), in the units of y.
dual_coef_ : ndarray of float64, shape (1, n_SV)
    Coefficients alpha_i - alpha*_i, within [-C_i, C_i].
"""
LINEAR = f"""{_SOLVER}
time_limit : float or None
    Seconds after which `fit` warns and keeps what has been reached; of several machines, each may
    take an equal share of what is left.
dual : 'auto' or bool
    Accepted for scikit-learn's sake and without effect: the solver is chosen by the problem, and
    the solution is the same.
tol : float
    Tolerance on the duality gap, relative to the primal objective, > 0. (Other estimators have
    other measures: docs/guide.md, "One name, several meanings".)
fit_intercept : bool
    Whether there is a bias b.
intercept_scaling : float
    The constant feature s whose weight is b, > 0: the objective has the term 1/2 (b / s)^2.
    ``numpy.inf`` leaves b without a penalty.
random_state : int, numpy Generator, RandomState or None
    Seed of the order in which samples are visited; None is 0, so that fits repeat bitwise. It moves
    the solution within `tol`.
callback : callable or None
    Called about every 50 ms during `fit` with a dict of `n_iter`, `relative_gap`, `dual_objective`
    (an estimate), `n_free` (variables that are worked on), `n_bounded` (0) and `seconds`, of the
    machine that is being trained; returning True ends the fit with `maxmargin.Cancelled`. Once at
    the end, with those of all machines together, as in `certificate_`.
certificate_ : LinearCertificate
    Objectives, duality gap and the reason training stopped.
"""
LINEAR_CLASSIFICATION = f"""{LINEAR}{CLASSIFIER}
penalty : {{'l2', 'l1'}}
    1/2 ||w||^2, or ||w||_1, which makes many weights 0; the latter with the squared hinge only, and
    |b / s| for the bias.
loss : {{'squared_hinge', 'hinge'}}
    max(0, 1 - y_i f(x_i)) is 'hinge', and its square the other.
multi_class : {{'ovr', 'crammer_singer'}}
    With more than two classes, 'ovr' is one machine for each class against the rest and
    'crammer_singer' one for all of them together, which has no use for `penalty` and `loss` and
    ignores them, as in scikit-learn. Of two classes it has w = w_1 - w_0, which is that of the
    hinge loss with 2 C.
intercept_scaling : float
    The constant feature s whose weight is b, > 0: the objective has the term 1/2 (b / s)^2.
    ``numpy.inf`` leaves b without a penalty (only with 'ovr').
{_CLASS_WEIGHT} With more than two classes and 'ovr', the factor of a class holds in its own
    problem, where the rest has 1 (LIBLINEAR's rule).
max_iter : int
    Cap on the iterations of every machine: passes of coordinate descent, steps of a second-order
    method. -1 is a generous one of the solver's own.
n_jobs : int or None
    Threads, which share the classes. None or -1: as many as the process may use, by its affinity
    mask, CPU quota, MAXMARGIN_NUM_THREADS (else OMP_NUM_THREADS) and threadpoolctl; -2: all but
    one. The result does not depend on it.
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    w; with two classes that of classes_[1] against classes_[0].
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
    b.
n_iter_ : int
    Iterations; of several machines, the most that one of them took.
"""
PASSES = f"""{CLASSIFIER}
max_iter : int
    Greatest number of passes, >= 1.
shuffle : bool
    Whether every pass takes the samples in a new random order, rather than as given.
random_state : int, numpy Generator, RandomState or None
    Seed of the orders; None is 0.
n_iter_ : int
    Passes; of several problems, the most that one of them took.
mistakes_per_pass_ : list of ndarray of int64
    One array for each problem.
"""
ONLINE = f"""{PASSES}
random_state : int, numpy Generator, RandomState or None
    Seed of the orders, and of the samples that `early_stopping` keeps out; None is 0.
alpha : float
    Factor of the penalty, >= 0.
l1_ratio : float
    Share of the l1 norm in 'elasticnet', in [0, 1].
fit_intercept : bool
    Whether there is a bias b.
early_stopping : bool
    Whether a part of the data, the same share of every class, is kept out of training, and `tol` is
    applied to the share of it that is misclassified. `tol=None` means 0.001 then.
validation_fraction : float
    The part that `early_stopping` keeps out, in (0, 1).
n_iter_no_change : int
    Passes without progress that `tol` allows, >= 1.
class_weight : dict, 'balanced' or None
    Factors of the weights of samples by class; 'balanced' is n_samples / (n_classes * count of the
    class). In a problem of one class against several others, these have 1 (scikit-learn's rule).
warm_start : bool
    Whether `fit` goes on from the present weights, which must be for the same classes.
verbose : bool or int
    Whether to show progress on stderr: the pass, and the measure of `tol` in the last complete one.
    Of several problems, that of one; at the end their mean.
t_ : float
    1 plus the steps taken since w was 0; of several problems, the most.
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    w, or its average; with two classes that of classes_[1] against classes_[0].
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
    b, or its average.
"""

# What methods say alike: whole sections, and entries of parameters.
FIT = """
Parameters
----------
X : array-like or sparse matrix of shape (n_samples, n_features)
    C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything else is
    converted to a copy: of float32 where that holds the type exactly (bool, integers of up to 16
    bits), else of float64.

Returns
-------
self
    The estimator itself.

Raises
------
ValueError
    If a parameter, the data, the labels or targets, or the weights are not as described, or the
    training leaves the range of float64. The estimator then stays as it was.
Cancelled
    If `callback` returned True. The estimator stays as it was.

Warns
-----
ConvergenceWarning
    If the solver stopped before `tol` was reached. The model is usable.
"""
PREDICT = """
Parameters
----------
X : array-like or sparse matrix of shape (n_samples, n_features)

Raises
------
NotFittedError
    Before `fit`.
ValueError
    If `X` is not valid, has another number of features, or a value leaves the range of float64.
"""

PARAMETERS = "Parameters\n----------\n"
ATTRIBUTES = "Attributes\n----------\n"
# The sections of methods, in their order.
_OF_METHODS = (PARAMETERS, "Returns\n-------\n", "Raises\n------\n", "Warns\n-----\n")


def documented(family: str) -> Callable[[Class], Class]:
    """Complete the docstring of a class with the texts of its family.

    The section of parameters gets all of the constructor, in the order of its signature and with
    their defaults; names of attributes without a text of their own, with commas, get the family's.
    """
    shared = _entries(_ALL + family)

    def complete(cls: Class) -> Class:
        if cls.__doc__ is not None:  # as with python -OO
            cls.__doc__ = _completed(inspect.cleandoc(cls.__doc__), inspect.signature(cls), shared)
        return cls

    return complete


def documented_method(family: str) -> Callable[[Method], Method]:
    """Complete the docstring of a method with the sections of its family.

    Its parameters come in the order of its signature; a section of its own replaces the family's.
    """
    _, shared = _sections(family)

    def complete(method: Method) -> Method:
        if method.__doc__ is not None:
            head, sections = _sections(f"{inspect.cleandoc(method.__doc__)}\n\n")
            entries = _entries(shared[PARAMETERS]) | _entries(sections.pop(PARAMETERS, ""))
            names = [name for name in inspect.signature(method).parameters if name != "self"]
            parameters = "".join(entries[name] for name in names)
            sections = {**shared, **sections, PARAMETERS: parameters}
            parts = [
                title + sections[title].strip("\n") for title in _OF_METHODS if title in sections
            ]
            method.__doc__ = "\n\n".join([head.strip(), *parts])
        return method

    return complete


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first section, and the sections by their titles."""
    head, *parts = re.split(r"^(\w[\w ]+\n-{3,}\n)", text, flags=re.MULTILINE)
    return head, dict(zip(parts[::2], parts[1::2], strict=True))


def _completed(text: str, signature: inspect.Signature, shared: dict[str, str]) -> str:
    head, sections = _sections(text)
    own = shared | _entries(sections.pop(PARAMETERS, ""))
    parameters = "".join(
        own[name].replace("\n", f", default={parameter.default!r}\n", 1)
        for name, parameter in signature.parameters.items()
    )
    attributes = "".join(
        entry if " : " in entry else "".join(shared[one] for one in names.split(", "))
        for names, entry in _entries(sections[ATTRIBUTES]).items()
    )
    sections = {PARAMETERS: f"{parameters}\n", **sections, ATTRIBUTES: f"{attributes}\n"}
    return head + "".join(title + body for title, body in sections.items())


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by name; of two with one name, the last."""
    entries = re.findall(r"^\S.*\n(?: +.*\n)*", section, flags=re.MULTILINE)
    return {entry.split(" : ")[0].strip(): entry for entry in entries}
