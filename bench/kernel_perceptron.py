"""Time the kernel perceptron against a straightforward numpy one that makes the same mistakes.

Every class against the rest, RBF kernel, rows in the order given. numpy takes one example at a
time: a product of the matrix of support vectors with the example, the kernel's own function, and a
product with the coefficients of all classes. One fresh process per fit, in turn, medians over the
repeats.
"""

import sys
from dataclasses import asdict, replace

import children
import cli
import common
import report
import runners

IN_FOLDER = ("mnist",)
QUICK_NAMES = ("digits", "wine")
OURS = ("maxmargin_f64", "maxmargin_f64_1t")
QUICK_ROWS = 300


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = [name for name in cli.choose_libraries(options, OURS) if runners.is_ours(name)]
    machine = common.machine_info()
    print("\n".join(report.machine_lines(machine)))
    results = []
    for problem in choose_problems(options):
        results.append(measure(replace(problem, n_rows=options.rows), libraries, options))
        print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    heading = f"\nSeconds for {options.passes} passes, {options.threads} threads"
    print("\n".join([heading, *report.aligned(table(results))]))
    common.write_json("kernel_perceptron", options, machine, {"results": results})
    is_right = all(one["makes_the_same_mistakes"] for one in results)
    return cli.exit_code(one["libraries"] for one in results) or int(not is_right)


def parse_arguments(arguments):
    parser = cli.new_parser("kernel_perceptron.py", __doc__)
    cli.add_problems(parser)
    cli.add_cache(parser, default=200)
    parser.add_argument(
        "--rows",
        type=int,
        default=20_000,
        help=f"rows, from the first on (default 20000, with --quick at most {QUICK_ROWS})",
    )
    parser.add_argument("--passes", type=int, default=2, help="passes over them (default 2)")
    options = cli.parse(parser, arguments, choose_problems)
    if options.quick:
        options.rows = min(options.rows, QUICK_ROWS)
    return options


def choose_problems(options):
    return cli.choose_problems(options, IN_FOLDER, QUICK_NAMES)


def measure(problem, libraries, options):
    def request(library, _):
        is_single = library.endswith("_1t")
        return {
            "task": "kernel_perceptron_fits",
            "library": library,
            "problem": asdict(problem),
            "data_folder": options.data,
            "passes": options.passes,
            "cache_mb": options.cache_mb,
            "threads": 1 if is_single else options.threads,
            "timeout": options.timeout,
        }

    outcomes = children.in_turn([*libraries, "numpy"], request, options.repeats)
    children.take_medians(outcomes, ["fit_seconds"])
    measurements = [one for outcome in outcomes.values() for one in outcome["measurements"]]
    return {
        "problem": asdict(problem),
        "timeout": options.timeout,
        "libraries": outcomes,
        # By class and pass, and by class and example.
        "makes_the_same_mistakes": all(one["measurements"] for one in outcomes.values())
        and all(
            one[key] == measurements[0][key]
            for one in measurements
            for key in ("mistakes_per_pass", "alpha_sha256")
        ),
    }


def table(results):
    """A row for every problem: seconds, and those of numpy over those of the first of ours."""
    libraries = list(results[0]["libraries"])
    rows = [("problem", "n x d", "mistakes", *libraries, "numpy / ours", "same mistakes")]
    for one in results:
        outcomes = one["libraries"]
        measured = [m for outcome in outcomes.values() for m in outcome["measurements"]]
        size, mistakes = "-", None
        if measured:
            size = f"{measured[0]['n']:,} x {measured[0]['d']:,}"
            mistakes = sum(map(sum, measured[0]["mistakes_per_pass"]))
        cells = [report.seconds_of(outcome, "fit", one["timeout"]) for outcome in outcomes.values()]
        ours, numpy = (outcomes[name]["fit_seconds"] for name in (libraries[0], "numpy"))
        ratio = numpy / ours if ours and numpy else None
        rows.append(
            (
                one["problem"]["name"],
                size,
                report.number(mistakes, "{:,}"),
                *cells,
                report.number(ratio, "{:.1f}x"),
                "yes" if one["makes_the_same_mistakes"] else "NO",
            )
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
