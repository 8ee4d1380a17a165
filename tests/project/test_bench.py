"""The checks of bench/verify.py against LIBSVM's own figures, and a quick pass of every command."""

import functools
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from support.repository import BENCH

C, GAMMA = 10.0, 0.1


@pytest.fixture
def bench(monkeypatch):
    """A function that imports a module of bench/."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def trained_by_libsvm(bench, name, layout):
    """Data, LIBSVM's machines and runner, and the objectives that LIBSVM printed."""
    svm = pytest.importorskip("libsvm.svm")
    problem = replace(bench("problems").find_problem(name), layout=layout)
    data = bench("problems").load(problem, None)
    request = {"problem": {"C": C, "gamma": GAMMA}, "tol": 1e-3, "cache_mb": 100}
    runner = bench("runners").LibsvmRunner(request, np.float64)
    runner.prepare(data.X, data.y)
    lines = []
    hook = svm.PRINT_STRING_FUN(lambda line: lines.append(line.decode()))
    svm.libsvm.svm_set_print_string_function(hook)
    try:
        runner.fit()
    finally:
        svm.libsvm.svm_set_print_string_function(svm.ctypes_print_null)
    printed = re.findall(r"obj = (\S+),", "".join(lines))
    return data, runner.machines(), runner, np.array(printed, dtype=float)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "iris"])
def test_objective_and_violation_are_those_of_libsvm(bench, name, layout):
    data, machines, _, printed = trained_by_libsvm(bench, name, layout)
    found = bench("verify").check(data, machines, C, GAMMA, n_threads=2)
    np.testing.assert_allclose(found["objective_per_machine"], printed, rtol=1e-6)
    assert found["dual_objective"] == pytest.approx(printed.sum(), rel=1e-6)
    assert 0 < found["kkt_violation"] < 1.01e-3
    assert found["bias_error"] < 1e-6
    assert found["is_feasible"]


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
def test_predictions_are_those_of_libsvm(bench, name):
    data, machines, runner, _ = trained_by_libsvm(bench, name, "dense")
    runner.prepare_predict(data.X_test)
    labels = bench("verify").predict(data.X_test, data.X, machines, GAMMA, n_threads=2)
    np.testing.assert_array_equal(labels, runner.predict())


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_scikit_learn_gives_the_same_machines(bench, name):
    from sklearn.svm import SVC

    data, by_libsvm, _, _ = trained_by_libsvm(bench, name, "dense")
    runner = bench("runners").SklearnRunner.__new__(bench("runners").SklearnRunner)
    runner.estimator = SVC(C=C, gamma=GAMMA).fit(data.X, data.y)
    by_sklearn = runner.machines()
    pair = {
        (p, n): i
        for i, (p, n) in enumerate(
            zip(by_libsvm.positive.tolist(), by_libsvm.negative.tolist(), strict=True)
        )
    }
    verify = bench("verify")
    values = verify.decision_values(data.X, data.X, by_libsvm, GAMMA, 1) + by_libsvm.bias
    others = verify.decision_values(data.X, data.X, by_sklearn, GAMMA, 1) + by_sklearn.bias
    for i in range(len(by_sklearn)):
        key = (by_sklearn.positive[i].item(), by_sklearn.negative[i].item())
        column = values[:, pair[key]] if key in pair else -values[:, pair[key[::-1]]]
        np.testing.assert_allclose(others[:, i], column, atol=2e-3)


