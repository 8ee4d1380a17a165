"""Time maxmargin against LIBSVM, scikit-learn and scikit-learn-intelex, and check every result.

One fresh process per measurement, libraries in turn, medians over the repeats. The dual objective
and the KKT violation of every library's model are recomputed here in float64, so that seconds are
compared only between answers of equal quality. See README.md for the rules.
"""

import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

import children
import cli
import common
import problems
import report
import verify
from machines import Machines

MEDIANS = ("fit_seconds", "peak_memory_mb", "predict_seconds")


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in choose_problems(options):
        result = compare(problem, libraries, options)
        results.append(result)
        print(report.problem_block(result), flush=True)
    summary = report.summarise(results)
    print(report.summary_tables(results, summary))
    common.write_json("compare", options, machine, {"results": results, "summary": summary})
    return cli.exit_code(result["libraries"] for result in results)


def parse_arguments(arguments):
    parser = cli.new_parser("compare.py", __doc__)
    cli.add_problems(parser)
    parser.add_argument("--C", type=float, help="replaces C of every problem run")
    parser.add_argument("--gamma", type=float, help="replaces gamma of every problem run")
    cli.add_cache(parser, default=1024)
    parser.add_argument(
        "--predict",
        action="store_true",
        help="also time prediction on the test part of " + ", ".join(problems.PREDICT_NAMES),
    )
    return cli.parse(parser, arguments, choose_problems)


def choose_problems(options):
    chosen = cli.choose_problems(options)
    return [problems.with_settings(problem, options.C, options.gamma) for problem in chosen]


def compare(problem, libraries, options):
    """Measure and verify every library on one problem; the result is ready for JSON."""
    with tempfile.TemporaryDirectory(prefix="maxmargin-bench-") as folder:

        def model_file(library, repeat):
            return Path(folder) / f"{library}-{repeat}.npz"

        def request(library, repeat):
            return children.fit_request(
                problem,
                library,
                options,
                cache_mb=options.cache_mb,
                predict=options.predict and problem.name in problems.PREDICT_NAMES,
                model_file=str(model_file(library, repeat)),
            )

        outcomes = children.in_turn(libraries, request, options.repeats)
        data = problems.load(problem, options.data)
        for name, outcome in outcomes.items():
            outcome["check"] = None
            if model_file(name, 0).exists() and not outcome["error"]:
                check(problem, data, outcome, Machines.load(model_file(name, 0)), options)
    children.take_medians(outcomes, MEDIANS)
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


if __name__ == "__main__":
    sys.exit(main())
