"""as_sklearn and from_sklearn: the same predictions from either library's estimator."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_iris

import maxmargin
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
    SGDClassifier,
    kernels,
)  # fmt: skip
from maxmargin.exceptions import NotFittedError

X, y = load_iris(return_X_y=True)
# About the origin, so that no terms of a decision value are much greater than it.
X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.05 * np.random.default_rng(0).normal(size=X.shape)
X[100:, 3] += 0.5  # which a line separates


def values_of(A, B):
    """A kernel of the user's."""
    return (np.asarray(A @ B.T if not sp.issparse(A) else (A @ B.T).toarray()) + 1.0) ** 2


KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "coef0": 0.5, "degree": 2},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "sigmoid", "gamma": 0.1},
    {"kernel": values_of},
]
OWN_KERNELS = [kernels.RBF(gamma=0.7), kernels.Polynomial(degree=2, gamma=0.1, coef0=1.0)]
MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]
METHODS = ("predict", "decision_function", "score_samples")


def machine(cls, **params):
    return cls(**({"nu": 0.3} if cls is NuSVC else {}), **params)


def assert_same(ours, theirs, features):
    for name in METHODS:
        if hasattr(ours, name):
            mine, other = getattr(ours, name)(features), getattr(theirs, name)(features)
            assert mine.shape == other.shape
            # To the rounding of sums of terms as great as the greatest.
            atol = 1e-12 * max(1.0, float(np.abs(other).max()))
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize(
    "params", KERNELS, ids=lambda params: getattr(params["kernel"], "__name__", str(params))
)
def test_kernel_machines_in_both_directions(cls, params, n_classes, container):
    features, labels = container(X[y < n_classes]), y[y < n_classes]
    ours = machine(cls, **params).fit(features, labels)
    theirs = ours.as_sklearn()
    assert type(theirs) is getattr(sklearn.svm, cls.__name__)
    assert_same(ours, theirs, features)
    assert_same(ours, pickle.loads(pickle.dumps(theirs)), features)
    for name in ("coef_", "intercept_", "n_support_", "dual_coef_"):
        if hasattr(ours, name):
            mine, other = (
                part.toarray() if sp.issparse(part) else part
                for part in (getattr(ours, name), getattr(theirs, name))
            )
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
    fitted = machine(getattr(sklearn.svm, cls.__name__), **params).fit(features, labels)
    again = cls.from_sklearn(fitted)
    assert_same(again, fitted, features)
    assert_same(again, again.as_sklearn(), features)
    assert_same(pickle.loads(pickle.dumps(again)), fitted, features)
    assert not hasattr(again, "certificate_")
    assert again.get_params()["gamma"] == fitted.gamma


