"""Time maxmargin against LIBSVM, scikit-learn and scikit-learn-intelex, and check every result.

One fresh process per measurement, libraries in turn, medians over the repeats. The dual objective
and the KKT violation of every library's model are recomputed here in float64, so that seconds are
compared only between answers of equal quality. See README.md for the rules.
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

import common
import problems
import report
import runners
import verify
from machines import Machines

# Loading and preparing may take this much longer than the timed part before a child is given up.
SETUP_SECONDS = 600

MODULE_OF = {
    "libsvm": "libsvm",
    "sklearn": "sklearn",
    "intelex": "sklearnex",
    "maxmargin": "maxmargin",
}


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries, absent = choose_libraries(options)
    for library in absent:
        print(f"not installed, left out: {library}")
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in choose_problems(options):
        result = compare(problem, libraries, options)
        results.append(result)
        print(report.problem_block(result), flush=True)
    summary = report.summarise(results)
    print(report.summary_tables(results, summary))
    if options.json:
        content = {
            "machine": machine,
            "settings": {key: value for key, value in vars(options).items() if key != "json"},
            "results": results,
            "summary": summary,
        }
        Path(options.json).write_text(json.dumps(content, indent=1) + "\n")
        print(f"\nwritten: {options.json}")
    return 1 if any(one["error"] for r in results for one in r["libraries"].values()) else 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder of npz files; without it, scikit-learn's bundled sets",
    )
    parser.add_argument("--only", metavar="NAMES", help="problems to run, separated by commas")
    parser.add_argument(
        "--libraries",
        metavar="NAMES",
        help=f"libraries to run, out of: {', '.join(runners.LIBRARIES)}",
    )
    parser.add_argument("--repeats", type=int, default=3, help="measurements each (default 3)")
    parser.add_argument(
        "--tol", type=float, default=1e-3, help="stopping tolerance of every library (default 1e-3)"
    )
    parser.add_argument("--C", type=float, help="replaces C of every problem run")
    parser.add_argument("--gamma", type=float, help="replaces gamma of every problem run")
    parser.add_argument(
        "--timeout",
        type=float,
        default=200.0,
        help="seconds for one fit or one prediction (default 200)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=common.available_threads(),
        help="threads for those that can use them (default: all CPUs)",
    )
    parser.add_argument(
        "--cache-mb",
        type=int,
        default=1024,
        help="kernel cache of every library in MB (default 1024)",
    )
    parser.add_argument(
        "--predict",
        action="store_true",
        help="also time prediction on the test part of " + ", ".join(problems.PREDICT_NAMES),
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a few tiny sets, one repeat: shows that everything runs",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything to FILE")
    options = parser.parse_args(arguments)
    for name in ("repeats", "tol", "timeout", "threads", "cache_mb"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be > 0, got {getattr(options, name)}")
    if options.quick:
        options.repeats = 1
    try:
        choose_problems(options)
    except ValueError as error:
        parser.error(str(error))
    for name in (options.libraries or "").split(","):
        if name and name not in runners.LIBRARIES:
            parser.error(f"unknown library {name!r}, known are: {', '.join(runners.LIBRARIES)}")
    return options


def choose_problems(options):
    if options.only:
        chosen = [problems.find_problem(name) for name in options.only.split(",")]
    elif options.quick:
        chosen = [problems.find_problem(name) for name in problems.QUICK_NAMES]
    elif options.data:
        chosen = [problem for problem in problems.FOLDER_PROBLEMS if not problem.on_request]
    else:
        chosen = list(problems.BUNDLED_PROBLEMS)
    for problem in chosen:
        if not problem.source.startswith("sklearn:"):
            if options.data is None:
                raise ValueError(f"problem {problem.name!r} needs --data FOLDER")
            if not (Path(options.data) / f"{problem.source}.npz").is_file():
                raise ValueError(f"no {problem.source}.npz in {options.data}")
    return [problems.with_settings(problem, options.C, options.gamma) for problem in chosen]


def choose_libraries(options):
    """Names to run, and names asked for (or standard) whose package is not installed."""
    if options.libraries:
        wanted = options.libraries.split(",")
    else:
        wanted = [name for name, entry in runners.LIBRARIES.items() if entry[3]]
    installed = {name for name in wanted if common.is_installed(MODULE_OF[name.split("_")[0]])}
    return (
        [name for name in wanted if name in installed],
        [name for name in wanted if name not in installed],
    )


def compare(problem, libraries, options):
    """Measure and verify every library on one problem; the result is ready for JSON."""
    outcomes = {
        name: {"measurements": [], "timed_out": False, "error": None, "check": None}
        for name in libraries
    }
    with tempfile.TemporaryDirectory(prefix="maxmargin-bench-") as folder:
        for repeat in range(options.repeats):
            for name in libraries:
                outcome = outcomes[name]
                if outcome["timed_out"] or outcome["error"]:
                    continue
                model_file = Path(folder) / f"{name}-{repeat}.npz"
                measure(problem, name, outcome, model_file, options)
        data = problems.load(problem, options.data)
        for name in libraries:
            model_file = Path(folder) / f"{name}-0.npz"
            if model_file.exists() and not outcomes[name]["error"]:
                check(problem, data, outcomes[name], Machines.load(model_file), options)
    for outcome in outcomes.values():
        take_medians(outcome)
    result = {
        "problem": asdict(problem),
        "n": data.X.shape[0],
        "d": data.X.shape[1],
        "n_classes": len(np.unique(data.y)),
        "n_test": 0 if data.X_test is None else data.X_test.shape[0],
        "timeout": options.timeout,
        "libraries": outcomes,
    }
    report.compare_outcomes(result)
    return result


def measure(problem, library, outcome, model_file, options):
    """Run one child process and append what it answers to ``outcome``."""
    n_threads = runners.LIBRARIES[library][2] or options.threads
    answer_file = model_file.with_suffix(".json")
    request = {
        "library": library,
        "problem": asdict(problem),
        "data_folder": options.data,
        "tol": options.tol,
        "threads": n_threads,
        "cache_mb": options.cache_mb,
        "timeout": options.timeout,
        "predict": options.predict and problem.name in problems.PREDICT_NAMES,
        "model_file": str(model_file),
        "answer_file": str(answer_file),
    }
    report.progress(f"{problem.name} {library}")
    try:
        done = subprocess.run(
            [sys.executable, str(Path(runners.__file__))],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env=common.child_environment(n_threads, is_peer=not runners.is_ours(library)),
            timeout=2 * options.timeout + SETUP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        outcome["error"] = f"gave up after {2 * options.timeout + SETUP_SECONDS:g} s"
        return
    finally:
        report.progress("")
    if answer_file.exists():
        outcome["measurements"].append(json.loads(answer_file.read_text()))
    if done.returncode == -signal.SIGALRM:
        if answer_file.exists():
            outcome["predict_timed_out"] = True
        outcome["timed_out"] = not answer_file.exists()
    elif done.returncode != 0:
        outcome["error"] = f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}"


def check(problem, data, outcome, machines, options):
    """Recompute quality (and accuracy, if there are test rows) of one library's first result."""
    begin = time.perf_counter()
    try:
        found = verify.check(data, machines, problem.C, problem.gamma, options.threads)
    except ValueError as error:
        outcome["error"] = f"result refused: {error}"
        return
    if data.X_test is not None:
        labels = verify.predict(data.X_test, data.X, machines, problem.gamma, options.threads)
        found["accuracy"] = float(np.mean(labels == data.y_test))
        found["n_correct"] = int(np.sum(labels == data.y_test))
    certificate = outcome["measurements"][0].get("certificate")
    if certificate:
        own, exact = certificate["dual_objective"], found["dual_objective"]
        found["certificate_difference"] = abs(own - exact) / max(abs(exact), 1e-300)
    found["seconds_to_check"] = time.perf_counter() - begin
    outcome["check"] = found


def take_medians(outcome):
    for key in ("fit_seconds", "peak_memory_mb", "predict_seconds"):
        values = [one[key] for one in outcome["measurements"] if key in one]
        outcome[key] = statistics.median(values) if values else None


if __name__ == "__main__":
    sys.exit(main())
