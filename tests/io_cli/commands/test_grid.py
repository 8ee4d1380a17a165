"""grid: the search for C and gamma, and its plot."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from maxmargin import config, io, plotting
from maxmargin.cli import _grid, main
from maxmargin.plotting import plot_grid
from oracles.libsvm_commands import (
    check_refusal,
    ours,
    read_problem,
    seed_like_a_new_process,
    svmutil,
    tool,
    write_problems,
)

FLAGS = [
    "-log2c -3,5,2 -log2g 1,-7,-2 -v 3",
    "-log2c 3,-1,-1.5 -log2g -6,0,1.5",
    "-log2c null -log2g 1,-5,-2 -c 3",
    "-log2c -6,0,1 -log2g null -t 0",
    "-log2c -2,4,3 -log2g -4,-2,2 -v 4 -s 0 -w1 2 -h 0",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_problems(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exponents(word):
    """The values of a range: LIBSVM adds the step until the end is passed."""
    begin, end, step = map(float, word.split(","))
    return [begin + k * step for k in range(100) if (begin + k * step - end) * step <= 0]


@pytest.mark.parametrize("flags", FLAGS)
def test_rates_are_those_of_cross_validation(folder, capfd, flags):
    ours("grid", *flags.split(), "-gnuplot", "null", "classes")
    *lines, last = capfd.readouterr().out.splitlines()
    words = flags.split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    axes = [
        [None] if given[flag] == "null" else exponents(given[flag]) for flag in ("-log2c", "-log2g")
    ]
    others = [f"{flag} {value}" for flag, value in given.items() if "log2" not in flag]
    y, X = read_problem("classes")
    expected = {}
    for c in axes[0]:
        for g in axes[1]:
            point = [f"-{n} {2.0**v}" for n, v in (("c", c), ("g", g)) if v is not None]
            seed_like_a_new_process()
            svmutil.svm_train(y, X, " ".join(["-v 5 -q", *others, *point]))
            rate = float(re.search(r"= (\S+)%", capfd.readouterr().out)[1])
            expected[" ".join(str(v) for v in (c, g) if v is not None)] = rate
    found = dict(re.fullmatch(r"\[local\] (.*) (\S+) \(best .*\)", line).groups() for line in lines)
    assert found.keys() == expected.keys()
    rates = np.array([float(found[point]) for point in expected])
    # One sample that lies within the tolerance of a boundary may go either way.
    np.testing.assert_allclose(rates, list(expected.values()), atol=1.01)
    best = float(last.split()[-1])
    assert best == rates.max()
    assert [float(v) for v in last.split()[:-1]] in [
        [2.0 ** float(v) for v in point.split()] for point in found if float(found[point]) == best
    ]
    names = [name for name, axis in zip("cg", axes, strict=True) if axis != [None]]
    shown = ", ".join(f"{n}={v}" for n, v in zip(names, last.split(), strict=False))
    assert lines[-1].endswith(f"(best {shown}, rate={best})")
    records = (folder / "classes.out").read_text().splitlines()
    assert [re.sub(r"log2[cg]=|rate=", "", record) for record in records] == [
        f"{point} {rate}" for point, rate in found.items()
    ]


@pytest.mark.parametrize("flags", [*FLAGS[:2], "-log2c null -log2g 1,-5,-2"])
def test_the_output_is_svm_grids(folder, capfd, flags):
    """The order of the points, the lines, the best and the file, all but rates at a boundary."""
    ours("grid", *flags.split(), "-gnuplot", "null", "-e", "1e-6", "classes")
    printed = capfd.readouterr().out
    records = (folder / "classes.out").read_text()
    words = [*flags.split(), "-e", "1e-6", "-gnuplot", "null", "-svmtrain", tool("svm-train")]
    done = subprocess.run(
        [sys.executable, tool("svm-grid"), *words, "classes"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert printed == done.stdout
    assert records == (folder / "classes.out").read_text()


def test_points_come_coarse_ones_first():
    """The order that LIBSVM's grid.py has for these values."""
    assert _grid._order([-1.0, 1.0, 3.0, 5.0], [1.0, -1.0, -3.0]) == [
        (3.0, -1.0), (1.0, -1.0), (3.0, 1.0), (1.0, 1.0), (5.0, -1.0), (5.0, 1.0),
        (3.0, -3.0), (1.0, -3.0), (5.0, -3.0), (-1.0, -1.0), (-1.0, 1.0), (-1.0, -3.0),
    ]  # fmt: skip


