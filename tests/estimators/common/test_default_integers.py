"""Integers as NumPy 1 makes them on Windows: int32 wherever no type is asked for."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import numpy as np
import pytest

from maxmargin import SVC, KernelPerceptron, LinearSVC, LinearSVCCV, NuSVC, SGDClassifier
from maxmargin._input import check_labels
from oracles.problems import rng

X = rng(4).normal(size=(90, 3))
y = np.array([7, 40, 1000])[(X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)]


class NumPyOfWindows(ModuleType):
    """numpy, but for the functions that make integers."""

    def __getattr__(self, name):
        made = getattr(np, name)
        if name not in ("arange", "array", "asarray", "cumsum", "full", "sum"):
            return made

        def narrow(first, *args, **kwargs):
            result = made(first, *args, **kwargs)
            is_wide = isinstance(first, (np.ndarray, np.generic)) and first.dtype == np.int64
            is_asked_for = bool({"dtype", "out"} & set(kwargs)) or is_wide
            return result if is_asked_for or result.dtype != np.int64 else result.astype(np.int32)

        return narrow


@pytest.fixture
def int32_by_default(monkeypatch):
    """Give all modules of maxmargin that numpy."""
    numpy_of_windows = NumPyOfWindows("numpy")
    for name, module in list(sys.modules.items()):
        if name.startswith("maxmargin") and getattr(module, "np", None) is np:
            monkeypatch.setattr(module, "np", numpy_of_windows)


@pytest.mark.usefixtures("int32_by_default")
def test_codes_are_int64():
    codes, _ = check_labels(y, len(y), "SVC")
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    "make",
    [
        SVC,
        lambda: SVC(probability=True, random_state=0),
        lambda: NuSVC(nu=0.2),
        LinearSVC,
        LinearSVCCV,
        lambda: KernelPerceptron(max_iter=1000),
        lambda: SGDClassifier(random_state=0),
    ],
)
def test_models_are_the_same(request, make):
    expected = make().fit(X, y).decision_function(X)
    request.getfixturevalue("int32_by_default")
    model = make().fit(X, y)
    for same in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.decision_function(X), expected)
        np.testing.assert_array_equal(same.predict(X), model.predict(X))
