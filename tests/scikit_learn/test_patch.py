"""The patch of scikit-learn: what it changes, what its classes learn, and what falls through."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import maxmargin
from maxmargin import patch_sklearn, sklearn_patched, unpatch_sklearn
from maxmargin.patch import PATCHED, _kernel_machines, _linear_machines, _stand_ins

X, y = load_iris(return_X_y=True)
TWO = X[:100], y[:100]
NOISY = X + 0.4 * np.random.default_rng(0).normal(size=X.shape)
# Which no perceptron separates: it stops at the first pass without a mistake.
OVERLAPPING = X + np.random.default_rng(0).normal(size=X.shape)
STAND_INS = (*_kernel_machines.STAND_INS, *_linear_machines.STAND_INS)
ORIGINALS = [getattr(stand_in.module, stand_in.name) for stand_in in STAND_INS]


def is_original():
    """Whether every function is scikit-learn's."""
    now = [getattr(stand_in.module, stand_in.name) for stand_in in STAND_INS]
    same = [mine is other for mine, other in zip(now, ORIGINALS, strict=True)]
    return all(same) and not _stand_ins.active


# -- putting in place and taking out ---------------------------------------------------------------


def test_functions_are_replaced_and_put_back():
    patch_sklearn()
    try:
        assert _stand_ins.active == set(PATCHED)
        patch_sklearn(["SVC"])  # once more does no harm
        import sklearn.svm

        assert sklearn.svm.SVC is SVC
    finally:
        unpatch_sklearn()
    assert is_original()
    unpatch_sklearn()


def test_the_context_manager_restores_what_was_before():
    def fail_inside():
        with sklearn_patched(["SVR", "NuSVR"]):
            assert _stand_ins.active == {"SVR", "NuSVR"}
            with sklearn_patched(["SVC"]):
                assert _stand_ins.active == {"SVC", "SVR", "NuSVR"}
            assert _stand_ins.active == {"SVR", "NuSVR"}
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert is_original()


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"names must hold some of \['SVC'.*got 'KMeans'"):
        patch_sklearn(["SVC", "KMeans"])
    assert is_original()


def test_only_the_named_classes_are_patched():
    expected = SVR().fit(X, y).predict(X)
    with sklearn_patched(["SVC"]):
        np.testing.assert_array_equal(SVR().fit(X, y).predict(X), expected)
        assert (SVC().fit(X, y).dual_coef_ != SVC(tol=1e-9).fit(X, y).dual_coef_).any()


def run_patched(folder, *arguments, check=True):
    path = str(Path(maxmargin.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, "-m", "maxmargin.patch", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([path, str(folder / "site")])},
        cwd=folder, capture_output=True, text=True, check=check,
    )  # fmt: skip