def test_of_points_as_good_the_first_is_best_and_of_its_gamma_the_least_c():
    search = _grid.Search(is_regression=False)
    for point, rate, best in (
        ((3.0, 1.0), 90.0, (3.0, 1.0)),
        ((1.0, -1.0), 90.0, (3.0, 1.0)),
        ((5.0, 1.0), 90.0, (3.0, 1.0)),
        ((1.0, 1.0), 90.0, (1.0, 1.0)),
        ((7.0, 3.0), 90.5, (7.0, 3.0)),
    ):
        search.add(point, rate)
        assert search.best == best


def test_the_result_does_not_depend_on_threads(folder, capfd, monkeypatch):
    outputs = set()
    for n_threads in (1, 3):
        monkeypatch.setattr(config, "thread_count", lambda n_threads=n_threads: n_threads)
        ours("grid", "-log2c", "-1,3,2", "-log2g", "-4,0,2", "-gnuplot", "null", "pair")
        outputs.add(capfd.readouterr().out)
    assert len(outputs) == 1


def test_the_best_of_a_regression_has_the_least_error(folder, capfd):
    ours("grid", "-s", 3, "-log2c", "-2,4,2", "-log2g", "-4,2,2", "-v", 4, "-out", "o",
         "-gnuplot", "null", "line")  # fmt: skip
    last = capfd.readouterr().out.splitlines()[-1]
    errors = [float(line.rpartition("mse=")[2]) for line in (folder / "o").read_text().splitlines()]
    C, gamma, error = map(float, last.split())
    assert len(errors) == 16
    assert error == min(errors)
    ours("svm-train", "-s", 3, "-c", C, "-g", gamma, "-v", 4, "line")
    assert f"Mean squared error = {error:g}\n" in capfd.readouterr().out


def test_a_search_is_resumed(folder, capfd):
    flags = ["-log2c", "-1,3,2", "-log2g", "-2,0,2", "-gnuplot", "null"]
    ours("grid", *flags, "classes")
    whole = capfd.readouterr().out.splitlines()
    records = (folder / "classes.out").read_text().splitlines(keepends=True)
    (folder / "classes.out").write_text("".join([*records[:4], "noise\n", "log2c=x rate=\n"]))
    ours("grid", "-resume", *flags, "classes")
    again = capfd.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in again[:-1]] == ["[resumed]"] * 4 + ["[local]"] * 2
    assert again[-1] == whole[-1]
    assert (folder / "classes.out").read_text().splitlines(keepends=True) == records
    ours("grid", "-q", "-resume", "classes.out", "-out", "null", *flags, "classes")
    assert capfd.readouterr().out.splitlines() == whole[-1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-log2c 1,2 pair", "grid: -log2c: range must be begin,end,step, with a step towards the"),
        ("-log2c 1,2,-1 pair", "grid: -log2c: range must be begin,end,step, with a step towards"),
        ("-log2g 0,1,0 pair", "grid: -log2g: range must be begin,end,step, with a step towards"),
        ("-log2g 0,9,1e-9 pair", "grid: -log2g: range must be begin,end,step, with a step towards"),
        ("-log2c null -log2g null pair", "grid: -log2c and -log2g must not both be null"),
        ("-c 1 pair", "grid: -c needs -log2c null, which else searches for it"),
        ("-log2c 1,1,1 -png p.png pair", "grid: no plot: it needs at least two values of C and of"),
        ("-resume none pair", "none: no such file"),
        ("-gnuplot null -out none/o pair", "none/o: the folder to write to does not exist"),
        ("-gnuplot null nowhere", "nowhere: no such file"),
        ("-h 2 pair", "grid: -h: shrinking must be one of '0', '1', got '2'"),
        ("-z pair", "grid: there is no flag -z"),
    ],
)
def test_bad_input(folder, capfd, arguments, message):
    check_refusal(capfd, "grid", arguments, message)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_ends_the_threads(tmp_path):
    rng = np.random.default_rng(0)
    io.save_svmlight(tmp_path / "d", rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000))
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", "grid", "-log2c", "25,27,1", "-log2g", "0,2,1", "-e",
         "1e-9", "-gnuplot", "null", "d"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not (tmp_path / "d.out").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)  # until threads fit
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "maxmargin: interrupted\n"


