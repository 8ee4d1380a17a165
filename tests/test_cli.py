"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from libsvm import svmutil
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import SVC, io
from maxmargin.cli import main
from maxmargin.datasets import load_digits
from oracles import rng

COMMAND = [sys.executable, "-m", "maxmargin"]


def environment():
    """This process's environment, for one in another folder: PYTHONPATH may be relative."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    absolute = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    return {**os.environ, "PYTHONPATH": absolute}


def run(*arguments, cwd):
    """Run the command in a process of its own, in `cwd`."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, env=environment(), capture_output=True, text=True
    )


@pytest.fixture
def iris(tmp_path):
    """A folder with iris.txt in LIBSVM format, and the data."""
    X, y = load_iris(return_X_y=True)
    io.save_svmlight(tmp_path / "iris.txt", X, y)
    return tmp_path, X, y.astype(float)


def test_train_and_predict(iris):
    folder, X, y = iris
    done = run("train", "iris.txt", "--C", 2, "--gamma", 0.5, "--tol", 1e-6, cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = SVC(C=2.0, gamma=0.5, tol=1e-6).fit(X, y)
    for text in (
        "150 samples, 4 features, 3 classes",
        f"support vectors   {expected.n_support_.sum()}",
        f"dual objective    {expected.certificate_.dual_objective:.6g}"[:-1],
        "duality gap",
        "KKT violation",
        "SIMD target",
        "threads",
        "iris.txt.model",
    ):
        assert text in done.stdout

    predicted = run("predict", "iris.txt.model", "iris.txt", cwd=folder)
    assert predicted.returncode == 0, predicted.stderr
    labels = np.array(predicted.stdout.split(), dtype=float)
    np.testing.assert_array_equal(labels, expected.predict(X))
    right = int((labels == y).sum())
    assert predicted.stderr == f"accuracy {right / 150:.4f} ({right} of 150)\n"

    written = run("predict", "iris.txt.model", "iris.txt", "-o", "labels.txt", cwd=folder)
    assert written.stdout == predicted.stderr
    assert written.stderr == ""
    assert (folder / "labels.txt").read_text() == predicted.stdout
    assert predicted.stdout.splitlines()[0] == "0"


@pytest.mark.parametrize(
    ("arguments", "params"),
    [
        ([], {}),
        (["--kernel", "linear", "--C", "0.1"], {"kernel": "linear", "C": 0.1}),
        (
            ["--kernel", "poly", "--degree", "2", "--coef0", "1", "--gamma", "auto"],
            {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
        ),
        (
            ["--kernel", "sigmoid", "--gamma", "0.01", "--class-weight", "0:2", "--class-weight",
             "1:0.5", "--threads", "1"],
            {"kernel": "sigmoid", "gamma": 0.01, "class_weight": {0: 2.0, 1: 0.5}},
        ),
        (["--class-weight", "balanced"], {"class_weight": "balanced"}),
    ],
)  # fmt: skip
def test_options_reach_the_solver(iris, capsys, arguments, params):
    folder, X, y = iris
    model = folder / "model"
    status = main(
        ["train", str(folder / "iris.txt"), "-o", str(model), "-q", "--tol", "1e-6",
         "--cache-size", "10", *arguments]
    )  # fmt: skip
    assert status == 0
    assert capsys.readouterr() == ("", "")
    expected = SVC(tol=1e-6, decision_function_shape="ovo", **params).fit(X, y)
    loaded = io.load_model(model).set_params(decision_function_shape="ovo")
    np.testing.assert_allclose(
        loaded.decision_function(X), expected.decision_function(X), atol=1e-4
    )


def test_stopping_early_is_a_warning_and_not_an_error(iris, capsys):
    folder = iris[0]
    status = main(
        ["train", str(folder / "iris.txt"), "-o", str(folder / "m"), "--max-iter", "1", "-q"]
    )
    assert status == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("maxmargin: warning: SVC stopped before it converged (max_iter)")
    assert io.load_model(folder / "m").classes_.tolist() == [0, 1, 2]


def test_files_may_use_fewer_columns_than_the_model_or_more(tmp_path, capsys):
    X = rng(0).normal(size=(60, 4))
    y = np.where(X[:, 0] > 0, 1, -1)
    io.save_svmlight(tmp_path / "train", X, y)
    for n_features in (2, 6):
        Z = np.pad(X, ((0, 0), (0, 2)))[:, :n_features]
        if n_features == 6:
            Z[:, 5] = 3.0  # so far away that the offset decides
        io.save_svmlight(tmp_path / "test", Z, y)
        model, out = str(tmp_path / "model"), str(tmp_path / "out")
        main(["train", str(tmp_path / "train"), "-o", model, "--gamma", "0.5", "-q"])
        assert main(["predict", model, str(tmp_path / "test"), "-o", out]) == 0
        # In six columns the training data have two of zeros.
        width = max(4, n_features)
        wide = np.pad(X, ((0, 0), (0, width - 4)))
        expected = SVC(gamma=0.5).fit(wide, y).predict(np.pad(Z, ((0, 0), (0, width - n_features))))
        np.testing.assert_array_equal(np.loadtxt(out), expected)
    capsys.readouterr()


def test_works_without_scipy(iris):
    folder, X, y = iris
    code = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'scipy' else find(name, *a)\n"
        "sys.modules['scipy'] = None\n"
        "from maxmargin.cli import main\n"
        "assert main(['train', 'iris.txt', '-q']) == 0\n"
        "raise SystemExit(main(['predict', 'iris.txt.model', 'iris.txt', '-o', 'out']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.loadtxt(folder / "out"), SVC().fit(X, y).predict(X))


def test_info_and_version(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert out.strip() == maxmargin.show_config()
    for line in ("version", "compiler", "targets", "active target", "threads"):
        assert re.search(f"^{line} +\\S", out, re.MULTILINE)
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


def test_demo(capsys):
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    accuracy = float(re.search(r"test accuracy +(\S+)", out).group(1))
    digits = load_digits()
    gamma = 1.0 / (digits.X_train.shape[1] * digits.X_train.var())
    theirs = svmutil.svm_train(digits.y_train, digits.X_train, f"-q -c 10 -g {gamma:.17g}")
    predicted = svmutil.svm_predict([], digits.X_test, theirs, "-q")[0]
    assert accuracy == pytest.approx(np.mean(predicted == digits.y_test), abs=0.001)
    for text in (
        "Alpaydin", "3823 samples, 64 features", "1797 samples, 64 features", "support vectors",
        "iterations", "dual objective", "duality gap", "KKT violation", "seconds", "SIMD target",
        "threads", "converged",
    ):  # fmt: skip
        assert text in out, text
    assert re.fullmatch(r"iteration \d+  violation \S+  \S+ s\n", err)


def test_digits_are_the_published_ones():
    from sklearn.datasets import load_digits as test_part_of_scikit_learn

    digits, theirs = load_digits(), test_part_of_scikit_learn()
    np.testing.assert_array_equal(digits.X_test * 16, theirs.data)
    np.testing.assert_array_equal(digits.y_test, theirs.target)
    assert digits.X_train.shape == (3823, 64)
    assert digits.X_train.dtype == np.float32
    # Counts of the published training part.
    assert np.bincount(digits.y_train).tolist() == [
        376, 389, 380, 389, 387, 376, 377, 387, 380, 382,
    ]  # fmt: skip


# -- errors ----------------------------------------------------------------------------------------


def test_usage_errors_exit_with_2(capsys):
    for arguments in ([], ["fly"], ["train"], ["train", "x", "--kernel", "rbfs"],
                      ["train", "x", "--C", "one"], ["predict", "model"]):  # fmt: skip
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "usage: maxmargin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "No such file or directory: .*data.txt"),
        (b"1 1:2\n-1 2:abc\n", [], "line 2.*abc"),
        (b"", [], "sample"),
        (b"1 1:2\n1 1:3\n", [], "only one class"),
        (b"1.5 1:2\n1 1:3\n", [], "Unknown label type: continuous"),
        (b"1 1:nan\n-1 1:1\n", [], "line 1.*nan"),
        (b"1 1:1e200\n-1 1:1\n", [], "Scale the data"),
        (b"1 1:2\n-1 1:3\n", ["--C", "-1"], "C must be a finite number > 0, got -1.0"),
        (b"1 1:2\n-1 1:3\n", ["--gamma", "-1"], "gamma must be 'scale', 'auto' or"),
        (b"1 1:2\n-1 1:3\n", ["--threads", "0"], "n_jobs must be"),
        (b"1 1:2\n-1 1:3\n", ["--class-weight", "a"], "LABEL:WEIGHT .*got 'a'"),
        (b"1 1:2\n-1 1:3\n", ["--class-weight", "7:1"], "are not in class_weight"),
        (b"1 1:2\n-1 1:3\n", ["-o", "/nowhere/m"], "/nowhere"),
    ],
)
def test_bad_input_is_named_and_exits_with_2(tmp_path, capsys, content, arguments, message):
    path = tmp_path / "data.txt"
    if content is not None:
        path.write_bytes(content)
    default = [] if "-o" in arguments else ["-o", str(tmp_path / "model")]
    assert main(["train", str(path), *default, *arguments]) == 2
    err = capsys.readouterr().err
    assert re.search(f"^maxmargin: error: .*{message}", err, re.MULTILINE), err
    assert "Traceback" not in err
    assert not (tmp_path / "model").exists()


def test_a_bad_model_is_named_and_exits_with_2(iris, capsys):
    folder = iris[0]
    (folder / "bad").write_text("svm_type c_svc\nkernel_type nope\n")
    assert main(["predict", str(folder / "bad"), str(folder / "iris.txt")]) == 2
    assert "bad, line 2" in capsys.readouterr().err
    assert main(["predict", str(folder / "none"), str(folder / "iris.txt")]) == 2
    assert "none" in capsys.readouterr().err


def test_unforeseen_failures_exit_with_1(iris, capsys, monkeypatch):
    def fail(self, X, y):
        raise MemoryError("out of memory")

    monkeypatch.setattr(SVC, "fit", fail)
    assert main(["train", str(iris[0] / "iris.txt"), "-q"]) == 1
    assert capsys.readouterr().err == "maxmargin: MemoryError: out of memory\n"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_exits_with_130(tmp_path):
    X, y = rng(0).normal(size=(8000, 8)), rng(1).integers(0, 2, 8000)
    io.save_svmlight(tmp_path / "data", X, y)
    arguments = ["train", "data", "--C", "1e7", "--tol", "1e-9"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == "training part     8000 samples, 8 features, 2 classes\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("maxmargin: interrupted\n")
    assert not (tmp_path / "data.model").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_that_goes_away_is_no_traceback(iris):
    folder = iris[0]
    assert run("train", "iris.txt", "-q", cwd=folder).returncode == 0
    X, y = load_iris(return_X_y=True)
    io.save_svmlight(folder / "many.txt", np.tile(X, (400, 1)), np.tile(y, 400))
    script = f"'{sys.executable}' -m maxmargin predict iris.txt.model many.txt | head -1"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.stdout == "0\n"
    assert "Traceback" not in done.stderr


def test_help_shows_an_example(capsys):
    for arguments, text in (
        (["--help"], "maxmargin train heart_scale -o heart.model"),
        (["train", "--help"], "--class-weight LABEL:WEIGHT"),
        (["predict", "--help"], "MODEL"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert text in capsys.readouterr().out
