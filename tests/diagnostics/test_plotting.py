"""The pictures: what is drawn is what the estimators say."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import NotFittedError

from maxmargin import (
    SVC,
    SVR,
    ConvergenceWarning,
    KernelPerceptron,
    LinearSVC,
    OneClassSVM,
    Perceptron,
    kernels,
    plotting,
)

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.contour import ContourSet  # noqa: E402


@pytest.fixture(autouse=True)
def _no_figures_and_no_settings_are_left():
    settings = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == settings


def lines(ax: Axes) -> ContourSet:
    """The contour lines of the axes, of which there is one set."""
    (found,) = [c for c in ax.collections if isinstance(c, ContourSet) and not c.filled]
    return found


def points_on(contours: ContourSet, level: float) -> np.ndarray:
    (index,) = np.flatnonzero(contours.levels == level)
    return contours.get_paths()[index].vertices


def labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def blobs(n_classes: int = 2, n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([centre + 0.6 * rng.normal(size=(n, 2)) for centre in centres])
    return X, np.repeat(np.array(list("abcdefghij"))[:n_classes], n)


def rings(ax: Axes) -> np.ndarray:
    """The places of the rings around support vectors."""
    (found,) = [c for c in ax.collections if str(c.get_label()).startswith("support vectors")]
    assert len(found.get_facecolors()) == 0
    return found.get_offsets()


# --- decision regions ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margins_and_support_vectors(dtype) -> None:
    X, y = blobs()
    X = X.astype(dtype)
    model = SVC(kernel="linear", C=1.0).fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    contours = lines(ax)
    assert list(contours.levels) == [-1.0, 0.0, 1.0]
    for level in (-1.0, 0.0, 1.0):
        points = points_on(contours, level)
        assert len(points) > 2
        np.testing.assert_allclose(model.decision_function(points), level, atol=1e-4)
    np.testing.assert_array_equal(rings(ax), model.support_vectors_)
    assert labels(ax) == ["a", "b", f"support vectors ({len(model.support_)})"]
    assert len(ax.figure.axes) == 1


def test_samples_are_drawn_by_class() -> None:
    X, y = blobs()
    ax = plotting.plot_decision_regions(SVC().fit(X, y), X, y)
    for name in "ab":
        (mine,) = [c for c in ax.collections if c.get_label() == name]
        np.testing.assert_array_equal(mine.get_offsets(), X[y == name])


def test_the_side_of_a_class_has_its_colour() -> None:
    X, y = blobs()
    model = SVC(kernel="linear").fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    (filled,) = [c for c in ax.collections if isinstance(c, ContourSet) and c.filled]
    first, last = filled.get_facecolors()[[0, -1]]
    assert first[2] > first[0]  # a: blue, where f < -1
    assert last[0] > last[2]  # b: orange, where f > +1


@pytest.mark.parametrize(
    "model", [Perceptron(), KernelPerceptron(gamma=0.5)], ids=lambda model: type(model).__name__
)
def test_perceptrons_have_no_margins(model) -> None:
    X, y = blobs()
    model.fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    assert list(lines(ax).levels) == [0.0]
    with_margins = plotting.plot_decision_regions(model, X, y, margins=True)
    assert list(lines(with_margins).levels) == [-1.0, 0.0, 1.0]


def test_many_classes() -> None:
    X, y = blobs(3)
    model = SVC().fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    borders = [c for c in ax.collections if isinstance(c, ContourSet) and not c.filled]
    assert [list(c.levels) for c in borders] == [[0.5]] * 3
    assert labels(ax)[:3] == ["a", "b", "c"]
    # A step across a border changes the class.
    points = borders[0].get_paths()[0].vertices
    step = 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    around = [model.predict(point + step) for point in points[:: len(points) // 8]]
    assert all("a" in classes and len(set(classes)) > 1 for classes in around)


def test_more_classes_than_colours() -> None:
    X, y = blobs(10, n=8)
    ax = plotting.plot_decision_regions(SVC().fit(X, y), X, y, resolution=40)
    samples = [c for c in ax.collections if c.get_label() in set(y)]
    looks = {(str(c.get_facecolor()), c.get_paths()[0].vertices.tobytes()) for c in samples}
    assert len(looks) == 10


def test_one_class() -> None:
    X = blobs(1)[0]
    model = OneClassSVM(nu=0.2).fit(X)
    ax = plotting.plot_decision_regions(model, X)
    assert list(lines(ax).levels) == [0.0]
    (outside,) = [c for c in ax.collections if c.get_label() == "outside"]
    np.testing.assert_array_equal(outside.get_offsets(), X[model.predict(X) == -1])


@pytest.mark.parametrize("given", [None, "constrained", "tight"])
def test_the_legend_hides_nothing_and_is_whole(given) -> None:
    X, y = blobs()
    model = Perceptron().fit(X, y)
    for draw in (plotting.plot_decision_regions, plotting.plot_passes):
        ax = None if given is None else pyplot.figure(layout=given).add_subplot()
        ax = draw(model, X, y, ax=ax)
        ax.figure.canvas.draw()
        legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert not legend.overlaps(axes.padded(-1.0))
        assert ax.figure.bbox.padded(1.0).contains(legend.x0, legend.y0)
        assert ax.figure.bbox.padded(1.0).contains(legend.x1, legend.y1)


def test_without_a_layout_the_legend_is_inside() -> None:
    X, y = blobs()
    ax = plotting.plot_decision_regions(SVC().fit(X, y), X, y, ax=pyplot.subplots()[1])
    ax.figure.canvas.draw()
    legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert axes.contains(legend.x0, legend.y0)
    assert axes.contains(legend.x1, legend.y1)


def test_given_axes_are_used() -> None:
    X, y = blobs()
    drawn, columns = pyplot.subplots(1, 2)
    ax = plotting.plot_decision_regions(SVC().fit(X, y), X, y, ax=columns[1], legend=False)
    assert ax is columns[1]
    assert ax.get_legend() is None
    assert not columns[0].has_data()
    assert pyplot.get_fignums() == [drawn.number]


@pytest.mark.parametrize(
    ("model", "n_features", "message"),
    [
        (SVC(), 3, "X must have 2 features to be drawn, got 3"),
        (SVR(), 2, "must be a fitted classifier or one-class machine"),
    ],
)
def test_what_cannot_be_drawn(model, n_features: int, message: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, n_features))
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        plotting.plot_decision_regions(model.fit(X, y), X, y)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    "model", [SVC(), Perceptron(), OneClassSVM(), svm.SVC()], ids=lambda model: repr(model)
)
def test_what_is_not_fitted_says_so(model) -> None:
    X, y = blobs()
    with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted"):
        plotting.plot_decision_regions(model, X, y)
    assert pyplot.get_fignums() == []


def test_sparse_samples_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, y = blobs()
    with pytest.raises(ValueError, match="must be dense"):
        plotting.plot_decision_regions(SVC().fit(X, y), sparse.csr_matrix(X), y)


# --- perceptrons --------------------------------------------------------------------------------


def slow_to_separate() -> tuple[np.ndarray, np.ndarray]:
    X, y = blobs(seed=1)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] + np.array([5.0, 1.0]), y[order]


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron(kernel="linear")])
def test_lines_after_passes(model) -> None:
    X, y = slow_to_separate()
    model.fit(X, y)
    assert model.n_iter_ > 3
    before = dict(vars(model))
    ax = plotting.plot_passes(model, X, y, n_lines=3)
    assert vars(model).keys() == before.keys()
    found = [c for c in ax.collections if isinstance(c, ContourSet)]
    assert len(found) == 3
    np.testing.assert_allclose(
        model.decision_function(points_on(found[-1], 0.0)), 0, atol=1e-3 * model.n_iter_
    )
    assert labels(ax)[0] == "after 1 pass"
    assert labels(ax)[2] == f"after {model.n_iter_} passes"
    # The first line is that of one pass of Rosenblatt's rule.
    w, b = np.zeros(2), 0.0
    for x, label in zip(X, y, strict=True):
        sign = 1.0 if label == "b" else -1.0
        if sign * (w @ x + b) <= 0:
            w, b = w + sign * x, b + sign
    np.testing.assert_allclose(points_on(found[0], 0.0) @ w + b, 0, atol=1e-9)


def test_orders_must_be_repeatable() -> None:
    X, y = blobs()
    model = Perceptron(shuffle=True, random_state=np.random.default_rng(0)).fit(X, y)
    with pytest.raises(ValueError, match="random_state must be None or a number"):
        plotting.plot_passes(model, X, y)
    plotting.plot_passes(Perceptron(shuffle=True).fit(X, y), X, y)


def test_passes_of_something_else() -> None:
    X, y = blobs(3)
    for model in (SVC().fit(X, y), Perceptron().fit(X, y), Perceptron()):
        with pytest.raises(ValueError, match="fitted perceptron of two classes"):
            plotting.plot_passes(model, X, y)


def test_mistakes() -> None:
    X, y = slow_to_separate()
    model = Perceptron().fit(X, y)
    ax = plotting.plot_mistakes(model)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == model.mistakes_per_pass_[0].tolist()
    assert str(model.n_mistakes_[0]) in ax.get_title()
    with pytest.raises(ValueError, match="fitted perceptron"):
        plotting.plot_mistakes(SVC().fit(X, y))


def test_mistakes_of_many_classes() -> None:
    X, y = blobs(3)
    model = Perceptron().fit(X, y)
    ax = plotting.plot_mistakes(model)
    drawn = [line.get_ydata().tolist() for line in ax.get_lines()]
    assert drawn == [mistakes.tolist() for mistakes in model.mistakes_per_pass_]
    assert labels(ax)[0] == "a against the rest"


# --- convergence, kernels, searches, benchmarks --------------------------------------------------


def test_convergence() -> None:
    X, y = blobs(seed=2)
    certificates = []
    for max_iter in (20, 5):
        with pytest.warns(ConvergenceWarning):
            certificates.append(SVC(max_iter=max_iter, gamma=5.0).fit(X, y).certificate_)
    certificates.append(SVC(gamma=5.0).fit(X, y).certificate_)
    reports = [{"n_iter": 3, "kkt_violation": 2.5}, {"n_iter": 3, "kkt_violation": 2.5}]
    ax = plotting.plot_convergence(reports, certificates, tol=1e-3)
    violation, gap, tolerance = ax.get_lines()
    ended = sorted(certificates, key=lambda c: c.n_iter)
    assert list(violation.get_xdata()) == [3, *(c.n_iter for c in ended)]
    assert list(violation.get_ydata()) == [2.5, *(c.kkt_violation for c in ended)]
    assert list(gap.get_ydata()) == [c.relative_gap for c in ended]
    assert set(tolerance.get_ydata()) == {1e-3}
    assert labels(ax) == ["KKT violation", "relative gap", "tol = 0.001"]
    assert ax.get_yscale() == "log"


def test_convergence_of_a_linear_machine() -> None:
    X, y = blobs(seed=2)
    reached = LinearSVC().fit(X, y).certificate_
    certificates = [replace(reached, n_iter=n, relative_gap=g) for n, g in ((9, 0.0), (7, 1e-5))]
    ax = plotting.plot_convergence([{"n_iter": 1, "relative_gap": 0.5}], certificates)
    (gap,) = ax.get_lines()
    assert list(gap.get_ydata()) == [0.5, 1e-5]  # a gap of 0 has no place on the axis
    assert labels(ax) == ["relative gap"]


def test_convergence_without_anything_to_draw() -> None:
    with pytest.raises(ValueError, match="a report or a certificate"):
        plotting.plot_convergence()
    with pytest.raises(ValueError, match="tol"):
        plotting.plot_convergence([{"n_iter": 3, "kkt_violation": 2.5}], tol=-1.0)


@pytest.mark.parametrize("kernel", [kernels.RBF(gamma=0.3), None])
def test_kernel_matrix_is_ordered_by_class(kernel) -> None:
    X, y = blobs(3, n=6)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = X[order]
    values = kernels.RBF(gamma=0.3)(shuffled, shuffled)
    ax = plotting.plot_kernel_matrix(kernel, values if kernel is None else shuffled, y[order])
    drawn = np.asarray(ax.get_images()[0].get_array())
    stable = np.argsort(y[order], kind="stable")
    np.testing.assert_array_equal(drawn, values[np.ix_(stable, stable)])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    assert sorted(line.get_ydata()[0] for line in ax.get_lines()[::2]) == [5.5, 11.5]


def test_kernel_matrix_of_both_signs_has_zero_in_the_middle() -> None:
    X, y = blobs()
    ax = plotting.plot_kernel_matrix(kernels.Linear(), X, y)
    low, high = ax.get_images()[0].get_clim()
    assert low == -high < 0


def test_kernel_matrix_must_be_square() -> None:
    with pytest.raises(ValueError, match="square matrix"):
        plotting.plot_kernel_matrix(None, np.ones((3, 2)), [0, 1, 1])
    with pytest.raises(TypeError, match="kernel must be one of maxmargin"):
        plotting.plot_kernel_matrix("rbf", np.ones((3, 2)), [0, 1, 1])


def test_marks_of_many_samples_are_smaller() -> None:
    sizes = []
    for n in (20, 2000):
        X, y = blobs(n=n)
        ax = plotting.plot_decision_regions(SVC().fit(X, y), X, y)
        sizes += [marks.get_sizes()[0] for marks in ax.collections if hasattr(marks, "get_sizes")]
    assert max(sizes[3:]) < 0.5 * min(sizes[:3])


@pytest.mark.parametrize("less_is_better", [False, True])
def test_grid(less_is_better: bool) -> None:
    scores = 0.9 + 0.01 * np.array([[0.5, 0.7, 0.6], [0.8, 0.9, 0.4]])
    ax = plotting.plot_grid([1, 8], [0.25, 1, 4], scores, less_is_better=less_is_better)
    (star,) = [line for line in ax.get_lines() if line.get_marker() == "*"]
    assert (*star.get_xdata(), *star.get_ydata()) == (3.0, 2.0 if less_is_better else 0.0)
    labels = [tick.get_text() for tick in ax.figure.axes[1].get_yticklabels()]
    assert len(set(labels)) == len(labels) == 9
    with pytest.raises(ValueError, match="scores must have shape"):
        plotting.plot_grid([1, 8], [0.25, 1, 4], scores.T)


# --- matplotlib is optional ----------------------------------------------------------------------


def test_import_is_lazy_and_a_missing_matplotlib_is_named() -> None:
    code = (
        "import sys, maxmargin.plotting as p\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
        "sys.modules['matplotlib'] = None\n"
        "try:\n    p.plot_grid([1], [1], [[1.0]])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "plots need matplotlib: pip install 'maxmargin[plot]'\n"
