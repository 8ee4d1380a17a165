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
from oracles.problems import rng

COMMAND = [sys.executable, "-m", "maxmargin"]
A_LINE = r"iteration \d+  dual objective \S+  violation \S+  \S+ s"


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


def test_the_time_limit_reaches_the_solver(iris, capsys, monkeypatch):
    seen = []
    fit = SVC.fit
    monkeypatch.setattr(
        SVC, "fit", lambda self, X, y: seen.append(self.time_limit) or fit(self, X, y)
    )
    path = str(iris[0] / "iris.txt")
    assert main(["train", path, "-o", f"{path}.m", "--time-limit", "77", "-q"]) == 0
    assert seen == [77]


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
    assert out == f"{maxmargin.config.describe()}\n"
    for line in ("version", "compiler", "targets", "active target", "threads"):
        assert re.search(f"^{line} +\\S", out, re.MULTILINE)
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert (caught.value.code, capsys.readouterr().out) == (
        0,
        f"maxmargin {maxmargin.__version__}\n",
    )


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
    assert re.fullmatch(rf"progress          {A_LINE}\n", err)
    assert all(re.match(r"[a-zA-Z ]{17} \S", line) for line in out.splitlines()), out


def test_progress_is_one_line_that_ends_with_the_last_state(iris, capsys, monkeypatch):
    def fit(self, X, y):
        if self.callback is not None:
            report = {"dual_objective": -12.5, "kkt_violation": 0.25, "seconds": 1.5}
            self.callback({"n_iter": 5, **report})
        return fit_in_earnest(self, X, y)

    fit_in_earnest = SVC.fit
    monkeypatch.setattr(SVC, "fit", fit)
    arguments = ["train", str(iris[0] / "iris.txt"), "-o", str(iris[0] / "m"), "--max-iter", "1"]
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        first = "iteration 5  dual objective -12.5  violation 0.25  1.5 s"
        shown = rf"\r\x1b\[Kprogress {{10}}{first}\r\x1b\[K" if is_terminal else ""
        assert re.match(rf"{shown}progress {{10}}{A_LINE}\nmaxmargin: warning", err), err
        assert "iteration 5" not in out
    assert main([*arguments, "-q"]) == 0
    assert "iteration 5" not in capsys.readouterr().err


# -- errors ----------------------------------------------------------------------------------------


def test_usage_errors_exit_with_2(capsys):
    for arguments in (["fly"], ["train"], ["predict", "model"], ["train", "x", "--fly"],
                      ["info", "--fly", "1"]):  # fmt: skip
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        if arguments == ["fly"]:
            assert err.startswith("maxmargin: error: argument COMMAND: invalid choice: 'fly' ")
            continue
        fault = "unrecognized arguments: --fly" if "--fly" in arguments else "the following arg"
        assert err.startswith(f"maxmargin {arguments[0]}: error: {fault}")


def test_without_a_command_there_is_help(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: maxmargin ")
    assert "train a C-SVC on a data file" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--C", "-1"], "--C: C must be a number > 0, or inf for the hard margin, got -1"),
        (["--C", "one"], "--C: C must be a number > 0, or inf for the hard margin, got 'one'"),
        (["--gamma", "sale"], "--gamma: gamma must be 'scale', 'auto' or .* > 0, got 'sale'"),
        (["--gamma", "0"], "--gamma: gamma must be 'scale', 'auto' or .* > 0, got 0"),
        (
            ["--kernel", "rbfs"],
            "--kernel: kernel must be one of 'linear', .*, 'sigmoid', got 'rbfs'",
        ),
        (["--degree", "2.5"], "--degree: degree must be an integer >= 0, got 2.5"),
        (["--coef0", "nan"], "--coef0: coef0 must be a finite number, got nan"),
        (["--tol", "0"], "--tol: tol must be a finite number > 0, got 0"),
        (["--cache-size", "0"], "--cache-size: cache_size must be a finite number > 0, got 0"),
        (["--max-iter", "-2"], "--max-iter: max_iter must be an integer >= -1.*, got -2"),
        (["--time-limit", "0"], "--time-limit: time_limit must be a finite number > 0, got 0"),
        (["--threads", "0"], "--threads: n_jobs must be None, an integer >= 1, -1 .*, got 0"),
        (["--class-weight", "a"], "--class-weight: must be LABEL:WEIGHT .* got 'a'"),
        (["--class-weight", "1:-2"], "--class-weight: class_weight must map class 1 to .* got -2"),
        (["--class-weight", "1:2", "--class-weight", "balanced"], "balanced must stand alone"),
    ],
)
def test_bad_parameters_are_named_before_data_are_read(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(["train", "nowhere.svm", *arguments])
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert re.fullmatch(f"maxmargin train: error: argument .*{message}\n", err), err


@pytest.mark.parametrize("command", ["train", "predict"])
def test_an_output_that_cannot_be_written_is_named_before_any_work(
    tmp_path, capsys, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    inputs = {"train": ["no.svm"], "predict": ["no.model", "no.svm"]}[command]
    for output, message in (
        ("none/m", "none/m: the folder to write to does not exist"),
        (".", ".: is a folder, not a file"),
    ):
        assert main([command, *inputs, "-o", output]) == 2
        assert capsys.readouterr().err == f"maxmargin: error: {message}\n"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "data.txt: no such file$"),
        (b"1 1:2\n-1 2:abc\n", [], "line 2.*abc"),
        (b"", [], "data.txt holds no samples$"),
        (b"1 1:2\n1 1:3\n", [], "only one class: 1.0$"),
        (b"1.5 1:2\n1 1:3\n", [], "Unknown label type: continuous"),
        (b"1 1:nan\n-1 1:1\n", [], "line 1.*nan"),
        (b"1 1:1e200\n-1 1:1\n", [], "Scale the data"),
        (
            b"1 1:2\n-1 1:3\n",
            ["--class-weight", "7:1"],
            r"class_weight names \[7.0\], which y does",
        ),
    ],
)
def test_bad_input_is_named_and_exits_with_2(tmp_path, capsys, content, arguments, message):
    path = tmp_path / "data.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["train", str(path), "-o", str(tmp_path / "model"), *arguments]) == 2
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
    (folder / "swapped").write_text("svm_type c_svc\n")
    assert main(["predict", str(folder / "iris.txt"), str(folder / "swapped")]) == 2
    expected = f"{folder / 'swapped'} is a model, and {folder / 'iris.txt'} is not: expected MODEL"
    assert capsys.readouterr().err.startswith(f"maxmargin: error: {expected}")


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
        (["train", "--help"], "\n\nTrain a C-SVC on a data file and write the model.\n\n"),
        (["predict", "--help"], "\n\nPredict the labels of a data file.\n\n"),
        (["demo", "--help"], "\n\nTrain on the handwritten digits"),
        (["info", "--help"], "\n\nShow version, compiler"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert text in capsys.readouterr().out
