"""LIBSVM's programs and Python package as oracles of the commands that take its flags."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest

from maxmargin.cli import main
from maxmargin.datasets import load_digits
from maxmargin.io import save_svmlight

svm = pytest.importorskip("libsvm.svm")
svmutil = pytest.importorskip("libsvm.svmutil")

LINES = re.compile(r"(C|nu|epsilon|obj|rho|nSV|nBSV|Total nSV|sigma) ?= ?(\S+?),?(?= |$)", re.M)

MISUSE = re.compile(r"there is no flag|needs .* behind it|expected: \[flags\]")


def write_problems(folder):
    """Write classes (three, the greatest first), pair (-1 first), line (regression) and kernel."""
    digits = load_digits()
    X, y = digits.X_train / 16.0, digits.y_train
    three = np.flatnonzero(y < 3)[:150]
    three = three[np.argsort(y[three] != 2, kind="stable")][np.r_[0, 75, 76, 2:74, 77:150]]
    X3, y3 = X[three][:, ::3], y[three]
    for name, rows in (("classes", slice(0, 100)), ("classes.t", slice(100, None))):
        save_svmlight(folder / name, X3[rows], y3[rows])
    hard = np.flatnonzero((y == 3) | (y == 8) | (y == 9))[:160]
    Xp, yp = X[hard][:, ::4], np.where(y[hard] == 8, 1, -1)
    for name, rows in (("pair", slice(0, 110)), ("pair.t", slice(110, None))):
        save_svmlight(folder / name, Xp[rows], yp[rows])
    rng = np.random.default_rng(0)
    Xr = rng.uniform(-1, 1, (120, 3))
    target = np.sin(3 * Xr[:, 0]) + Xr[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    for name, rows in (("line", slice(0, 80)), ("line.t", slice(80, None))):
        save_svmlight(folder / name, Xr[rows], target[rows])
    K = (Xp @ Xp.T + 1.0) ** 2
    for name, rows in (
        ("kernel", range(0, 110)),
        ("some", range(90, 3, -2)),
        ("kernel.t", range(110, 160)),
    ):
        lines = [
            f"{yp[i]} 0:{i + 1} {' '.join(f'{j + 1}:{K[i, j]:.12g}' for j in range(110))}\n"
            for i in rows
        ]
        (folder / name).write_text("".join(lines))


def ours(*arguments):
    """Run one of our commands, which must succeed."""
    assert main([str(argument) for argument in arguments]) == 0


def check_refusal(capture, command, arguments, message):
    """Check that a command ends with 1 and a line, and the usage if it does not know the words."""
    code = main([command, *arguments.split()])
    out, err = capture.readouterr()
    assert (code, out) == (1, "")
    line, _, rest = err.partition("\n")
    assert line.startswith(f"maxmargin: error: {message}")
    main([command, "--help"])
    usage = capture.readouterr().out
    assert rest == (f"\n{usage}" if MISUSE.search(line) else "")


def tool(name):
    """The path of a program of libsvm-tools."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name} of libsvm-tools")
    return path


def theirs(name, *arguments, cwd):
    """What a program of libsvm-tools writes to stdout."""
    words = [tool(name), *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def read_problem(path):
    """Labels and samples of a data file, by LIBSVM's own reader."""
    return svmutil.svm_read_problem(str(path))


def libsvm_values(model, path):
    """LIBSVM's labels for a data file, and its values.

    Not by svm_predict of svmutil, whose buffer is too short for nu-SVC.
    """
    _, X = read_problem(path)
    n_values = max(1, model.get_nr_class() * (model.get_nr_class() - 1) // 2)
    is_kernel = model.param.kernel_type == svm.kernel_names.PRECOMPUTED
    labels, values = [], np.empty((len(X), n_values))
    for row, sample in zip(values, X, strict=True):
        nodes = svm.gen_svm_nodearray(sample, isKernel=is_kernel)[0]
        pointer = row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        labels.append(svm.libsvm.svm_predict_values(model, nodes, pointer))
    return np.array(labels), values


def seed_like_a_new_process():
    """Let LIBSVM shuffle as its programs do, which draw from the C library's unseeded rand."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("needs the rand of glibc")
    ctypes.CDLL(None).srand(1)


def numbers(text):
    """The names and numbers that LIBSVM's lines about a solution hold, without iterations."""
    return [(name, float(number)) for name, number in LINES.findall(text)]