def test_worse_results_are_seen(bench):
    verify = bench("verify")
    data, machines, _, _ = trained_by_libsvm(bench, "breast_cancer", "dense")
    good = verify.check(data, machines, C, GAMMA, 1)

    shrunk = verify.check(data, replace(machines, coef=0.9 * machines.coef), C, GAMMA, 1)
    assert shrunk["dual_objective"] > good["dual_objective"] * (1 - 1e-4)
    assert shrunk["kkt_violation"] > 0.05
    assert shrunk["is_feasible"]

    moved = verify.check(data, replace(machines, bias=machines.bias + 0.1), C, GAMMA, 1)
    assert moved["bias_error"] == pytest.approx(0.1, abs=2e-3)

    assert not verify.check(data, machines, 0.5 * C, GAMMA, 1)["is_feasible"]  # alpha > C
    coef = machines.coef.copy()
    coef[0] *= 0.5
    assert not verify.check(data, replace(machines, coef=coef), C, GAMMA, 1)["is_feasible"]

    twice = replace(machines, rows=np.r_[machines.rows[:-1], machines.rows[0]])
    with pytest.raises(ValueError, match="same row twice"):
        verify.check(data, twice, C, GAMMA, 1)


def test_a_worse_peer_sets_no_mark(bench):
    def outcome(seconds, objective, is_feasible=True):
        return {
            "measurements": [{"fit_seconds": seconds}],
            "timed_out": False,
            "error": None,
            "fit_seconds": seconds,
            "predict_seconds": None,
            "check": {"dual_objective": objective, "is_feasible": is_feasible},
        }

    result = {
        "timeout": 200.0,
        "libraries": {
            "maxmargin_f64": outcome(1.0, -100.0),
            "libsvm": outcome(9.0, -100.0),
            "libsvm_1t": outcome(6.0, -100.0),
            "sklearn": outcome(0.1, -99.0),  # fast, but 1 % from the optimum
            "intelex_f64": outcome(2.0, -100.001),
            "intelex_f32": outcome(0.1, -105.0, is_feasible=False),
        },
    }
    bench("report").compare_outcomes(result)
    assert result["best_objective"] == -100.001
    assert result["libraries"]["sklearn"]["flags"] == ["objective"]
    assert result["libraries"]["intelex_f32"]["flags"] == ["infeasible"]
    ratios = result["ratios"]["fit"]["maxmargin_f64"]
    assert (ratios["fastest_peer"], ratios["over_fastest"]) == ("intelex_f64", 2.0)
    assert ratios["over_libsvm"] == 6.0


def test_both_kernel_perceptrons_make_the_same_mistakes(bench, monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    monkeypatch.setenv("PYTHONPATH", str(Path(maxmargin.__file__).parent.parent))
    file = tmp_path / "out.json"
    arguments = ["--quick", "--only", "digits", "--libraries", "maxmargin_f64", "--rows", "200"]
    assert bench("kernel_perceptron").main([*arguments, "--json", str(file)]) == 0
    (result,) = json.loads(file.read_text())["results"]
    assert result["makes_the_same_mistakes"]
    assert list(result["libraries"]) == ["maxmargin_f64", "numpy"]
    mistakes = [one["measurements"][0]["alpha_sha256"] for one in result["libraries"].values()]
    assert len(set(mistakes)) == 1


# .ci/run makes a quick pass of every command, and these.
slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "command", ["compare", slow("cache_size"), slow("small_fits"), slow("memory"), slow("busy")]
)
def test_quick_pass(bench, monkeypatch, tmp_path, command):
    pytest.importorskip("sklearn")
    pytest.importorskip("libsvm.svm")
    monkeypatch.setenv("PYTHONPATH", str(Path(maxmargin.__file__).parent.parent))
    file, libraries = tmp_path / "out.json", ["maxmargin_f64", "libsvm_1t"]
    arguments = ["--quick", "--libraries", ",".join(libraries), "--json", str(file)]
    if command not in ("small_fits", "busy"):
        arguments += ["--only", "breast_cancer"]
    assert bench(command).main(arguments) == 0
    written = json.loads(file.read_text())
    assert written["benchmark"] == command
    assert written["machine"]["n_cpus"] >= 1
    assert written["results"]
    for result in written["results"]:
        outcomes = result["sizes" if command == "cache_size" else "libraries"].values()
        if command == "busy":
            outcomes = [load for one in outcomes for load in one["loads"].values()]
        assert [len(one["measurements"]) for one in outcomes] == [1] * len(outcomes)


