"""What bench/publish.py makes of measurements, and its errors for what it cannot read."""

from __future__ import annotations

import importlib
import json
import re
from xml.etree import ElementTree

import pytest

from support.repository import BENCH, ROOT

LIBRARIES = ["maxmargin_f64", "maxmargin_f32", "libsvm", "libsvm_1t", "intelex_f64"]
MACHINE = {
    "date": "2026-01-02",
    "cpu": "Some CPU",
    "n_cpus": 4,
    "memory_gb": 8.0,
    "busy_cpus": 0.0,
    "python": "3.12.1",
    "versions": {"maxmargin": "0.0.1", "libsvm-official": "3.30", "scipy": None},
    "commit": "0123456789abcdef",
    "has_local_changes": False,
    "compiler": "GNU 14",
    "active_target": "avx2",
}
SETTINGS = {
    **{"tol": 1e-3, "C": None, "gamma": None, "threads": 4, "cache_mb": 1024, "repeats": 3},
    **{"timeout": 200.0, "only": "one,two"},
}


def outcome(seconds, predict_seconds=None, objective=-100.0):
    is_done = seconds is not None
    check = {"dual_objective": objective, "is_feasible": True, "kkt_violation": 9e-4}
    return {
        "measurements": [{"fit_seconds": seconds, "certificate": {}}] * (3 if is_done else 0),
        "timed_out": not is_done,
        "error": None,
        "check": {**check, "n_support": 77, "objective_per_machine": [1.0]} if is_done else None,
        "fit_seconds": seconds,
        "predict_seconds": predict_seconds,
        "peak_memory_mb": 100.0 if is_done else None,
    }


def result_of(name, outcomes):
    problem = {"name": name, "C": 10_000.0, "gamma": 1 / 123}
    libraries = dict(zip(LIBRARIES, outcomes, strict=True))
    sizes = {"n": 12_345, "d": 67, "n_classes": 3, "n_test": 890}
    result = {"problem": problem, **sizes, "timeout": 200.0, "libraries": libraries}
    importlib.import_module("report").compare_outcomes(result)
    return result


def run_of(results, **settings):
    return {
        "benchmark": "compare",
        "machine": MACHINE,
        "settings": {**SETTINGS, **settings},
        "results": results,
    }


@pytest.fixture
def publish(monkeypatch, tmp_path):
    """The command, on a repository with a README that has the two comments."""
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("publish")
    monkeypatch.setattr(importlib.import_module("common"), "REPOSITORY", tmp_path)
    (tmp_path / "docs").mkdir()
    readme = f"# Title\n\nbefore\n\n{module.BEGIN}\nold\n{module.END}\n\nafter\n"
    (tmp_path / "README.md").write_text(readme)
    return module


@pytest.fixture
def files(publish, tmp_path):
    """What two runs of compare.py and one of cache_size.py wrote."""
    one = result_of("one", map(outcome, [0.5, 0.25, 9.0, 4.0, 2.0]))
    two = result_of("two", map(outcome, [2.0, 4.0, None, None, 1000.0]))
    worse = [outcome(1.0), outcome(1.0), outcome(9.0), outcome(3.0), outcome(0.1, objective=-90.0)]
    three = result_of("three", worse)
    predicted = result_of("one", [outcome(1.0, s) for s in (0.1, 0.2, 5.0, 5.0, 0.3)])
    sizes = {str(mb): outcome(s) for mb, s in ((1, 3.0), (4, 2.0), (16, None))}
    cache = {"problem": one["problem"], "library": "maxmargin_f64", "sizes": sizes}
    cache |= {"timeout": 200.0, "worst_ratio": 100.0, "worst_size": 16}
    runs = {
        "first": run_of([one, two]),
        "again": run_of([predicted, three], predict=True),
        "tight": run_of([one], tol=1e-6),
        "cache": {**run_of([cache], cache_mb=[1, 4, 16]), "benchmark": "cache_size"},
    }
    for name, run in runs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    return [str(tmp_path / f"{name}.json") for name in runs]


