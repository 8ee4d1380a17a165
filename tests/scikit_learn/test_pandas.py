"""Data frames and series of pandas, which the estimators take as scikit-learn's do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import SVC, SVR, KernelPerceptron, LinearSVC, OneClassSVM, Perceptron, diagnostics

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

N = 60
ESTIMATORS = [
    SVC(), SVC(probability=True), SVR(), OneClassSVM(), LinearSVC(), Perceptron(tol=0.1),
    KernelPerceptron(),
]  # fmt: skip


def samples():
    """Columns of three types, and an index that counts neither from 0 nor upwards."""
    r = np.random.default_rng(0)
    frame = pandas.DataFrame(r.normal(size=(N, 3)), columns=["height", "width", "is_red"])
    frame["width"] = (100.0 * frame["width"]).astype("int64")
    frame["is_red"] = frame["is_red"] > 0
    return frame.set_axis(r.permutation(N) + 1000)


def target(X):
    """Labels with an index that a join would take for an order of their own."""
    named = np.where(X["height"] + 0.01 * X["width"] > 0, "yes", "no")
    return pandas.Series(named, index=X.index[::-1])


def values_of(X):
    return X.to_numpy(dtype=np.float64)


def fit(estimator, X, y, **weights):
    if is_regressor(estimator):
        y = (y == "yes") * 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxmargin.ConvergenceWarning)
        return clone(estimator).fit(X, y, **weights)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_frames_are_arrays_with_names(estimator):
    X = samples()
    y = target(X)
    model, expected = fit(estimator, X, y), fit(estimator, values_of(X), y.to_numpy())
    assert model.feature_names_in_.tolist() == ["height", "width", "is_red"]
    assert not hasattr(expected, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(X), expected.predict(values_of(X)))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(X[["width", "height", "is_red"]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- depth\n(.|\n)*missing:\n- width"):
        model.predict(X.rename(columns={"width": "depth"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(values_of(X))


def outcome(call):
    """The types, and how the texts begin, of what is raised or warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (TypeError, ValueError) as error:
            return [type(error)], str(error).partition(",")[0].splitlines()
    return [w.category for w in caught], [str(w.message)[:50] for w in caught]


@pytest.mark.parametrize(
    "of_model",
    [
        lambda model, X, y: model.fit(X, y).predict(X.iloc[:, ::-1]),
        lambda model, X, y: model.fit(X, y).predict(X.drop(columns="width")),
        lambda model, X, y: model.fit(X, y).predict(values_of(X)),
        lambda model, X, y: model.fit(values_of(X), y).predict(X),
        lambda model, X, y: model.fit(X.set_axis([0, 1, "2"], axis=1), y),
        lambda model, X, y: model.fit(X.set_axis([0, 1, 2], axis=1), y).predict(values_of(X)),
        lambda model, X, y: model.fit(X, y.to_frame()),
    ],
)
def test_errors_and_warnings_are_those_of_scikit_learn(of_model):
    X = samples()
    y = target(X)
    types, texts = outcome(lambda: of_model(SVC(), X, y))
    their_types, their_texts = outcome(lambda: of_model(sklearn.svm.SVC(), X, y))
    assert texts == their_texts
    assert all(issubclass(*pair) for pair in zip(types, their_types, strict=True))


@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM(), LinearSVC()], ids=repr)
def test_weights_go_by_place_and_not_by_index(estimator):
    X = samples()
    y = target(X)
    weight = pandas.Series(np.linspace(0.0, 2.0, N), index=X.index[::-1])
    model = fit(estimator, X, y, sample_weight=weight)
    expected = fit(estimator, values_of(X), y.to_numpy(), sample_weight=weight.to_numpy())
    np.testing.assert_array_equal(model.predict(X), expected.predict(values_of(X)))
    if not isinstance(estimator, OneClassSVM):
        z = y if not is_regressor(estimator) else (y == "yes") * 1.5
        score = expected.score(values_of(X), z.to_numpy(), sample_weight=weight.to_numpy())
        assert model.score(X, z, sample_weight=weight) == score


@pytest.mark.parametrize(
    ("of_labels", "classes"),
    [
        (lambda y: y.astype("category"), ["no", "yes"]),
        (lambda y: y.astype("string"), ["no", "yes"]),
        (lambda y: y.astype(object), ["no", "yes"]),
        (lambda y: (y == "yes").astype("Int64"), [0, 1]),
        (lambda y: (y == "yes").astype("boolean"), [False, True]),
    ],
)
def test_types_of_labels(of_labels, classes):
    X = samples()
    y = of_labels(target(X))
    model = LinearSVC().fit(X, y)
    assert model.classes_.tolist() == classes
    assert type(model.classes_.tolist()[0]) is type(classes[0])
    assert model.score(X, y) > 0.8
    weighted = LinearSVC(class_weight={classes[1]: 3.0}).fit(X, y)
    assert (weighted.predict(X) == classes[1]).sum() > (model.predict(X) == classes[1]).sum()


