"""`maxmargin grid`: LIBSVM's grid.py, the search for C and gamma by cross-validation."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import config, plotting
from maxmargin._input.files import check_writable, replacing
from maxmargin.cli._flags import Flag, FlagCommand, Given, integer, on, text
from maxmargin.cli._reports import accuracy_of, convergence_warnings_on_stderr, errors_of, warn
from maxmargin.cli._svm_options import SVM_FLAGS, Problem

# log2 of C and of gamma; None is not searched for.
Point = tuple[float | None, float | None]

_MOST_VALUES = 10_000


def _range(name: str, word: str) -> list[float] | None:
    if word == "null":
        return None
    try:
        begin, end, step = map(float, word.split(","))
        n_steps = (end - begin) / step
    except (ValueError, ZeroDivisionError):
        n_steps = np.nan
    if not 0 <= n_steps < _MOST_VALUES:
        raise ValueError(
            f"{name} must be begin,end,step, with a step towards the end, got {word!r}"
        )
    return [begin + k * step for k in range(int(n_steps * (1 + 1e-12)) + 1)]


_GRID_FLAGS = (
    Flag("-log2c", "range", "begin,end,step of log2(C), or null for -c (default -5,15,2)", _range),
    Flag("-log2g", "range", "begin,end,step of log2(gamma), or null for -g (default 3,-15,-2)",
         _range),
    Flag("-out", "file", "file of the rates, or null (default: data file's name + .out)", text),
    Flag("-png", "file", "file of the plot, PNG, PDF or SVG (default: data file's name + .png)",
         text),
    Flag("-gnuplot", "program", "null for no plot; no program is used", text),
    Flag("-svmtrain", "program", "taken for the sake of scripts; no program is used", text),
    Flag("-v", "n", "folds (default 5)", integer(at_least=2)),
    Flag("-q", "", "print the last line only: C, gamma and the rate", on),
    Flag("-resume", "[file]", "take rates that are known from there (default: as -out)", text),
)  # fmt: skip


@dataclass
class Search:
    """The rates known so far, and the best; of points as good, that of the least C (LIBSVM's rule).

    The rate is the accuracy in per cent, or of a regression the mean squared error.
    """

    is_regression: bool
    rates: dict[Point, float] = field(default_factory=dict)
    best: Point = (None, None)

    @property
    def rate_name(self) -> str:
        return "mse" if self.is_regression else "rate"

    @property
    def best_rate(self) -> float:
        return self.rates[self.best]

    def add(self, point: Point, rate: float) -> None:
        """Take note of a rate."""
        sign = -1.0 if self.is_regression else 1.0
        is_first = not self.rates
        self.rates[point] = rate
        lead = 0.0 if is_first else sign * (rate - self.best_rate)
        is_cheaper = point[1] == self.best[1] and (point[0] or 0.0) < (self.best[0] or 0.0)
        if is_first or lead > 0.0 or (lead == 0.0 and is_cheaper):
            self.best = point


def _run(given: Given) -> None:
    log2c, log2g = _axes(given)
    name = Path(given.files[0]).name
    out = _file(given, "-out", f"{name}.out")
    png = _plot_file(given, f"{name}.png", len(log2c or []) > 1 and len(log2g or []) > 1)
    for path in filter(None, (out, png)):
        check_writable(path)
    known = _resumed(given.get("-resume"), f"{name}.out")
    problem = Problem(given.files[0], given)
    search = Search(problem.is_regression)
    todo = [point for point in _order(log2c, log2g) if point not in known]
    with convergence_warnings_on_stderr(), open(out or os.devnull, "w", encoding="ascii") as file:
        rates = zip(todo, _rates(problem, todo, given.get("-v", 5)), strict=True)
        for point, rate in itertools.chain(known.items(), rates):
            search.add(point, rate)
            file.write(_record(point, search))
            file.flush()  # for -resume, should the search be interrupted
            if not given.get("-q"):
                print(_line("resumed" if point in known else "local", point, search), flush=True)
    if png is not None:
        _draw(search, name, png)
    found = [2.0**exponent for exponent in search.best if exponent is not None]
    print(" ".join(map(str, [*found, search.best_rate])))


GRID = FlagCommand(
    "grid",
    "search for C and gamma by cross-validation with the flags of LIBSVM's grid.py",
    "data_file  (flags of svm-train, too)",
    range(1, 2),
    (*_GRID_FLAGS, *(flag for flag in SVM_FLAGS if flag.name not in ("-v", "-q"))),
    _run,
)


def _axes(given: Given) -> tuple[list[float] | None, list[float] | None]:
    """Return the values of log2(C) and of log2(gamma), None for what is not searched for."""
    log2c: list[float] | None = given.get("-log2c", [-5.0 + 2.0 * k for k in range(11)])
    log2g: list[float] | None = given.get("-log2g", [3.0 - 2.0 * k for k in range(10)])
    if log2c is None and log2g is None:
        raise ValueError("grid: -log2c and -log2g must not both be null")
    for flag, other, values in (("-c", "-log2c", log2c), ("-g", "-log2g", log2g)):
        if given.get(flag) is not None and values is not None:
            raise ValueError(f"grid: {flag} needs {other} null, which else searches for it")
    return log2c, log2g


def _file(given: Given, flag: str, default: str) -> str | None:
    path: str = given.get(flag, default)
    return None if path == "null" else path


def _plot_file(given: Given, default: str, is_plane: bool) -> str | None:
    """Return the file to draw to, or None if there is to be no plot.

    One that cannot be drawn is an error where it was asked for, else it is left out with a word.
    """
    path = _file(given, "-png", default)
    if path is None or given.get("-gnuplot") == "null":
        return None
    try:
        if not is_plane:
            raise ValueError("it needs at least two values of C and of gamma")
        plotting.require_matplotlib()
    except (ImportError, ValueError) as error:
        if given.get("-png") is not None:
            raise type(error)(f"grid: no plot: {error}") from error
        warn(f"no plot: {error}")
        return None
    return path


# -- the points, coarse ones first -----------------------------------------------------------------


def _order(log2c: Sequence[float] | None, log2g: Sequence[float] | None) -> list[Point]:
    """Return the points of the grid in LIBSVM's order.

    Values come by bisection, and the side of the grid that has the smaller share of its values
    gets the next one, so that the rates known at any time are spread over all of it.
    """
    c_values: Sequence[float | None] = [None] if log2c is None else _bisected(log2c)
    g_values: Sequence[float | None] = [None] if log2g is None else _bisected(log2g)
    points: list[Point] = []
    n_c = n_g = 0
    while n_c < len(c_values) or n_g < len(g_values):
        if n_c * len(g_values) < n_g * len(c_values):
            points += [(c_values[n_c], g) for g in g_values[:n_g]]
            n_c += 1
        else:
            points += [(c, g_values[n_g]) for c in c_values[:n_c]]
            n_g += 1
    return points


def _bisected(values: Sequence[float]) -> list[float]:
    """Return the middle, then in turn what is left and right of it, each in the same order."""
    if len(values) <= 1:
        return list(values)
    middle = len(values) // 2
    left, right = _bisected(values[:middle]), _bisected(values[middle + 1 :])
    in_turn = [side[k] for k in range(len(left)) for side in (left, right) if k < len(side)]
    return [values[middle], *in_turn]


# -- cross-validation ------------------------------------------------------------------------------


def _rates(problem: Problem, points: Sequence[Point], n_folds: int) -> Iterator[float]:
    """Yield the rate of every point; each is one thread's work, which Ctrl-C ends."""
    stop = threading.Event()

    def rate(point: Point) -> float:
        C, gamma = point
        params: dict[str, Any] = {"n_jobs": 1, "callback": lambda report: stop.is_set()}
        if C is not None:
            params["C"] = 2.0**C
        if gamma is not None:
            params["gamma"] = 2.0**gamma
        predicted = problem.held_out_predictions(n_folds, **params)
        score = errors_of if problem.is_regression else accuracy_of
        return float(f"{score(predicted, problem.y)[0]:g}")  # as svm-train -v shows it

    with ThreadPoolExecutor(config.thread_count()) as pool:
        try:
            yield from pool.map(rate, points)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


# -- output ----------------------------------------------------------------------------------------


def _line(origin: str, point: Point, search: Search) -> str:
    where = " ".join(str(exponent) for exponent in point if exponent is not None)
    best = [
        f"{name}={2.0**exponent}, "
        for name, exponent in zip("cg", search.best, strict=True)
        if exponent is not None
    ]
    so_far = f"best {''.join(best)}{search.rate_name}={search.best_rate}"
    return f"[{origin}] {where} {search.rates[point]} ({so_far})"


def _record(point: Point, search: Search) -> str:
    names = zip(("log2c", "log2g"), point, strict=True)
    where = "".join(f"{name}={exponent} " for name, exponent in names if exponent is not None)
    return f"{where}{search.rate_name}={search.rates[point]}\n"


def _resumed(path: str | None, default: str) -> dict[Point, float]:
    """Return the rates in a file that an earlier search wrote."""
    known: dict[Point, float] = {}
    if path is None:
        return known
    with open(path or default, encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                values = {key: float(value) for key, value in re.findall(r"(\w+)=(\S+)", line)}
                rate = values.get("rate", values.get("mse"))
                if rate is not None:
                    known[values.get("log2c"), values.get("log2g")] = rate
    return known


def _draw(search: Search, name: str, path: str) -> None:
    from matplotlib.figure import Figure

    points = [(c, g) for c, g in search.rates if c is not None and g is not None]
    log2c, log2g = (sorted(set(exponents)) for exponents in zip(*points, strict=True))
    rates = [[search.rates.get((c, g), np.nan) for g in log2g] for c in log2c]
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    plotting.plot_grid(
        2.0 ** np.array(log2c),
        2.0 ** np.array(log2g),
        rates,
        label="mean squared error" if search.is_regression else "accuracy in %",
        less_is_better=search.is_regression,
        best=(2.0 ** (search.best[0] or 0.0), 2.0 ** (search.best[1] or 0.0)),
        title=f"{name}: cross-validation",
        ax=figure.subplots(),
    )
    with replacing(path) as file:
        figure.savefig(file, format=Path(path).suffix.lstrip(".") or "png", dpi=150)