def cells(text, start):
    """The cells of every row of a table that begins with ``start``."""
    lines = [line for line in text.splitlines() if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_readme(publish, files, tmp_path):
    assert publish.main(files) == 0
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith(f"# Title\n\nbefore\n\n{publish.BEGIN}\n")
    assert readme.endswith(f"{publish.END}\n\nafter\n")
    assert "old" not in readme
    words = " ".join(readme.split())
    for part in ("18.2 times as fast as the fastest peer on 3 problems, and 13.4 times LIBSVM",
                 "4 CPUs of Some CPU, avx2", "tol=0.001", "medians of 3 runs", "1,024 MB of cache",
                 "4 threads"):  # fmt: skip
        assert part in words


def test_tables(publish, files, tmp_path):
    publish.main(files)
    page = (tmp_path / "docs/benchmarks.md").read_text()
    training, prediction = cells(page, "one")[0], cells(page.split("## Prediction")[1], "one")[0]
    assert training == [
        *("one", "12,345 x 67, 3", "10,000, 1/123", "0.5", "**0.25**", "4", "2", "4.00x", "8.00x")
    ]
    assert prediction == ["one", "890 x 67", "77", "**0.1**", "0.2", "5", "0.3", "3.00x", "50.00x"]
    assert cells(page, "two")[0][3:] == [*("**2**", "4", "> 200", "1,000", "500.00x", "> 100.00x")]
    assert cells(page, "three")[0][3:] == ["**1**", "**1**", "3", "0.1 !", "3.00x", "3.00x"]
    assert cells(page, "geometric mean")[0][-2:] == ["18.17x", "13.39x"]


def test_page(publish, files, tmp_path):
    publish.main(files)
    page = (tmp_path / "docs/benchmarks.md").read_text()
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert titles == [
        *("Training, tol 0.001", "Prediction, tol 0.001", "Training, tol 1e-06", "Cache size")
    ]
    words = " ".join(page.split())
    for part in ("2026-01-02", "0123456789ab", "GNU 14", "libsvm-official 3.30",
                 "objective worse by more than 0.0001",
                 "Flagged: three intelex_f64 (objective)."):  # fmt: skip
        assert part in words
    assert ["one", "3", "2", "> 200", "100.00", "slower at 16 MB"] in cells(page, "one")
    for link in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / "docs" / link).exists() or link == "../bench/README.md"


def test_kernel_work_and_memory_have_a_section(publish, files, tmp_path):
    def fit_of(seconds, kernel_rows, kernel_values):
        counts = {"n_iter": 2_000, "kernel_rows": kernel_rows, "kernel_values": kernel_values}
        return {"seconds": seconds, "n_support": 7, **counts}

    fits = {"C-SVC": fit_of(0.5, 1_000, 5_000_000), "SVR": fit_of(1.5, 2_000, 20_000_000)}
    fits["nu-SVC"] = fit_of(0.25, 0, 2_500_000)
    libraries = {
        name: {**outcome(seconds), "fit_memory_mb": memory}
        for name, seconds, memory in (("maxmargin_f64", 1.0, 12.34), ("libsvm", None, None))
    }
    memory = {"problem": {"name": "held"}, "cache_mb": 16, "data_mb": 30.0, "libraries": libraries}
    for name, result in (
        ("kernel_work", {"problem": "work", "fits": fits}),
        ("memory", memory),
    ):
        run = {**run_of([result]), "benchmark": name}
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
        files.append(str(tmp_path / f"{name}.json"))
    assert publish.main(files) == 0
    page = (tmp_path / "docs/benchmarks.md").read_text()
    assert "## Kernel work of the formulations\n" in page
    assert "## Memory of a fit\n" in page
    assert [row[1:] for row in cells(page, "work")] == [
        ["C-SVC", "0.5", "2,000", "1,000", "5,000,000", "1.00", "1.00", "1.00"],
        ["SVR", "1.5", "2,000", "2,000", "20,000,000", "4.00", "1.50", "0.75"],
        ["nu-SVC", "0.25", "2,000", "0", "2,500,000", "0.50", "-", "1.00"],
    ]
    assert cells(page, "held") == [["held", "16", "46.0", "12.3", "timeout"]]