def test_the_borders_of_linear_machines(bench, tmp_path):
    file = tmp_path / "out.json"
    assert bench("linear_borders").main(["--quick", "--json", str(file)]) == 0
    results = json.loads(file.read_text())["results"]
    assert len(results) == 9
    assert all(min(one["seconds"]) > 0 for one in results)


def test_predictions_and_clouds_are_named_like_problems(bench):
    options = bench("busy").parse_arguments(["--only", "500x20,predict"])
    clouds, predictions = bench("busy").choose_work(options)
    assert (clouds.name, clouds.shape, clouds.predicts) == ("500x20", (500, 20), False)
    assert (predictions.name, predictions.shape, predictions.predicts) == ("predict", None, True)
    with pytest.raises(SystemExit):
        bench("busy").parse_arguments(["--only", "500x20,nothing"])


@pytest.mark.slow
def test_linear_machines_are_compared_at_equal_objectives(bench, monkeypatch, tmp_path):
    pytest.importorskip("liblinear.liblinear")
    monkeypatch.setenv("PYTHONPATH", str(Path(maxmargin.__file__).parent.parent))
    file = tmp_path / "out.json"
    arguments = ["--quick", "--libraries", "maxmargin,liblinear", "--json", str(file)]
    assert bench("linear").main([*arguments, "--only", "breast cancer squared"]) == 0
    (result,) = json.loads(file.read_text())["results"]
    ours, theirs = result["libraries"]["maxmargin"], result["libraries"]["liblinear"]
    assert theirs["is_equal"]
    assert theirs["form_seconds"] > 0.0
    assert ours["objective"] <= theirs["objective"] * (1 + 1e-4)
    assert theirs["objective"] <= ours["objective"] * (1 + 1e-4)


@pytest.mark.parametrize("command", ["perceptron", slow("stream")])
def test_quick_pass_of_online_training(bench, monkeypatch, tmp_path, command):
    monkeypatch.setenv("PYTHONPATH", str(Path(maxmargin.__file__).parent.parent))
    file = tmp_path / "out.json"
    arguments = ["--quick", "--libraries", "maxmargin_f64", "--json", str(file)]
    assert bench(command).main(arguments) == 0
    for result in json.loads(file.read_text())["results"]:
        (outcome,) = result["libraries"].values()
        assert outcome["fit_seconds"] > 0


def test_a_failing_library_is_reported_and_not_tried_again(bench, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(Path(maxmargin.__file__).parent.parent))
    np.savez(tmp_path / "heart_scale.npz", X=np.full((4, 2), np.nan), y=[0, 1, 0, 1])
    arguments = ["--data", str(tmp_path), "--only", "heart_scale", "--libraries", "maxmargin_f64"]
    assert bench("memory").main([*arguments, "--cache-mb", "16"]) == 1
    assert "maxmargin_f64: exit code 1" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_growth_of_memory_is_that_since_the_start_of_the_fit(bench):
    runners = bench("runners")
    np.ones(1 << 25)  # 256 MB, as loading takes for a moment
    runners.forget_peak_memory()
    before = runners.memory_mb("VmRSS")
    held = np.ones(1 << 23)
    assert held.nbytes / 2**20 - 1 < runners.memory_mb("VmHWM") - before < 80


@pytest.mark.parametrize(
    ("seconds", "worst", "size"),
    [
        ([8.0, 4.0, 2.0, 2.0], 1.0, 64),
        ([8.0, 4.0, 6.0, 5.0], 1.5, 16),
        ([8.0, 4.0, None, 2.0], 50.0, 16),  # at the time limit
        ([8.0, 10.0, 9.0, 12.0], 1.5, 64),
    ],
)
def test_cliffs_are_seen(bench, seconds, worst, size):
    sizes = {
        str(mb): {"fit_seconds": value, "timed_out": value is None, "error": None}
        for mb, value in zip([1, 4, 16, 64], seconds, strict=True)
    }
    result = {"sizes": sizes, "timeout": 200.0}
    assert bench("cache_size").worst_ratio(result) == (worst, size)