@pytest.mark.parametrize("cls", MACHINES)
def test_given_kernel_matrices_in_both_directions(cls):
    K = X @ X.T
    ours = machine(cls, kernel="precomputed").fit(K, y)
    assert_same(ours, ours.as_sklearn(), K)
    fitted = machine(getattr(sklearn.svm, cls.__name__), kernel="precomputed").fit(K, y)
    assert_same(cls.from_sklearn(fitted), fitted, K)


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=repr)
def test_a_kernel_object_becomes_a_name_with_numbers(kernel):
    ours = SVC(kernel=kernel).fit(X, y)
    theirs = ours.as_sklearn()
    assert isinstance(theirs.kernel, str)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize(
    "kernel", [kernels.RBF() + kernels.Linear(), kernels.Laplacian(), kernels.RBF().normalised()]
)
def test_a_kernel_without_counterpart_is_refused(kernel):
    with pytest.raises(ValueError, match="scikit-learn has no counterpart of kernel="):
        SVC(kernel=kernel).fit(X, y).as_sklearn()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_in_both_directions(n_classes):
    """scikit-learn iterates to a tolerance of 0.005 / n_classes."""
    features, labels = X[y < n_classes], y[y < n_classes]
    ours = SVC(probability=True, random_state=0).fit(features, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = ours.as_sklearn()
        fitted = sklearn.svm.SVC(probability=True, random_state=0).fit(features, labels)
        for mine, other in ((ours, theirs), (SVC.from_sklearn(fitted), fitted)):
            np.testing.assert_array_equal(mine.probA_, other.probA_)
            np.testing.assert_allclose(
                mine.predict_proba(features), other.predict_proba(features), atol=0.005
            )
            assert_same(mine, other, features)


LINEAR = [
    *(LinearSVC(), LinearSVC(penalty="l1"), LinearSVC(multi_class="crammer_singer")),
    *(LinearSVCCV(cv=3), LinearSVR(), Perceptron(random_state=0), SGDClassifier(random_state=0)),
    *(SGDClassifier(average=True, random_state=0), LinearSVC(fit_intercept=False)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", LINEAR, ids=repr)
def test_linear_estimators_as_scikit_learns(learner, n_classes, container):
    features, labels = container(X[y < n_classes]), y[y < n_classes]
    ours = learner.fit(features, labels)
    theirs = ours.as_sklearn()
    assert type(theirs).__module__.startswith("sklearn.")
    assert_same(ours, theirs, features)
    assert_same(ours, pickle.loads(pickle.dumps(theirs)), features)
    assert theirs.score(features, labels) == pytest.approx(ours.score(features, labels), 1e-12)
    for method in ("partial_fit", "fit"):  # with parameters that it takes
        if hasattr(theirs, method):
            getattr(theirs, method)(features, labels)
            cls = LinearSVC if isinstance(learner, LinearSVC) else type(learner)
            again = cls.from_sklearn(theirs)
            assert_same(again, theirs, features)
            assert_same(pickle.loads(pickle.dumps(again)), theirs, features)
            assert not hasattr(again, "certificate_")
    if hasattr(again, "partial_fit"):
        again.partial_fit(features, labels)


def test_labels_names_and_weights_come_along():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcd"))
    names = np.array(["x", "y", "z"])[y]
    ours = SVC(class_weight={"x": 2.0}, C=3).fit(table, names)
    theirs = ours.as_sklearn()
    assert theirs.predict(table).tolist() == ours.predict(table).tolist()
    assert theirs.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(theirs.class_weight_, [2.0, 1.0, 1.0])
    assert theirs.get_params()["C"] == 3
    again = SVC.from_sklearn(theirs)
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.classes_.tolist() == ["x", "y", "z"]
    assert again.get_params() == ours.get_params()


def test_a_subclass_is_as_its_base():
    class Mine(SVC):
        pass

    assert_same(model := Mine().fit(X, y), model.as_sklearn(), X)
    assert type(Mine.from_sklearn(model.as_sklearn())) is Mine


def test_a_model_from_a_file_is_converted(tmp_path):
    SVR().fit(X, y)
    maxmargin.io.save_model(model := SVR().fit(X, y), tmp_path / "model")
    read = maxmargin.io.load_model(tmp_path / "model")
    np.testing.assert_allclose(read.as_sklearn().predict(X), model.predict(X), rtol=1e-12)


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(ValueError, match="no counterpart of KernelPerceptron"):
        KernelPerceptron().fit([[0.0], [1.0]], [0, 1]).as_sklearn()
    with pytest.raises(ValueError, match="no counterpart of SVCCV"):
        SVCCV.from_sklearn(sklearn.svm.SVC().fit(X, y))
    with pytest.raises(ValueError, match="no counterpart of LinearSVCCV"):
        LinearSVCCV.from_sklearn(sklearn.svm.LinearSVC().fit(X, y))
    with pytest.raises(NotFittedError, match="SVC instance is not fitted"):
        SVC().as_sklearn()
    with pytest.raises(ValueError, match=r"SVC.from_sklearn takes a sklearn SVC, got .*NuSVC"):
        SVC.from_sklearn(sklearn.svm.NuSVC())
    with pytest.raises(sklearn.exceptions.NotFittedError, match="SVC instance is not fitted"):
        SVC.from_sklearn(sklearn.svm.SVC())


def test_a_model_whose_parts_do_not_fit_together_is_refused():
    theirs = sklearn.svm.SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    theirs.classes_ = np.array([3, 1, 2])
    with pytest.raises(ValueError, match="classes_ does not fit the rest of the model"):
        SVC.from_sklearn(theirs)


def test_a_subclass_that_fixes_parameters_keeps_them():
    class Cubic(SVR):
        def __init__(self, C=1.0):
            super().__init__(C=C, kernel="poly", coef0=1.0)

    class Pairs(SVC):
        def __init__(self, **params):
            super().__init__(kernel="linear", decision_function_shape="ovo", **params)

    class Weak(maxmargin.LinearSVC):
        def __init__(self, alpha=2.0):
            super().__init__(C=1.0 / alpha)
            self.alpha = alpha

    for estimator in (Cubic(), Pairs(), Weak()):
        ours = estimator.fit(X, y)
        assert_same(ours, ours.as_sklearn(), X)
    assert Cubic().fit(X, y).as_sklearn().kernel == "poly"
    assert Weak().fit(X, y).as_sklearn().C == 0.5


def test_a_fit_in_another_thread_does_not_mix_two_models():
    other = (X[:, :2], y[::-1] == 1)

    class Refitted(LinearSVC):
        @property
        def intercept_(self):
            model.fit(*other)  # as in the time between two reads
            return super().intercept_

    model = Refitted().fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.as_sklearn().predict(X), expected)
    assert model.n_features_in_ == 2