@pytest.mark.slow
def test_a_script_is_run_with_arguments_of_its_own(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "import neighbour\n"
        "from sklearn.svm import SVC, _libsvm\n"
        "assert __name__ == '__main__'\n"
        "model = SVC(gamma=float(sys.argv[2])).fit([[0.0], [1.0]], [0, 1])\n"
        "is_patched = hasattr(_libsvm.fit, '__wrapped__')\n"
        "print(SVC.__module__, sys.argv[1:], neighbour.number, is_patched)\n"
    )
    (tmp_path / "neighbour.py").write_text("number = 7\n")
    done = run_patched(tmp_path, str(script), "-v", "0.5")
    assert done.stdout == "sklearn.svm._classes ['-v', '0.5'] 7 True\n"
    assert done.stderr == ""
    done = run_patched(tmp_path, "-v", "-m", "script", "--", "0")
    assert done.stdout.endswith("['--', '0'] 7 True\n")
    assert "acts in scikit-learn's estimators: SVC" in done.stderr
    assert "SVC falls through to scikit-learn in fit: gamma must be" in done.stderr

    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from sklearn.svm import SVC\n")
    for words, fault in (
        (["none.py"], "none.py: No such file or directory"),
        (["-m", "package"], "there is no module package to run"),
    ):
        done = run_patched(tmp_path, *words, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"python -m maxmargin.patch: error: {fault}\n"
    (package / "__main__.py").write_text("from package import SVC; print(SVC.__module__)\n")
    assert run_patched(tmp_path, "-m", "package").stdout == "sklearn.svm._classes\n"


@pytest.mark.slow
def test_processes_that_a_script_starts_are_patched(tmp_path):
    """By the spawn method, by joblib's loky, and by hand, under a sitecustomize of the user's."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("mine = 3\n")
    (tmp_path / "script.py").write_text(
        "import multiprocessing, subprocess, sys\n"
        "from joblib import Parallel, delayed\n"
        "def is_patched(_):\n"
        "    import sitecustomize\n"
        "    import sklearn.linear_model\n"
        "    from sklearn.svm import _libsvm\n"
        "    return hasattr(_libsvm.fit, '__wrapped__'), sitecustomize.mine\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(is_patched, [0]))\n"
        "    print(Parallel(n_jobs=2)(delayed(is_patched)(i) for i in [0]))\n"
        "    code = 'import script; print([script.is_patched(0)])'\n"
        "    subprocess.run([sys.executable, '-c', code])\n"
        "    code = 'import sys; print(\"numpy\" in sys.modules)'\n"
        "    subprocess.run([sys.executable, '-c', code])\n"
    )
    assert run_patched(tmp_path, "script.py").stdout.split("\n")[:4] == [
        *["[(True, 3)]"] * 3, "False",
    ]  # fmt: skip


# -- what the classes learn ------------------------------------------------------------------------

LEARNERS = [
    *(SVC(kernel=kernel) for kernel in ("linear", "poly", "rbf", "sigmoid")),
    NuSVC(nu=0.43),  # no whole number of vectors at the bound, so that some are free
    NuSVC(kernel="linear", nu=0.43),
    SVR(),
    SVR(kernel="linear"),
    NuSVR(),
    OneClassSVM(),
    OneClassSVM(kernel="linear"),
    LinearSVC(C=0.1, max_iter=10**5),
    LinearSVC(C=0.1, multi_class="crammer_singer", max_iter=10**5),
    LinearSVR(loss="squared_epsilon_insensitive", dual=False, max_iter=10**5),
    Perceptron(shuffle=False),
]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_every_attribute_is_scikit_learns(learner, n_classes, container, reasons):
    """Private ones too: names in their order, types, layouts, and values to the tolerance."""
    is_perceptron = isinstance(learner, Perceptron)
    features = container((OVERLAPPING if is_perceptron else NOISY)[y < n_classes])
    labels = y[y < n_classes]
    if not is_perceptron:
        learner = clone(learner).set_params(tol=1e-7)
    theirs, ours = clone(learner).fit(features, labels), clone(learner)
    with sklearn_patched():
        ours.fit(features, labels)
    falls_through = is_perceptron and container is sp.csr_matrix
    assert any("falls through" in reason for reason in reasons) == falls_through
    assert list(vars(ours)) == list(vars(theirs))
    for name, other in vars(theirs).items():
        mine = vars(ours)[name]
        assert type(mine) is type(other), name
        if isinstance(other, np.ndarray):
            assert mine.dtype == other.dtype, name
            assert mine.ndim == other.ndim, name
            assert mine.flags.c_contiguous == other.flags.c_contiguous, name
            assert mine.flags.writeable, name
    # Of sparse samples scikit-learn writes it for classifiers alone; else it shows stale memory.
    is_written = container is np.asarray or is_classifier(learner)
    names = ["coef_", "intercept_", "_intercept_", "offset_", "t_", *["n_support_"] * is_written]
    for name in names:
        if hasattr(theirs, name):
            mine, other = (
                value.toarray() if sp.issparse(value) else value
                for value in (getattr(ours, name), getattr(theirs, name))
            )
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3, err_msg=name)


def test_attributes_of_kernel_machines_that_clients_read(patched):
    """GraKeL's OneClassSVM reads the private coefficients; m2cgen and others the rest."""
    model = OneClassSVM().fit(X)
    assert model._dual_coef_ is model.dual_coef_
    np.testing.assert_array_equal(model._n_support, [len(model.support_)] * 2)
    sparse = SVR().fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse._n_support, [len(sparse.support_), 0])
    assert model.offset_ == -model.intercept_
    model.offset_ -= 1.0
    np.testing.assert_allclose(model.score_samples(X), model.decision_function(X) + model.offset_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = SVC(probability=True, random_state=0).fit(X, y)
        assert model.probA_.shape == model._probB.shape == (3,)
    assert model._gamma == 1.0 / (4 * X.var())
    assert not model._sparse
    assert model._num_iter.dtype == np.int32
    assert model.n_iter_ is model._num_iter
    assert Perceptron().fit(X, y).t_ > 1.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("learner", LEARNERS[:11], ids=repr)
def test_predictions_are_those_of_the_same_arrays(learner, container, reasons):
    features = container(X)
    with sklearn_patched():
        model = clone(learner).fit(features, y)
        ours = [getattr(model, name)(features) for name in ("predict", *decision_of(model))]
    assert reasons == [f"acts in scikit-learn's estimators: {', '.join(PATCHED)}"]
    theirs = [getattr(model, name)(features) for name in ("predict", *decision_of(model))]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-10)


