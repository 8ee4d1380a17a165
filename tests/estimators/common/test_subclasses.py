"""Subclasses of the estimators, as scikit-learn's own can be subclassed."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import validate_data

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    QuantileSVR,
    SGDClassifier,
)
from maxmargin._estimator.base import fitted_model

X = np.array([[0.0, 1.0], [1.0, 0.5], [0.2, 0.7], [3.0, 1.0], [4.0, 0.0], [3.5, 0.2]])
y = np.array([0, 0, 0, 1, 1, 1])
ESTIMATORS = [
    SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVCCV, LinearSVC, LinearSVR, LinearSVCCV, Perceptron,
    SGDClassifier, KernelPerceptron, QuantileSVR,
]  # fmt: skip


def keyword_subclass(base):
    class Keyword(base):
        def __init__(self, *, extra=1, **kw):
            super().__init__(**kw)
            self.extra = extra

    return Keyword


def positional_subclass(base):
    class Positional(base):
        def __init__(self, tol=0.01, extra=None):
            super().__init__(tol=tol)
            self.extra = extra

    return Positional


def varargs_subclass(base):
    class Varargs(base):
        def __init__(self, *args, extra=1, **kw):
            super().__init__(**kw)
            self.extra = extra

    return Varargs


class OverQuantumKernel(SVC):
    """The pattern of qiskit-machine-learning's QSVC."""

    def __init__(self, *, quantum_kernel=None, **kwargs):
        self._quantum_kernel = quantum_kernel
        super().__init__(kernel="linear", **kwargs)

    @property
    def quantum_kernel(self):
        return self._quantum_kernel

    @quantum_kernel.setter
    def quantum_kernel(self, value):
        self._quantum_kernel = value

    @classmethod
    def _get_param_names(cls):
        names = SVC._get_param_names()
        names.remove("kernel")
        return sorted([*names, "quantum_kernel"])


@pytest.mark.parametrize("base", ESTIMATORS)
def test_keyword_arguments_that_are_passed_on_are_no_parameters(base):
    made = keyword_subclass(base)(extra=4, tol=0.25)
    assert made.tol == 0.25
    assert made.get_params() == {"extra": 4}
    assert repr(made) == "Keyword(extra=4)"
    assert repr(made.set_params(extra=1)) == "Keyword()"
    assert clone(made.set_params(extra=7)).get_params() == {"extra": 7}
    with pytest.raises(ValueError, match=r"Invalid parameter 'tol' for estimator Keyword\(extra=7"):
        made.set_params(tol=1.0)


@pytest.mark.parametrize("base", ESTIMATORS)
def test_positional_parameters(base):
    made = positional_subclass(base)(0.25, "x")
    assert made.get_params() == {"extra": "x", "tol": 0.25}
    assert repr(made) == "Positional(tol=0.25, extra='x')"
    assert clone(made).get_params() == made.get_params()
    assert made.set_params(tol=0.5).tol == 0.5


@pytest.mark.parametrize("base", ESTIMATORS)
def test_arguments_without_names_are_refused_as_in_scikit_learn(base):
    made = varargs_subclass(base)()
    theirs = varargs_subclass(sklearn.svm.SVC)()
    for use in (lambda e: e.get_params(), repr, clone, lambda e: e.set_params(extra=2)):
        for estimator in (made, theirs):
            with pytest.raises(RuntimeError, match=r"should always specify their parameters"):
                use(estimator)


def test_a_parameter_that_is_not_kept_is_an_attribute_error():
    class Forgetful(SVC):
        def __init__(self, *, extra=1, **kw):
            super().__init__(**kw)

    for use in (repr, clone, lambda e: e.get_params()):
        with pytest.raises(AttributeError, match="'Forgetful' object has no attribute 'extra'"):
            use(Forgetful())


def test_an_overridden_get_param_names():
    made = OverQuantumKernel(quantum_kernel="q", C=3.0)
    params = made.get_params()
    assert set(params) == {*SVC().get_params()} - {"kernel"} | {"quantum_kernel"}
    assert (params["C"], params["quantum_kernel"]) == (3.0, "q")
    assert repr(made).startswith("OverQuantumKernel(quantum_kernel='q', C=3.0, ")
    again = clone(made.set_params(quantum_kernel="r", C=4.0))
    assert (again.C, again.quantum_kernel, again.kernel) == (4.0, "r", "linear")
    assert again.fit(X, y).predict(X).tolist() == y.tolist()
    assert pickle.loads(pickle.dumps(again)).get_params() == again.get_params()
    found = GridSearchCV(OverQuantumKernel(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert found.best_estimator_.C in (0.1, 1.0)


@pytest.mark.parametrize("base", ESTIMATORS)
def test_all_parameters_are_shown_where_scikit_learn_is_to_show_them(base):
    assert repr(base()) == f"{base.__name__}()"
    with sklearn.config_context(print_changed_only=False):
        text = repr(base(tol=0.25))
    for name, value in base(tol=0.25).get_params().items():
        assert f"{name}={value!r}" in text
    assert clone(eval(text, {base.__name__: base})).get_params() == base(tol=0.25).get_params()


def test_metadata_of_a_fit_of_a_subclass():
    class Grouped(SVC):
        def fit(self, X, y, sample_weight=None, groups=None, **kw):
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        made = Grouped().set_fit_request(groups=True)
        assert made.get_metadata_routing().fit.requests == {"sample_weight": None, "groups": True}
        with pytest.raises(TypeError, match="Unexpected args"):
            made.set_fit_request(kw=True)


@pytest.mark.parametrize("base", [SVC, SVR, OneClassSVM, LinearSVC, Perceptron])
def test_a_fit_that_validates_with_scikit_learn(base):
    class Validating(base):
        def fit(self, X, y):
            return super().fit(*validate_data(self, X, y))

    named = pd.DataFrame(X, columns=["a", "b"])
    for again in (named, X, pd.DataFrame(np.c_[X, X[:, 0]], columns=["a", "b", "c"])):
        model = Validating().fit(named, y)
        model.fit(again, y)
        assert model.predict(np.asarray(again)).shape == (6,)
        assert model.n_features_in_ == again.shape[1]


@pytest.mark.parametrize("base", ESTIMATORS)
def test_dir_names_what_there_is(base):
    names = dir(base())
    assert all(hasattr(base(), name) for name in names if name[0] != "_")
    assert {"fit", "predict", "get_params", "tol"} <= {*names}
    assert "n_iter_" not in names
    assert "n_iter_" in dir(base().fit(np.tile(X, (4, 1)), np.tile(y, 4)))


def test_dir_computes_nothing():
    model = SVC(kernel="linear").fit(X, y)
    dir(model)
    assert "weights" not in vars(fitted_model(model))
