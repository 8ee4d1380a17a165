"""svm-scale: LIBSVM's flags, arithmetic, output and files of ranges."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from maxmargin.io import save_svmlight
from oracles.libsvm_commands import check_refusal, ours, tool

FLAGS = ["", "-l 0", "-l 0 -u 1", "-l -3.5 -u 1e3", "-y -1 1", "-y 0 1 -l 0.25"]

# With a feature of one value, one of zeros, one that only some samples have, and labels alike.
FILES = {
    "dense": "1 1:0.1 2:-3 3:7 4:1e-5\n-1 1:0.7 2:3 3:7 4:2e-5\n2.5 1:0.3 2:1 3:7 4:1.23456e-5\n",
    "sparse": "3 2:1\n1 1:-2 5:4 9:1\n\n2 2:0.5 # a comment\n-7\n1 4:0 9:1e-300\n",
    "alike": "1 1:2\n1 1:3\n",
    "crlf": "1 1:2\t2:3 \r\n0\t1:1\r\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, newline="")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 7)) * 10.0 ** rng.integers(-6, 6, 7), 9)
    X[rng.random(X.shape) < 0.4] = 0.0
    save_svmlight(tmp_path / "random", X, rng.normal(size=200))
    return tmp_path


def parsed(name):
    """The labels and the dense samples of a file."""
    with open(name) as file:
        lines = [words for line in file if (words := line.partition("#")[0].split())]
    entries = [dict(word.split(":") for word in words[1:]) for words in lines]
    width = max((int(j) for row in entries for j in row), default=0)
    X = [[float(row.get(str(j + 1), 0)) for j in range(width)] for row in entries]
    return [float(words[0]) for words in lines], X


def by_definition(name, lower=-1.0, upper=1.0, y_limits=None):
    """The text that svm-scale must write, one number at a time."""

    def scaled(value, low, high, lower, upper):
        if value in (low, high):
            return lower if value == low else upper
        return lower + (upper - lower) * (value - low) / (high - low)

    y, X = parsed(name)
    columns = list(zip(*X, strict=True))
    text = ""
    for label, row in zip(y, X, strict=True):
        if y_limits:
            label = scaled(label, min(y), max(y), *y_limits)
        text += f"{label:.17g} "
        for j, value in enumerate(row):
            low, high = min(columns[j]), max(columns[j])
            number = 0.0 if low == high else scaled(value, low, high, lower, upper)
            text += f"{j + 1}:{number:g} " if number != 0 else ""
        text += "\n"
    return text


def limits_of(flags):
    words = flags.split()
    limits = {}
    for flag, name in (("-l", "lower"), ("-u", "upper")):
        if flag in words:
            limits[name] = float(words[words.index(flag) + 1])
    if "-y" in words:
        at = words.index("-y")
        limits["y_limits"] = tuple(map(float, words[at + 1 : at + 3]))
    return limits


@pytest.mark.parametrize("name", [*FILES, "random"])
@pytest.mark.parametrize("flags", FLAGS)
def test_the_output_is_that_of_the_definition(folder, capsys, flags, name):
    ours("svm-scale", *flags.split(), name)
    assert capsys.readouterr().out == by_definition(name, **limits_of(flags))


@pytest.mark.parametrize("flags", FLAGS)
def test_bytes_are_svm_scales(folder, capsys, flags):
    program = tool("svm-scale")
    for name in ("dense", "random", "alike", "crlf"):
        ours("svm-scale", *flags.split(), "-s", "a", name)
        done = subprocess.run(
            [program, *flags.split(), "-s", "b", name], capture_output=True, check=True
        )
        assert capsys.readouterr().out.encode() == done.stdout
        assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
        for other in ("random", "dense"):
            ours("svm-scale", "-r", "b", other)
            done = subprocess.run([program, "-r", "a", other], capture_output=True, check=True)
            assert capsys.readouterr().out.encode() == done.stdout


def test_ranges_are_restored(folder, capsys):
    ours("svm-scale", "-s", "ranges", "-y", 0, 10, "-l", 0, "dense")
    assert (folder / "ranges").read_text().splitlines() == [
        "y", "0 10", "-1 2.5", "x", "0 1", "1 0.10000000000000001 0.69999999999999996", "2 -3 3",
        "4 1.0000000000000001e-05 2.0000000000000002e-05",
    ]  # fmt: skip
    expected = capsys.readouterr().out
    ours("svm-scale", "-r", "ranges", "dense")
    assert capsys.readouterr() == (expected, "")
    # A value beyond the range goes beyond the limits; feature 3 had one value, 5 none.
    (folder / "z").write_text("6 1:0.4 2:6 3:5 5:1\n-1 2:-3 3:5\n")
    ours("svm-scale", "-r", "ranges", "z")
    out, err = capsys.readouterr()
    assert out == "20 1:0.5 2:1.5 4:-1 \n0 1:-0.166667 4:-1 \n"
    assert err == "maxmargin: warning: ranges has no range of feature 5, which becomes 0\n"
    ours("svm-scale", "-s", "x", "dense")
    capsys.readouterr()
    ours("svm-scale", "-r", "x", "-y", 0, 1, "dense")
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 ")


def test_memory_is_in_proportion_to_the_features_that_occur(folder, capsys):
    """Whatever their numbers are, in the samples and in a file of ranges."""
    (folder / "far").write_text("1 1:2 2000000000:4\n0 1:3 2000000000:5\n")
    (folder / "ranges").write_text("x\n-1 1\n1 2 3\n2000000000 4 5\n4000000000000000000 2 4\n")
    for flags in ("", "-r ranges"):
        ours("svm-scale", *flags.split(), "far")
        lines = capsys.readouterr().out.splitlines()
        own = ["1 1:-1 2000000000:-1 ", "0 1:1 2000000000:1 "]
        assert lines == ([line + "4000000000000000000:-3 " for line in own] if flags else own)


def test_filling_up_zeros_is_a_warning(folder, capsys):
    ours("svm-scale", "sparse")
    err = capsys.readouterr().err
    assert "the data had 7 numbers" in err
    assert "now have" in err
    assert "-l 0 keeps zeros" in err
    ours("svm-scale", "-l", 0, "dense")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "svm-scale: got 0 files; expected: [flags] data_file"),
        ("-l 2 dense", "svm-scale: -l must be less than -u, got 2 and 1"),
        ("-y 1 1 dense", "svm-scale: -y: lower must be less than upper, got 1 and 1"),
        ("-y 1", "svm-scale: -y needs lower upper behind it"),
        ("-y 1 b dense", "svm-scale: -y: upper must be a finite number, got 'b'"),
        ("-l nan dense", "svm-scale: -l: lower must be a finite number, got nan"),
        ("-r a -s b dense", "svm-scale: -r and -s exclude each other"),
        ("-r nowhere dense", "nowhere: no such file"),
        ("nowhere", "nowhere: no such file"),
        ("-s none/r dense", "none/r: the folder to write to does not exist"),
        ("-r dense dense", "dense is not a file of ranges: expected a line 'x'"),
        ("-r short dense", "short ends too early: expected 2 finite numbers, got ''"),
        ("-r broken dense", "broken, line 3: expected 3 finite numbers, got '1 0 inf'"),
        ("-r index dense", "index, line 3: expected the index of a feature, got 1.5"),
    ],
)
def test_bad_input(folder, capsys, arguments, message):
    (folder / "short").write_text("x\n")
    (folder / "broken").write_text("x\n-1 1\n1 0 inf\n")
    (folder / "index").write_text("x\n-1 1\n1.5 0 1\n")
    before = sorted(os.listdir(folder))
    check_refusal(capsys, "svm-scale", arguments, message)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_that_goes_away_is_no_traceback(folder):
    save_svmlight("many", np.ones((20000, 5)) * np.arange(1, 20001)[:, None], np.zeros(20000))
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    script = f"'{sys.executable}' -m maxmargin svm-scale many | head -1"
    done = subprocess.run(
        ["sh", "-c", script],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "0 1:-1 2:-1 3:-1 4:-1 5:-1 \n"
    assert done.stderr == ""
