"""svm-train and svm-predict: LIBSVM's flags, files, messages and results."""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import re

import numpy as np
import pytest

from maxmargin import io
from maxmargin.cli import main
from maxmargin.cli._cross_validation import folds_of, glibc_rand
from maxmargin.svm import SVC
from maxmargin.svm._machine import model_of
from oracles.libsvm_commands import (
    check_refusal,
    libsvm_values,
    numbers,
    ours,
    read_problem,
    seed_like_a_new_process,
    svmutil,
    theirs,
    write_problems,
)

# Data, and flags; every flag is there.
CASES = [
    ("classes", ""),
    ("classes", "-s 0 -t 2 -c 8 -g 0.3 -m 1 -h 0"),
    ("classes", "-t 0 -c 0.05 -w0 3 -w2 0.5 -w2 0.5"),
    ("classes", "-s 1 -n 0.15 -g 0.3"),
    ("classes", "-c 0.2 -g 0"),
    ("pair", "-t 1 -d 2 -g 0.2 -r 1 -c 0.5 -m 40 -h 1"),
    ("pair", "-t 3 -g 0.05 -r -0.5 -w-1 2"),
    ("pair", "-s 1 -n 0.55 -t 0"),
    ("pair", "-s 2 -n 0.25 -g 0.5"),
    ("line", "-s 3 -c 5 -p 0.05 -g 1"),
    ("line", "-s 4 -c 5 -n 0.4 -g 1"),
    ("kernel", "-t 4"),
    ("some", "-t 4 -c 0.3 -w1 2"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_problems(folder)
    return folder


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    """An empty working folder, with the data next to it."""
    monkeypatch.chdir(tmp_path)
    for path in data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def held_out(name):
    """The name of the test file that goes with a training file."""
    return "kernel.t" if name == "some" else f"{name}.t"


def assert_same_numbers(printed, expected):
    """Support vectors whose coefficient is nearly 0, or nearly at its bound, count either way."""
    for (name, number), (_, libsvms) in zip(numbers(printed), numbers(expected), strict=True):
        is_count = name.endswith("SV")
        assert number == pytest.approx(libsvms, rel=1e-3, abs=2 if is_count else 1e-4), name


@pytest.mark.parametrize(("name", "flags"), CASES)
def test_models_and_predictions_are_libsvms(folder, capfd, name, flags):
    """Our model read by LIBSVM, LIBSVM's by us; the messages state the same solution."""
    flags = f"{flags} -e 1e-7"
    ours("svm-train", *flags.split(), name)
    printed = capfd.readouterr().out
    y, X = read_problem(folder / name)
    trained = svmutil.svm_train(y, X, flags)
    expected = capfd.readouterr().out
    assert [line.partition("=")[0] for line in printed.splitlines()] == [
        line.partition("=")[0] for line in expected.splitlines() if line.strip(".*")
    ]
    assert_same_numbers(printed, expected)

    svmutil.svm_save_model("theirs", trained)
    test = held_out(name)
    labels, values = libsvm_values(trained, test)
    by_libsvm = svmutil.svm_load_model(f"{name}.model")
    same_labels, same_values = libsvm_values(by_libsvm, test)
    assert by_libsvm.get_labels() == trained.get_labels()
    np.testing.assert_allclose(same_values, values, rtol=0, atol=1e-4 * np.abs(values).max())
    scale = np.abs(labels).max()
    allowed = 1e-4 * scale if trained.get_svm_type() in (3, 4) else 0.0
    np.testing.assert_allclose(same_labels, labels, rtol=0, atol=allowed)
    for model, by_them in ((f"{name}.model", same_labels), ("theirs", labels)):
        ours("svm-predict", test, model, "out")
        np.testing.assert_allclose(np.loadtxt("out"), by_them, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize(("name", "flags"), CASES)
def test_the_programs_agree(folder, capfd, name, flags):
    """With libsvm-tools: their svm-predict reads our models, and says and writes the same."""
    theirs("svm-train", *flags.split(), name, "theirs", cwd=folder)
    ours("svm-train", "-q", *flags.split(), name, "ours")
    test = held_out(name)
    for model in ("ours", "theirs"):
        capfd.readouterr()
        ours("svm-predict", test, model, "a")
        printed = capfd.readouterr().out
        assert printed == theirs("svm-predict", test, model, "b", cwd=folder)
        if name == "line":
            np.testing.assert_allclose(np.loadtxt("a"), np.loadtxt("b"), rtol=1e-9)
        else:
            assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


# -- cross-validation ------------------------------------------------------------------------------

FOLDS = [
    ("classes", "-v 5"),
    ("classes", "-v 3 -s 1 -n 0.2"),
    ("classes", "-v 2 -q"),
    ("classes", "-v 100"),
    ("classes", "-v 700 -g 2"),
    ("pair", "-v 4 -t 1 -w1 5"),
    ("pair", "-v 4 -s 2"),
    ("some", "-v 6 -t 4"),
    ("line", "-v 5 -s 3 -g 1"),
    ("line", "-v 3 -s 4 -c 10"),
]


def assert_same_rates(printed, expected):
    assert printed.count("Cross Validation") == len(printed.splitlines())
    lines = [line for line in expected.splitlines() if line.startswith("Cross")]
    if "Accuracy" in printed:
        assert printed.splitlines() == lines
    else:
        for line, libsvms in zip(printed.splitlines(), lines, strict=True):
            assert line.partition("=")[0] == libsvms.partition("=")[0]
            assert float(line.split()[-1]) == pytest.approx(float(libsvms.split()[-1]), rel=1e-4)


@pytest.mark.parametrize(("name", "flags"), FOLDS)
def test_cross_validation_has_libsvms_folds(folder, capfd, name, flags):
    flags = f"{flags} -e 1e-5"
    ours("svm-train", *flags.split(), name)
    printed = capfd.readouterr().out
    assert not (folder / f"{name}.model").exists()
    y, X = read_problem(folder / name)
    seed_like_a_new_process()
    svmutil.svm_train(y, X, f"{flags} -q")
    assert_same_rates(printed, capfd.readouterr().out)


@pytest.mark.parametrize(("name", "flags"), FOLDS)
def test_cross_validation_agrees_with_svm_train(folder, capfd, name, flags):
    flags = f"{flags} -e 1e-5"
    ours("svm-train", *flags.split(), name)
    printed = capfd.readouterr().out
    assert_same_rates(printed, theirs("svm-train", "-q", *flags.split(), name, cwd=folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heart_scale", "a1a"])
def test_cross_validation_of_real_data(tmp_path, monkeypatch, capfd, shared_data, name):
    monkeypatch.chdir(tmp_path)
    data = shared_data(name)
    io.save_svmlight("d", data.X, data.y)
    y, X = read_problem("d")
    for flags in ("-v 5", "-t 0 -c 0.1 -v 3"):
        ours("svm-train", *flags.split(), "d")
        printed = capfd.readouterr().out
        seed_like_a_new_process()
        expected = svmutil.svm_train(y, X, f"{flags} -q")
        # One sample that lies within the tolerance of a boundary may go either way.
        accuracy = float(printed.split()[-1].rstrip("%"))
        assert accuracy == pytest.approx(expected, abs=101 / len(y))
        capfd.readouterr()


def test_the_generator_is_glibcs():
    seed_like_a_new_process()
    rand = ctypes.CDLL(None).rand
    assert [rand() for _ in range(1000)] == list(itertools.islice(glibc_rand(), 1000))
    assert platform.libc_ver()[0] == "glibc"


@pytest.mark.parametrize("is_stratified", [False, True])
def test_folds_part_the_samples(is_stratified):
    y = np.repeat([3.0, 1.0, 2.0], [10, 21, 6])
    for n_folds in (2, 5, 37, 50):
        folds = list(folds_of(y, n_folds, is_stratified))
        assert len(folds) == min(n_folds, 37)
        np.testing.assert_array_equal(np.sort(np.concatenate([f[1] for f in folds])), range(37))
        for rows, held_out in folds:
            np.testing.assert_array_equal(np.sort(np.append(rows, held_out)), range(37))
            if is_stratified and n_folds <= 6:
                shares = [np.count_nonzero(y[held_out] == label) for label in (3, 1, 2)]
                assert all(
                    abs(n - m / n_folds) < 1 for n, m in zip(shares, (10, 21, 6), strict=True)
                )


def test_a_fold_may_leave_one_class(tmp_path, capfd):
    (tmp_path / "d").write_text("1 1:1\n1 1:2\n1 1:1.5\n-1 1:5\n")
    ours("svm-train", "-v", 4, tmp_path / "d")
    assert capfd.readouterr().out == "Cross Validation Accuracy = 75%\n"


# -- probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "flags"), [("classes", ""), ("pair", ""), ("classes", "-s 1 -n 0.3 -g 0.3")]
)
def test_probabilities(folder, capfd, name, flags):
    ours("svm-train", "-b", 1, *flags.split(), name, "ours")
    y, X = read_problem(folder / name)
    trained = svmutil.svm_train(y, X, f"-q -b 1 {flags}")
    svmutil.svm_save_model("theirs", trained)
    z, Z = read_problem(folder / f"{name}.t")
    for file, allowed in (("theirs", 0.01), ("ours", 0.01)):
        model = svmutil.svm_load_model(file)
        labels, _, expected = svmutil.svm_predict(z, Z, model, "-b 1 -q")
        capfd.readouterr()
        ours("svm-predict", "-b", 1, f"{name}.t", file, "out")
        right = int((np.array(labels) == z).sum())
        assert f"({right}/{len(z)}) (classification)" in capfd.readouterr().out
        header, *rows = (folder / "out").read_text().splitlines()
        assert header == " ".join(["labels", *map(str, model.get_labels())])
        found = np.array([row.split() for row in rows], dtype=float)
        np.testing.assert_array_equal(found[:, 0], labels)
        np.testing.assert_allclose(found[:, 1:], expected, atol=allowed)
    ours("svm-predict", f"{name}.t", "ours", "out")
    assert capfd.readouterr().out.startswith("Model supports probability estimates, but disabled")
    plain = io.load_model("ours")
    plain._model = plain._model.changed(sigmoids=None)
    loaded = plain.predict(io.load_svmlight(f"{name}.t", n_features=plain.n_features_in_)[0])
    np.testing.assert_array_equal(np.loadtxt("out"), loaded)


@pytest.mark.parametrize("flags", ["-s 3 -g 1 -c 5", "-s 4 -g 1 -n 0.4"])
def test_the_errors_of_a_regression(folder, capfd, flags):
    ours("svm-train", "-b", 1, "-e", 1e-6, *flags.split(), "line", "ours")
    printed = capfd.readouterr().out.splitlines()[-1]
    y, X = read_problem(folder / "line")
    seed_like_a_new_process()
    trained = svmutil.svm_train(y, X, f"-q -b 1 -e 1e-6 {flags}")
    scale = trained.get_svr_probability()
    assert float(printed.rpartition("sigma= ")[2]) == pytest.approx(scale, rel=1e-4)
    assert model_of(io.load_model("ours")).core.noise_scale == pytest.approx(scale, rel=1e-4)
    ours("svm-predict", "-b", 1, "line.t", "ours", "out")
    assert printed in capfd.readouterr().out.splitlines()


# -- output and errors -----------------------------------------------------------------------------


def test_labels_have_libsvms_format(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").write_text("1234567 1:1\n-3 1:-1\n+2e0 2:4\n")
    ours("svm-train", "-q", "d", "m")
    ours("svm-predict", "-q", "d", "m", "out")
    assert (tmp_path / "out").read_text() == "1234567\n-3\n2\n"
    assert capfd.readouterr() == ("", "")


def test_a_test_file_may_have_fewer_features_or_more(folder, capfd):
    ours("svm-train", "-q", "-s", 3, "line", "m")
    for text in ("0.5 1:0.3\n", "0.5 1:0.3 2:-1 3:0.1 7:2\n"):
        (folder / "z").write_text(text)
        ours("svm-predict", "-q", "z", "m", "out")
        z, Z = read_problem("z")
        expected = svmutil.svm_predict(z, Z, svmutil.svm_load_model("m"), "-q")[0]
        assert float((folder / "out").read_text()) == pytest.approx(expected[0], rel=1e-9)


def test_weights_of_absent_classes_are_a_warning(folder, capfd):
    ours("svm-train", "-q", "-w7", 2, "-w1.0", 3, "pair", "m")
    assert capfd.readouterr().err == "maxmargin: warning: class label 7 of -w is not in the data\n"
    fitted = SVC(C=1.0, gamma="auto", class_weight={1: 3.0})
    X, y = io.load_svmlight("pair")
    np.testing.assert_allclose(
        io.load_model("m", n_features=X.shape[1]).decision_function(X),
        fitted.fit(X, y).decision_function(X),
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "svm-train: got 0 files; expected: [flags] training_set_file [model_file]"),
        ("pair m n", "svm-train: got 3 files; expected: [flags] training_set_file [model_file]"),
        ("pair -c 1", "svm-train: -c stands behind the file pair, and flags must come first; exp"),
        ("-v 5 single", "cross-validation needs at least 2 samples, got 1"),
        ("-b 1 tiny", "probability=True needs at least 5 samples of every class, "),
        ("-c", "svm-train: -c needs cost behind it"),
        ("-z 3 pair", "svm-train: there is no flag -z"),
        ("-c x pair", "svm-train: -c: cost must be a finite number > 0, got 'x'"),
        ("-c -1 pair", "svm-train: -c: cost must be a finite number > 0, got -1.0"),
        ("-s 5 pair", "svm-train: -s: svm_type must be one of '0', '1', '2', '3', '4', got '5'"),
        ("-h 2 pair", "svm-train: -h: shrinking must be one of '0', '1', got '2'"),
        ("-d 1.5 pair", "svm-train: -d: degree must be an integer >= 0, got '1.5'"),
        ("-g -1 pair", "svm-train: -g: gamma must be a finite number >= 0, got -1.0"),
        ("-n 1.5 pair", "svm-train: -n: nu must be a number > 0 and <= 1, got 1.5"),
        ("-v 1 pair", "svm-train: -v: n must be an integer >= 2, got 1"),
        ("-wx 1 pair", "svm-train: -wx: the label must be an integer, got 'x'"),
        ("-w1.5 1 pair", "svm-train: -w1.5: the label must be an integer, got '1.5'"),
        ("-w1 -1 pair", "svm-train: -w1: weight must be a finite number >= 0, got -1.0"),
        ("-s 1 -n 1 pair", "nu=1 is infeasible"),
        ("nowhere", "nowhere: no such file"),
        ("pair none/m", "none/m: the folder to write to does not exist"),
        ("empty", "empty holds no samples"),
        ("text", "text, line 2: "),
        ("zero", "zero, line 1: indices must start at 1"),
        ("one", "SVC needs samples of at least two classes, but y holds only one class: 1.0"),
        ("line", "Unknown label type: continuous"),
        ("-t 4 pair", "pair: sample 1 must begin with 0:serial, its number among the"),
    ],
)
def test_bad_input(folder, capfd, arguments, message):
    for name, text in (
        ("empty", "# nothing\n"),
        ("text", "1 1:1\n-1 1:one\n"),
        ("zero", "1 0:1\n-1 1:1\n"),
        ("one", "1 1:1\n1 1:2\n"),
        ("tiny", "1 1:1\n-1 1:2\n"),
        ("single", "1 1:1\n"),
    ):
        (folder / name).write_text(text)
    before = sorted(os.listdir(folder))
    check_refusal(capfd, "svm-train", arguments, message)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("pair.t m", "svm-predict: got 2 files; expected: [flags] test_file model_file output"),
        ("-c 1 pair.t m out", "svm-predict: there is no flag -c"),
        ("pair.t m out -b 1", "svm-predict: -b stands behind the file pair.t, and flags must come"),
        ("-b 2 pair.t m out", "svm-predict: -b: probability must be one of '0', '1', got '2'"),
        ("-b 1 pair.t m out", "-b 1: m holds no probabilities; train it with -b 1"),
        ("pair.t pair out", "pair, line 1: not a LIBSVM model"),
        ("m pair.t out", "m is a model, and pair.t is not: expected test_file model_file output_f"),
        ("nowhere m out", "nowhere: no such file"),
        ("pair.t m none/out", "none/out: the folder to write to does not exist"),
        ("pair.t k out", "pair.t holds kernel values with 16 training samples, but the model"),
    ],
)
def test_bad_input_of_svm_predict(folder, capfd, arguments, message):
    ours("svm-train", "-q", "pair", "m")
    ours("svm-train", "-q", "-t", 4, "kernel", "k")
    check_refusal(capfd, "svm-predict", arguments, message)
    assert not (folder / "out").exists()


def test_help_lists_the_flags(capsys):
    for command, flag in (("svm-train", "-wi weight"), ("svm-predict", "-b prob"),
                          ("svm-scale", "-y lower upper"), ("grid", "-log2c range")):  # fmt: skip
        assert main([command, "--help"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"usage: maxmargin {command} [flags] ")
        assert f"\n  {flag}" in out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert re.search(r"svm-scale +scale the features", capsys.readouterr().out)
