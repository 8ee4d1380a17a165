"""The docstrings of the estimators are whole, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

import maxmargin
from maxmargin._estimator.base import BaseEstimator

ESTIMATORS = [
    estimator
    for estimator in map(maxmargin.__dict__.get, maxmargin.__all__)
    if inspect.isclass(estimator) and issubclass(estimator, BaseEstimator)
]


def entries(estimator: object, section: str) -> list[tuple[str, str]]:
    """The names of a section of the docstring, with their types."""
    text = re.split(r"^(\w[\w ]+)\n-{3,}$", inspect.getdoc(estimator) or "", flags=re.MULTILINE)
    body = dict(zip(text[1::2], text[2::2], strict=True))[section]
    return re.findall(r"^(\w.*?) : (.+\S)\n +\S", body, flags=re.MULTILINE)


def test_every_public_estimator_is_here() -> None:
    assert {"SVC", "LinearSVR", "KernelPerceptron"} <= {one.__name__ for one in ESTIMATORS}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters(estimator: type) -> None:
    """Every one, in the order of the signature, with its type, its default and a text."""
    parameters = inspect.signature(estimator).parameters.values()
    shown = entries(estimator, "Parameters")
    assert [name for name, _ in shown] == [parameter.name for parameter in parameters]
    for (_, kind), parameter in zip(shown, parameters, strict=True):
        assert re.fullmatch(rf".+, default={re.escape(repr(parameter.default))}", kind)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fit(estimator: type) -> None:
    """Every parameter that `fit` describes is one, and the sections are whole and in order."""
    text = inspect.getdoc(estimator.fit) or ""
    if "those of `" not in text:
        _, parameters, returned, *rest = re.split(r"^\w+\n-{3,}$", text, flags=re.MULTILINE)
        named = re.findall(r"^(\w+) : \S", parameters, flags=re.MULTILINE)
        assert named == [*inspect.signature(estimator.fit).parameters][1:]
        assert "The estimator itself." in returned
        assert "ValueError\n    If a parameter" in rest[0]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_attributes(estimator: type) -> None:
    """Every one that `fit` finds has a type and a text."""
    model = estimator().fit([[0.0], [1.0], [3.0], [4.0]] * 5, [0, 0, 1, 1] * 5)
    found = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    names = {name for name, _ in entries(estimator, "Attributes")}
    assert found - names == set()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_text_refers_to_another_class(estimator: type) -> None:
    assert "As in" not in (estimator.__doc__ or "")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_examples(estimator: type) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(estimator, globs={})
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