def test_charts_show_every_measurement(publish, files, tmp_path):
    publish.main(files)
    chart = (tmp_path / "docs/benchmarks.svg").read_text()
    texts = [element.text for element in ElementTree.fromstring(chart).iter()]
    assert {"one", "two", "three", "LIBSVM", "maxmargin float32", "intelex float64"} <= set(texts)
    # Four libraries on three problems, without the result that is worse, and four in the legend.
    assert len(re.findall(r"<path [^>]*z' fill='#|<path [^>]*stroke-width='3'", chart)) == 11 + 4
    assert chart.count("h12m-4") == 1  # the arrow of the time limit
    cache = (tmp_path / "docs/cache_size.svg").read_text()
    assert ElementTree.fromstring(cache).tag.endswith("svg")
    assert cache.count("h12m-4") == 1
    assert len(re.search(r"points='([^']*)'", cache).group(1).split()) == 3


def test_log_axis(publish):
    axis = importlib.import_module("chart").LogAxis.around([0.03, 7.0], 100, 500)
    assert axis.ticks == pytest.approx([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
    assert [axis(0.02), axis(10.0)] == [100, 500]
    assert axis(20**0.5 / 10) == pytest.approx(300)


def test_what_is_published_gives_the_same_again(publish, files, tmp_path, capsys):
    publish.main(files)
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert publish.main(files) == publish.main([]) == publish.main(["--check"]) == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == written
    kept = (tmp_path / publish.KEPT).read_text()
    assert not any(f'"{name}"' in kept for name in publish.NOT_KEPT)

    page = tmp_path / "docs/benchmarks.md"
    page.write_text(page.read_text().replace("0.25", "0.24"))
    capsys.readouterr()
    assert publish.main(["--check"]) == 1
    assert capsys.readouterr().out == "not what the figures give: docs/benchmarks.md\n"
    assert "0.24" in page.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "bad.json: not JSON"),
        ("[]", "bad.json: no 'machine'"),
        ("{}", "bad.json: no 'machine'"),
        ('{"machine": {"cpu": "x"}, "settings": {"tol": 1}, "results": []}', "no 'results'"),
        ('{"machine": {"cpu": "x"}, "settings": {"tol": 1}, "results": [{}]}', "a run has no"),
        ('{"runs": []}', "none of the files is of compare.py"),
        ('{"runs": [3]}', "bad.json: no 'machine'"),
        (None, "bad.json: No such file"),
    ],
)
def test_files_that_cannot_be_read(publish, tmp_path, capsys, text, message):
    bad = tmp_path / "bad.json"
    if text is not None:
        bad.write_text(text)
    assert publish.main([str(bad)]) == 2
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "docs").iterdir())


def test_readme_without_the_comments(publish, files, tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Title\n")
    assert publish.main(files) == 2
    assert "README.md needs the lines" in capsys.readouterr().err


def test_other_processes_are_told(publish, tmp_path):
    run = run_of([result_of("one", map(outcome, [0.5, 0.25, 9.0, 4.0, 2.0]))])
    run["machine"] = {**MACHINE, "busy_cpus": 1.5}
    (tmp_path / "busy.json").write_text(json.dumps(run))
    publish.main([str(tmp_path / "busy.json")])
    readme = " ".join((tmp_path / "README.md").read_text().split())
    assert "**BUSY: other processes took 1.5 CPUs" in readme


def test_the_readme_of_the_repository_has_the_comments(publish):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(publish.BEGIN) == readme.count(publish.END) == 1
    assert readme.index(publish.BEGIN) < readme.index(publish.END)