def test_an_interrupted_search_leaves_its_rates(folder, capfd, monkeypatch):
    flags = ["-log2c", "-1,3,2", "-log2g", "-2,0,2", "-gnuplot", "null"]
    ours("grid", *flags, "pair")
    whole = capfd.readouterr().out.splitlines()
    records = (folder / "pair.out").read_text()
    rates = _grid._rates

    def interrupted(*arguments):
        yield from itertools.islice(rates(*arguments), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(_grid, "_rates", interrupted)
    assert main(["grid", *flags, "pair"]) == 130
    assert (folder / "pair.out").read_text() == "".join(records.splitlines(keepends=True)[:2])
    monkeypatch.setattr(_grid, "_rates", rates)
    capfd.readouterr()
    ours("grid", "-resume", *flags, "pair")
    assert capfd.readouterr().out.splitlines()[-1] == whole[-1]
    assert (folder / "pair.out").read_text() == records


# -- the plot --------------------------------------------------------------------------------------


def test_a_plot_without_matplotlib(folder, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    flags = ["-log2c", "0,1,1", "-log2g", "-1,0,1"]
    ours("grid", *flags, "pair")
    assert capfd.readouterr().err == (
        "maxmargin: warning: no plot: plots need matplotlib: pip install 'maxmargin[plot]'\n"
    )
    assert main(["grid", *flags, "-png", "p.png", "pair"]) == 1
    assert capfd.readouterr() == (
        "",
        "maxmargin: error: grid: no plot: plots need matplotlib: pip install 'maxmargin[plot]'\n",
    )
    with pytest.raises(ImportError, match="plots need matplotlib"):
        plotting.plot_grid([1, 2], [1, 2], np.eye(2))


def test_grid_draws_its_plot(folder, capfd, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    draw = plotting.plot_grid
    monkeypatch.setattr(
        plotting, "plot_grid", lambda *a, **k: drawn.append((a, k)) or draw(*a, **k)
    )
    for name in ("classes.png", "p.svg"):
        flags = [] if name == "classes.png" else ["-png", name]
        ours("grid", "-log2c", "-1,3,2", "-log2g", "0,-4,-2", *flags, "classes")
        content = (folder / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    best = [float(word) for word in capfd.readouterr().out.splitlines()[-1].split()]
    (C, gamma, rates), options = drawn[0]
    assert C.tolist() == [0.5, 2.0, 8.0]
    assert gamma.tolist() == [0.0625, 0.25, 1.0]
    assert np.max(rates) == best[2]
    assert options["best"] == (best[0], best[1])


def new_axes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.subplots()


@pytest.mark.parametrize("less_is_better", [False, True])
def test_the_plot_marks_the_best_point(less_is_better):
    C, gamma = [0.25, 1.0, 4.0], [0.5, 1.0]
    scores = np.array([[3.0, 2.0], [np.nan, 9.0], [1.0, 4.0]])
    ax = plot_grid(C, gamma, scores, less_is_better=less_is_better, title="t", ax=new_axes())
    x, y = (2.0, -1.0) if less_is_better else (0.0, 0.0)
    star = next(line for line in ax.lines if line.get_marker() == "*")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (x, y)
    assert star.get_label() == (
        "C = 4, gamma = 0.5: 1" if less_is_better else "C = 1, gamma = 1: 9"
    )
    dots = next(line for line in ax.lines if line.get_marker() == ".")
    assert len(dots.get_xdata()) == 5  # of the known scores
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("log2(C)", "log2(gamma)", "t")
    chosen = plot_grid(C, gamma, scores, best=(4.0, 1.0), ax=new_axes())
    star = next(line for line in chosen.lines if line.get_marker() == "*")
    assert star.get_label() == "C = 4, gamma = 1: 4"


def test_a_flat_score_is_drawn():
    ax = plot_grid([1, 2], [1, 2], np.full((2, 2), 0.5), ax=new_axes())
    ax.figure.canvas.draw()
    assert "C = 1, gamma = 1: 0.5" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([1.0], [1, 2], [[1, 2]]),
            r"C must hold at least two numbers > 0, ascending, got \[1.0\]",
        ),
        (([1, 2], [2, 1], np.eye(2)), "gamma must hold at least two numbers > 0, ascending"),
        (([0, 1], [1, 2], np.eye(2)), "C must hold at least two numbers > 0, ascending"),
        (([1, 2], [1, 2, 3], np.eye(2)), r"shape \(n_C, n_gamma\) = \(2, 3\), got \(2, 2\)"),
        (([1, 2], [1, 2], np.full((2, 2), np.nan)), "scores must hold a finite number"),
    ],
)
def test_bad_input_of_the_plot(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_grid(*arguments, ax=new_axes())