def test_what_is_missing_is_refused():
    X = samples()
    y = target(X)
    holes = X.astype({"height": "Float64"})
    expected = SVC().fit(values_of(X), y).predict(values_of(X))
    assert (SVC().fit(holes, y).predict(holes) == expected).all()
    for frame in (X, holes):
        frame = frame.copy()
        frame.iloc[7, 0] = None
        with pytest.raises(ValueError, match=r"X contains NaN.*row 7, column 0"):
            SVC().fit(frame, y)
    for labels in (y, y.astype("string"), y.astype(object), (y == "yes").astype("Int64")):
        labels = labels.copy()
        labels.iloc[7] = None
        with pytest.raises(ValueError, match="Input y contains NaN"):
            SVC().fit(X, labels)
    with pytest.raises(ValueError, match="X must hold real numbers: could not convert string"):
        SVC().fit(X.assign(width="wide"), y)


def test_searches_and_pipelines():
    X = samples()
    y = target(X)
    columns = make_column_transformer((StandardScaler(), ["width"]), remainder="passthrough")
    scaled = columns.fit_transform(X)
    pipeline = make_pipeline(columns, SVC())
    np.testing.assert_array_equal(
        cross_val_predict(pipeline, X, y, cv=3), cross_val_predict(SVC(), scaled, y, cv=3)
    )
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.feature_names_in_.tolist() == X.columns.tolist()
    stream = ((X[i : i + 20], y[i : i + 20]) for i in range(0, N, 20))
    streamed = Perceptron().fit_stream(stream, classes=pandas.Series(["no", "yes"]))
    assert streamed.feature_names_in_.tolist() == X.columns.tolist()


@pytest.mark.parametrize(
    "forms",
    [
        (lambda X: X, values_of, lambda X: X),
        (values_of, lambda X: X, values_of),
        (lambda X: X, lambda X: X.iloc[:, ::-1]),
        (lambda X: X, lambda X: X.rename(columns={"width": "depth"})),
        (lambda X: X, lambda X: X.drop(columns="width")),
    ],
)
@pytest.mark.parametrize("name", ["Perceptron", "SGDClassifier"])
def test_names_of_what_is_learned_in_parts_are_those_of_the_first(name, forms):
    X = samples()
    y = target(X)
    heard = []
    for library in (maxmargin, sklearn.linear_model):
        model = getattr(library, name)()
        parts = [
            outcome(lambda form=form, model=model: model.partial_fit(form(X), y, ["no", "yes"]))
            for form in forms
        ]
        heard.append([*parts, list(getattr(model, "feature_names_in_", []))])
    assert heard[0] == heard[1]
    model = getattr(maxmargin, name)()
    outcome(lambda: model.fit_stream([(form(X), y) for form in forms[:1] * 2], ["no", "yes"]))
    assert hasattr(model, "feature_names_in_") == hasattr(forms[0](X), "columns")


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_times_are_no_numbers(kind):
    X = pandas.DataFrame({"a": np.arange(6.0), "when": np.arange(6).astype(kind)})
    with pytest.raises((TypeError, ValueError)):
        SVC().fit(X, [0, 0, 0, 1, 1, 1])


def test_diagnostics_and_pictures_take_frames():
    X = samples()[["height", "width"]] / [1.0, 100.0]
    y = target(samples())
    model = SVC(kernel="linear").fit(X, y)
    plain = SVC(kernel="linear").fit(X.to_numpy(), y.to_numpy())
    for diagnostic in (diagnostics.slacks, diagnostics.geometric_margin):
        np.testing.assert_array_equal(
            diagnostic(model, X, y), diagnostic(plain, X.to_numpy(), y.to_numpy())
        )
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    perceptron = fit(Perceptron(max_iter=5, verbose=0), X, y)
    pipeline = make_pipeline(make_column_transformer((StandardScaler(), ["width"])), SVC()).fit(
        X, y
    )
    try:
        for estimator in (model, perceptron, OneClassSVM().fit(X), pipeline):
            maxmargin.plotting.plot_decision_regions(estimator, X)
        maxmargin.plotting.plot_passes(perceptron, X, y)
    finally:
        matplotlib.pyplot.close("all")
