"""Time LinearSVC against LIBLINEAR and scikit-learn at equal objectives.

One fresh process per fit, libraries in turn, medians over the repeats. maxmargin runs at --tol, its
relative duality gap. A peer runs with smaller and smaller tolerances, until the primal objective of
its model, recomputed here in float64, is within 1e-4 of maxmargin's; the first that is counts.
"""

import sys
from dataclasses import asdict

import children
import cli
import common
import report
from linear_fits import PROBLEMS, QUICK

LIBRARIES = ("maxmargin", "liblinear", "sklearn")
PEER_TOLS = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
EQUAL = 1e-4


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
    common.write_json("linear", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("linear.py", __doc__, known=LIBRARIES)
    parser.set_defaults(tol=1e-4)
    parser.add_argument("--data", metavar="FOLDER", help="folder of npz files; --quick needs none")
    parser.add_argument("--only", metavar="NAMES", help="problems to run, separated by commas")
    options = cli.parse(parser, arguments, choose_problems, known=LIBRARIES)
    if not options.quick and options.data is None:
        parser.error("--data FOLDER is needed unless --quick is given")
    return options


def choose_problems(options):
    return cli.named(options, QUICK if options.quick else PROBLEMS)


def measure(problem, libraries, options):
    """Seconds of every library at an objective equal to ours, or that it never got there."""

    def request(library, tol):
        return {
            "task": "linear_fits",
            "library": library,
            "problem": asdict(problem),
            "data_folder": options.data,
            "tol": tol,
            "threads": options.threads if library == "maxmargin" else 1,
            "timeout": options.timeout,
        }

    tols = {"maxmargin": options.tol}
    ours = run_once("maxmargin", request("maxmargin", options.tol))
    target = ours["measurements"][0]["objective"] if ours["measurements"] else None
    outcomes = {"maxmargin": ours}
    for library in libraries:
        if library == "maxmargin" or target is None:
            continue
        for tol in PEER_TOLS:
            outcome = run_once(library, request(library, tol))
            outcome["is_equal"] = any(
                one["objective"] <= target * (1.0 + EQUAL) for one in outcome["measurements"]
            )
            outcomes[library], tols[library] = outcome, tol
            if outcome["is_equal"] or outcome["timed_out"] or outcome["error"]:
                break
    counted = [name for name, one in outcomes.items() if one.get("is_equal", True)]
    again = children.in_turn(
        counted, lambda library, _: request(library, tols[library]), options.repeats
    )
    for name, outcome in again.items():
        outcomes[name] = {**outcome, "is_equal": True}
    children.take_medians(outcomes, ["fit_seconds", "form_seconds", "objective"])
    for name, outcome in outcomes.items():
        outcome["tol"] = tols[name]
    size = next((one for o in outcomes.values() for one in o["measurements"]), {"n": 0, "d": 0})
    return {
        "problem": asdict(problem),
        "n": size["n"],
        "d": size["d"],
        "timeout": options.timeout,
        "libraries": outcomes,
    }


def run_once(library, request):
    return children.in_turn([library], lambda *_: request, 1)[library]


def cell(outcome, timeout):
    if outcome is None or outcome["error"]:
        return "-"
    if outcome["timed_out"]:
        return f"> {timeout:g}"
    return report.number(outcome["fit_seconds"]) + ("" if outcome["is_equal"] else " !")


def table(results):
    """A row for every problem: seconds, and those of each peer over ours; ! where it is worse."""
    ratios = ("liblinear / ours", "with its form / ours", "sklearn / ours")
    rows = [("problem", "n x d", "maxmargin", "liblinear", "its form", "sklearn", *ratios)]
    for one in results:
        outcomes = one["libraries"]
        ours = outcomes["maxmargin"]["fit_seconds"]
        form = outcomes.get("liblinear", {}).get("form_seconds")

        def ratio(name, more=0.0, ours=ours, outcomes=outcomes):
            peer = outcomes.get(name)
            is_mark = peer and peer["fit_seconds"] and peer["is_equal"] and ours
            return report.number((peer["fit_seconds"] + more) / ours if is_mark else None, "{:.2f}")

        cells = {name: cell(outcomes.get(name), one["timeout"]) for name in LIBRARIES}
        rows.append(
            (
                *(one["problem"]["name"], f"{one['n']:,} x {one['d']:,}"),
                *(cells["maxmargin"], cells["liblinear"], report.number(form), cells["sklearn"]),
                *(ratio("liblinear"), ratio("liblinear", form or 0.0), ratio("sklearn")),
            )
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
