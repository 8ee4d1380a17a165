"""Subclasses of scikit-learn's estimators under the patch, as other libraries write them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR

from maxmargin import sklearn_patched

X, y = load_iris(return_X_y=True)
NEGATIVE = np.r_[-1e-3, np.ones(149)]


class FixedKernel(SVC):
    """A parameter of scikit-learn's set by the class."""

    def __init__(self, C=1.0):
        super().__init__(C=C, kernel="linear")


class OwnParameter(SVC):
    """As pyRiemann's: a parameter that scikit-learn's class does not know, a kernel of its own."""

    def __init__(self, *, alpha=2.0, C=1.0):
        super().__init__(C=C, kernel="precomputed")
        self.alpha = alpha

    def _gram(self, A, B):
        return self.alpha * A @ B.T

    def fit(self, X, y, sample_weight=None):
        self.data_ = X
        return super().fit(self._gram(X, X), y, sample_weight)

    def predict(self, X):
        return super().predict(self._gram(X, self.data_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


class Keywords(SVC):
    """As qiskit-machine-learning's: keywords handed on, names of parameters from the base class."""

    def __init__(self, *, extra=None, **kwargs):
        super().__init__(kernel=self._values, **kwargs)
        self.extra = extra

    def _values(self, A, B):
        return np.asarray(A) @ np.asarray(B).T

    @classmethod
    def _get_param_names(cls):
        return sorted({*SVC._get_param_names(), "extra"} - {"kernel"})


class Hooks(SVR):
    """Methods that scikit-learn's own code calls."""

    calls = 0

    def _validate_targets(self, y):
        self.calls += 1
        return super()._validate_targets(np.asarray(y) + 1.0)

    def _decision_function(self, X):
        return 2.0 * super()._decision_function(X)


@pytest.mark.parametrize("make", [FixedKernel, OwnParameter, Keywords])
@pytest.mark.parametrize("weight", [None, NEGATIVE])
def test_a_subclass_is_trained_as_itself(make, weight):
    """With a weight that maxmargin refuses too."""
    theirs = make(C=0.5).fit(X, y, weight)
    with sklearn_patched():
        ours = make(C=0.5).fit(X, y, weight)
        labels = ours.predict(X)
    assert type(ours) is make
    np.testing.assert_array_equal(labels, theirs.predict(X))
    np.testing.assert_allclose(ours.n_support_, theirs.n_support_, atol=2)
    assert list(vars(ours)) == list(vars(theirs))


@pytest.mark.parametrize("make", [FixedKernel, OwnParameter, Keywords])
def test_parameters_of_a_subclass_are_its_own(make):
    def shown():
        model = make(C=3.0)
        with config_context(print_changed_only=False):
            return (
                repr(model),
                sorted(model.get_params()),
                repr(clone(model)),
                model.set_params(C=9),
            )

    expected = shown()
    with sklearn_patched():
        assert repr(shown()) == repr(expected)
        scores = cross_val_score(make(), X, y, cv=3)
    assert scores.min() > 0.9


def test_overridden_methods_are_called():
    theirs = Hooks(kernel="linear").fit(X, y)
    with sklearn_patched():
        ours = Hooks(kernel="linear").fit(X, y)
        values = ours._decision_function(X)
    assert ours.calls == theirs.calls == 1
    np.testing.assert_allclose(values, theirs._decision_function(X), atol=0.02)


def test_an_instance_of_a_class_from_before_is_trained(monkeypatch):
    """What was imported before the patch is the same class."""

    class Wrapper(BaseEstimator):
        def __init__(self, machine=None):
            self.machine = machine

        def fit(self, X, y):
            assert isinstance(self.machine, SVC)
            self.fitted_ = clone(self.machine).fit(X, y)
            return self

    before = Wrapper(SVC(tol=1.0))
    theirs = before.fit(X, y).fitted_.dual_coef_
    with sklearn_patched():
        ours = before.fit(X, y).fitted_.dual_coef_
    assert theirs.shape != ours.shape or (theirs != ours).any()


WORDS = ["a", "aa", "aab", "b", "bb", "bba", "ab", "ba"] * 4
IS_B = [word.count("b") > word.count("a") for word in WORDS]


def common_letters(A, B):
    """The kernel of the counts of letters."""
    counts = [np.array([[word.count("a"), word.count("b")] for word in words]) for words in (A, B)]
    return (counts[0] @ counts[1].T).astype(float)


@pytest.mark.parametrize("words", [WORDS, np.array(WORDS, dtype=object), [[w] for w in WORDS]])
def test_a_kernel_of_what_are_no_numbers(words, reasons):
    """As of lists of graphs or of sequences, which only the kernel can read."""

    def kernel(A, B):
        return common_letters(*([w if isinstance(w, str) else w[0] for w in Z] for Z in (A, B)))

    theirs = SVC(kernel=kernel).fit(words, IS_B)
    with sklearn_patched():
        ours = SVC(kernel=kernel).fit(words, IS_B)
        labels, values = ours.predict(words[:5]), ours.decision_function(words)
    assert not any("falls through" in reason for reason in reasons)
    np.testing.assert_array_equal(labels, theirs.predict(words[:5]))
    np.testing.assert_allclose(values, theirs.decision_function(words), atol=0.01)


def test_a_kernel_that_is_not_symmetric_is_scikit_learns(reasons):
    def kernel(A, B):
        return A @ np.diag([1.0, 2.0, 3.0, 4.0]) @ (B + 0.5).T

    theirs = SVC(kernel=kernel).fit(X, y)
    with sklearn_patched():
        ours = SVC(kernel=kernel).fit(X, y)
    assert any("not symmetric" in reason for reason in reasons)
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)


def test_a_subclass_of_the_perceptron():
    class Slow(Perceptron):
        def __init__(self, eta0=0.1, **kwargs):
            super().__init__(eta0=eta0, shuffle=False, **kwargs)

        @classmethod
        def _get_param_names(cls):
            return Perceptron._get_param_names()

    theirs = Slow().fit(X, y)
    with sklearn_patched():
        ours = Slow().fit(X, y)
    assert repr(ours) == repr(theirs)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
