"""The guide's table of what one name means in each family is true."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest

import maxmargin
from maxmargin._estimator.base import BaseEstimator
from support.repository import ROOT

ESTIMATORS = [
    one
    for one in map(maxmargin.__dict__.get, maxmargin.__all__)
    if inspect.isclass(one) and issubclass(one, BaseEstimator)
]
GUIDE = ROOT / "docs/guide.md"
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4))
Y = (X[:, 0] + RANDOM.normal(size=120) > 0.0).astype(int)


def cells() -> list[tuple[str, str, str]]:
    """The table as (estimator, row, cell)."""
    (section,) = re.findall(
        r"^## One name, several meanings\n(.*?)^## ", GUIDE.read_text(encoding="utf-8"), re.M | re.S
    )
    lines = [re.split(r" *\| *", line)[1:-1] for line in section.splitlines() if line[:1] == "|"]
    head, _, *rows = lines
    return [
        (name, row[0], cell)
        for row in rows
        for column, cell in zip(head[1:], row[1:], strict=True)
        for name in re.findall(r"`(\w+)`", column)
    ]


CELLS = cells()


def cells_of(row: str) -> Any:
    found = [(getattr(maxmargin, name), cell) for name, title, cell in CELLS if title == row]
    assert found
    return pytest.mark.parametrize(("estimator", "cell"), found)


def has(estimator: Any, parameter: str) -> bool:
    return parameter in inspect.signature(estimator).parameters


def fitted(estimator: Any, **params: Any) -> Any:
    """A model in whose training everything is random that can be."""
    for name in ("probability", "shuffle"):
        if has(estimator, name):
            params[name] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxmargin.ConvergenceWarning)
        return estimator(**params).fit(X, Y)


def numbers(model: Any) -> list[bytes]:
    names = ("coef_", "dual_coef_", "intercept_", "probA_", "probB_")
    return [np.asarray(getattr(model, name)).tobytes() for name in names if hasattr(model, name)]


def test_every_estimator_is_in_the_table() -> None:
    assert {name for name, _, _ in CELLS} == {one.__name__ for one in ESTIMATORS}


@cells_of("`random_state=None`")
def test_random_state(estimator: Any, cell: str) -> None:
    assert has(estimator, "random_state") == (cell != "nothing is random")
    one, two = numbers(fitted(estimator)), numbers(fitted(estimator))
    assert (one == two) == (cell != "new in every fit")
    if cell == "0: fits repeat":
        assert one == numbers(fitted(estimator, random_state=0))


@cells_of("`tol`")
def test_tol(estimator: Any, cell: str) -> None:
    """A proof is in the certificate; a stopping rule can be absent."""
    is_rule = "passes" in cell
    assert hasattr(fitted(estimator), "certificate_") != is_rule
    if is_rule:
        fitted(estimator, tol=None, max_iter=3)
        return
    with pytest.raises(ValueError, match="tol"):
        fitted(estimator, tol=None)
    certificate = fitted(estimator).certificate_
    measure = certificate.kkt_violation if "KKT" in cell else certificate.relative_gap
    assert measure <= estimator().tol


@cells_of("`n_iter_`")
def test_n_iter(estimator: Any, cell: str) -> None:
    kind, _ = cell.split(": ")
    assert type(fitted(estimator).n_iter_) is {"array": np.ndarray, "int": int}[kind]


@cells_of("`max_iter=-1`")
def test_max_iter(estimator: Any, cell: str) -> None:
    if "error" not in cell:
        assert estimator().max_iter == -1
        return
    assert estimator().max_iter == int(cell.split()[-1])
    with pytest.raises(ValueError, match="max_iter"):
        fitted(estimator, max_iter=-1)


@cells_of("`verbose`")
def test_verbose(estimator: Any, cell: str, capfd: pytest.CaptureFixture[str]) -> None:
    for verbose, is_shown in ((False, False), (0, False), (True, True), (1, True), (7, True)):
        fitted(estimator, verbose=verbose)
        assert (capfd.readouterr().err != "") == is_shown
    with pytest.raises(ValueError, match="verbose"):
        fitted(estimator, verbose=-1)


@cells_of("`time_limit`, `callback`")
def test_time_limit_and_callback(estimator: Any, cell: str) -> None:
    assert has(estimator, "time_limit") == has(estimator, "callback") == (cell == "yes")


@cells_of("`dual`")
def test_dual(estimator: Any, cell: str) -> None:
    assert has(estimator, "dual") == cell.startswith("accepted")
    if has(estimator, "dual"):
        assert numbers(fitted(estimator, dual=True)) == numbers(fitted(estimator, dual=False))


@cells_of("quality")
def test_quality(estimator: Any, cell: str) -> None:
    common, _, special = cell.partition("; ")
    names = re.findall(r"`(\w+_)`", common)
    if f"`{estimator.__name__}`" in special:
        names += re.findall(r"`(\w+_)`", special)
    model = fitted(estimator)
    assert all(hasattr(model, name) for name in names)