def decision_of(model):
    return [name for name in ("decision_function", "score_samples") if hasattr(model, name)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_same_sigmoids(n_classes, patched):
    features, labels = X[y < n_classes], y[y < n_classes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = SVC(probability=True, random_state=0, C=0.01).fit(features, labels)
    ours = model.predict_proba(features)
    unpatch_sklearn()
    # scikit-learn iterates to 0.005 / n_classes; with a reduced tolerance for rounding.
    np.testing.assert_allclose(ours, model.predict_proba(features), atol=0.005)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)
    assert not hasattr(SVC(), "predict_proba")


def changes_of(model):
    """Ways to change a fitted estimator in place or by assignment."""
    yield lambda: model._dual_coef_.__imul__(2.0)
    yield lambda: model._intercept_.__isub__(0.25)
    yield lambda: model.support_vectors_.__setitem__(0, 0.5)
    yield lambda: setattr(model, "_dual_coef_", model._dual_coef_ * 0.5)
    yield lambda: setattr(model, "_gamma", 0.5)
    yield lambda: setattr(model, "degree", 2)


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
@pytest.mark.parametrize("learner", [SVC, SVR, OneClassSVM])
def test_a_changed_estimator_predicts_as_scikit_learns(learner, kernel):
    model = learner(kernel=kernel).fit(X, y)
    for change in changes_of(model):
        with sklearn_patched():
            model.predict(X)
            change()
            values, labels = model._decision_function(X), model.predict(X)
        np.testing.assert_allclose(values, model._decision_function(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(labels, model.predict(X), rtol=1e-9)


def test_models_of_estimators_are_not_kept_without_them(patched):
    before = len(_kernel_machines._packed)
    model = SVC().fit(X, y)
    for _ in range(2):
        model.predict(X)
    assert len(_kernel_machines._packed) == before + 1
    del model
    assert len(_kernel_machines._packed) == before


@pytest.mark.slow
def test_a_pickle_loads_without_this_library(tmp_path, patched):
    models = [clone(learner).fit(X, y) for learner in LEARNERS]
    expected = [model.predict(X) for model in models]
    unpatch_sklearn()
    (tmp_path / "models.pkl").write_bytes(pickle.dumps((models, X)))
    code = (
        "import pickle, sys; sys.modules['maxmargin'] = None\n"
        "models, X = pickle.load(open('models.pkl', 'rb'))\n"
        "pickle.dump([model.predict(X) for model in models], open('predicted.pkl', 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    predicted = pickle.loads((tmp_path / "predicted.pkl").read_bytes())
    for mine, other in zip(predicted, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)


def test_a_model_from_before_the_patch_predicts_under_it_and_back():
    model = SVC().fit(X, y)
    expected = model.decision_function(X)
    with sklearn_patched():
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12)


def test_weights_keep_scikit_learns_meaning(patched):
    """In gamma='scale', class_weight='balanced' and calibration, of rows and not of weights."""
    weight = np.arange(150) % 3.0
    model = SVC(class_weight="balanced", tol=1e-9).fit(X, y, sample_weight=weight)
    unpatch_sklearn()
    theirs = SVC(class_weight="balanced", tol=1e-9).fit(X, y, sample_weight=weight)
    assert model._gamma == theirs._gamma
    np.testing.assert_array_equal(model.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-6)
    with sklearn_patched():
        model = LinearSVC(class_weight="balanced", dual=False, tol=1e-8).fit(X, y, weight + 1.0)
    theirs = LinearSVC(class_weight="balanced", dual=False, tol=1e-8).fit(X, y, weight + 1.0)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize("learner", [SVC(max_iter=2), LinearSVR(C=10.0, max_iter=2)], ids=repr)
def test_a_fit_that_stops_early_warns_as_scikit_learn(learner, patched):
    messages = []
    for is_patched in (True, False):
        if not is_patched:
            unpatch_sklearn()
        with pytest.warns(ConvergenceWarning) as caught:
            learner.fit(X, y)
        messages.append([str(warning.message) for warning in caught])
    assert messages[0] == messages[1]


# -- perceptrons -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-3, 0.05])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_perceptron_stops_where_scikit_learns_does(tol, n_classes, reasons):
    features, labels = OVERLAPPING[y < n_classes], y[y < n_classes]
    params = {"tol": tol, "shuffle": False, "n_iter_no_change": 3}
    ours, theirs = Perceptron(**params), Perceptron(**params)
    # From no weights, then from these, in both places.
    for changes in ({}, {"warm_start": True, "max_iter": 7}, {"penalty": "l2", "alpha": 0.01}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.set_params(**changes).fit(features, labels)
            with sklearn_patched():
                ours.set_params(**changes).fit(features, labels)
        assert any("what tol" in reason for reason in reasons) == ("penalty" in changes)
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_passes_over_parts_are_scikit_learns(dtype):
    ours, theirs = Perceptron(shuffle=False), Perceptron(shuffle=False)
    features = OVERLAPPING.astype(dtype)
    for method in ("fit", "partial_fit", "partial_fit"):
        for model in (theirs, ours):
            start = {"coef_init": np.ones((3, 4)), "intercept_init": np.ones(3)}
            with sklearn_patched(["Perceptron"] if model is ours else []):
                getattr(model, method)(features, y, **(start if method == "fit" else {}))
        assert ours.coef_.dtype == theirs.coef_.dtype
        assert ours.t_ == theirs.t_
        np.testing.assert_allclose(
            ours.coef_, theirs.coef_, rtol=1e-4 if dtype == np.float32 else 1e-9
        )
