"""Time regression, one-class and nu machines against LIBSVM, scikit-learn and scikit-learn-intelex.

One fresh process per fit, libraries in turn, medians over the repeats; the dual objective of every
library's model is recomputed here in float64, and a worse one is marked.
"""

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import children
import cli
import common
import report
from formulation_problems import PROBLEMS, QUICK, Fit, dual_objective, load

LIBRARIES = ("maxmargin_f64", "maxmargin_f32", "libsvm", "sklearn", "intelex_f64", "intelex_f32")

# As compare.py has it: a worse objective sets no mark.
WORSE = 1e-4


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options, LIBRARIES)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in choose_problems(options):
        results.append(measure(problem, libraries, options))
        print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    print("\n".join(["\nSeconds to train", *report.aligned(table(results))]))
    common.write_json("formulations", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("formulations.py", __doc__)
    parser.add_argument("--data", metavar="FOLDER", help="folder of npz files; --quick needs none")
    parser.add_argument("--only", metavar="NAMES", help="problems to run, separated by commas")
    cli.add_cache(parser, default=1024)
    options = cli.parse(parser, arguments, choose_problems)
    if not options.quick and options.data is None:
        parser.error("--data FOLDER is needed unless --quick is given")
    return options


def choose_problems(options):
    return cli.named(options, QUICK if options.quick else PROBLEMS)


def measure(problem, libraries, options):
    """Seconds and objectives of every library that has such a machine on one problem."""
    has_none = problem.estimator == "OneClassSVM"
    libraries = [name for name in libraries if not (has_none and name.startswith("intelex"))]
    with tempfile.TemporaryDirectory(prefix="maxmargin-bench-") as folder:

        def model_file(library, repeat):
            return Path(folder) / f"{library}-{repeat}.npz"

        def request(library, repeat):
            return children.fit_request(
                problem,
                library,
                options,
                task="formulation_fits",
                cache_mb=options.cache_mb,
                model_file=str(model_file(library, repeat)),
            )

        outcomes = children.in_turn(libraries, request, options.repeats)
        data = load(problem, options.data)
        for name, outcome in outcomes.items():
            outcome["objective"] = None
            if outcome["measurements"] and not outcome["error"]:
                fit = Fit.load(model_file(name, 0))
                outcome["objective"] = dual_objective(problem, data, fit)
    children.take_medians(outcomes, ["fit_seconds"])
    is_comparable = problem.estimator != "NuSVC"
    found = [one["objective"] for one in outcomes.values() if one["objective"] is not None]
    for outcome in outcomes.values():
        outcome["difference"] = None
        if outcome["objective"] is not None and is_comparable:
            scale = max(abs(min(found)), 1e-300)
            outcome["difference"] = (outcome["objective"] - min(found)) / scale
    return {
        "problem": asdict(problem),
        "n": data.X.shape[0],
        "d": data.X.shape[1],
        "timeout": options.timeout,
        "libraries": outcomes,
    }


def is_mark(outcome):
    """Whether the outcome is a solution as good as the best, by a library's own code."""
    fell_back = any(one.get("fell_back_to_sklearn") for one in outcome["measurements"])
    is_worse = (outcome["difference"] or 0.0) > WORSE
    return outcome["fit_seconds"] is not None and not fell_back and not is_worse


def cell(outcome, timeout):
    if outcome is None:
        return "-"
    if outcome["timed_out"]:
        return f"> {timeout:g}"
    if any(one.get("fell_back_to_sklearn") for one in outcome["measurements"]):
        return "-"
    mark = "" if is_mark(outcome) or outcome["fit_seconds"] is None else " !"
    return report.number(outcome["fit_seconds"]) + mark


def table(results):
    """A row for every problem: seconds, and those of the fastest peer over those of the first."""
    libraries = [name for name in LIBRARIES if any(name in one["libraries"] for one in results)]
    rows = [("problem", "n x d", *map(report.short_name, libraries), "fastest peer / ours")]
    for one in results:
        outcomes = one["libraries"]
        peers = [
            outcomes[name]["fit_seconds"]
            for name in libraries
            if name in outcomes and not name.startswith("maxmargin") and is_mark(outcomes[name])
        ]
        ours = outcomes[libraries[0]]["fit_seconds"]
        ratio = min(peers) / ours if peers and ours else None
        cells = [cell(outcomes.get(name), one["timeout"]) for name in libraries]
        size = f"{one['n']:,} x {one['d']:,}"
        rows.append((one["problem"]["name"], size, *cells, report.number(ratio, "{:.2f}")))
    return rows


if __name__ == "__main__":
    sys.exit(main())
