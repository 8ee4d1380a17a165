"""Seconds of a fit against the size of the kernel cache, and whether more cache ever costs time.

One fresh process per fit, sizes in turn, medians over the repeats. The verdict of a problem is the
worst ratio of a time to the least time at any smaller size: 1 where no larger cache is slower.
"""

import sys
from dataclasses import asdict

import chart
import children
import cli
import common
import report

IN_FOLDER = ("a9a_hard", "w8a", "mnist10k", "reuters_acq_bigram", "covtype_10k_hard")
QUICK_NAMES = ("breast_cancer", "digits_csr")
SIZES_MB = [1, 4, 16, 64, 256, 1024, 4096]
QUICK_SIZES_MB = [1, 16, 256]
LIBRARY = "maxmargin_f64"

# Repeats of the same fit differ by about this much on an idle machine.
NOISE = 0.15


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options, standard=(LIBRARY,))
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for library in libraries:
        for problem in choose_problems(options):
            results.append(measure(problem, library, options))
            print(verdict_line(results[-1]), flush=True)
    print("\n".join(["\nSeconds by MB of cache", *report.aligned(table(results))]))
    common.write_json("cache_size", options, machine, {"results": results})
    if options.svg:
        common.write_text(options.svg, draw(results))
    return cli.exit_code(one["sizes"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("cache_size.py", __doc__)
    cli.add_problems(parser)
    cli.add_cache_sizes(parser, SIZES_MB, QUICK_SIZES_MB)
    parser.add_argument("--svg", metavar="FILE", help="draw seconds against size into FILE")
    return cli.parse(parser, arguments, choose_problems)


def choose_problems(options):
    return cli.choose_problems(options, IN_FOLDER, QUICK_NAMES)


def measure(problem, library, options):
    def request(size, _):
        return children.fit_request(problem, library, options, cache_mb=int(size))

    outcomes = children.in_turn(map(str, options.cache_mb), request, options.repeats)
    children.take_medians(outcomes, ["fit_seconds"])
    result = {"problem": asdict(problem), "library": library, "sizes": outcomes}
    result["timeout"] = options.timeout
    result["worst_ratio"], result["worst_size"] = worst_ratio(result)
    return result


def points(result):
    """(MB, seconds, whether they are the time limit) of the sizes measured, in rising order."""
    found = []
    for size, one in result["sizes"].items():
        if one["timed_out"] or one["fit_seconds"]:
            seconds = result["timeout"] if one["timed_out"] else one["fit_seconds"]
            found.append((int(size), seconds, one["timed_out"]))
    return sorted(found)


def worst_ratio(result):
    """The greatest of seconds over the least at any smaller size, and its size in MB."""
    worst, where, least = None, None, None
    for size, seconds, _ in points(result):
        if least is not None and (worst is None or seconds / least > worst):
            worst, where = seconds / least, size
        least = seconds if least is None else min(least, seconds)
    return worst, where


def title(result):
    ending = "" if result["library"] == LIBRARY else f", {result['library']}"
    return result["problem"]["name"] + ending


def verdict(result):
    if result["worst_ratio"] is None:
        return "too few sizes measured"
    if result["worst_ratio"] <= 1 + NOISE:
        return "no slower with more cache"
    return f"slower at {result['worst_size']:,} MB"


def verdict_line(result):
    worst = report.number(result["worst_ratio"], "{:.2f}")
    lines = [f"{title(result)}: worst ratio to a smaller cache {worst}, {verdict(result)}"]
    return "\n".join(lines + report.errors(result["sizes"]))


def table(results):
    """A row for every problem: seconds by size, the worst ratio and the verdict."""
    sizes = list(results[0]["sizes"])
    rows = [("problem", *sizes, "worst ratio", "verdict")]
    for one in results:
        cells = [
            report.seconds_of(outcome, "fit", one["timeout"]) for outcome in one["sizes"].values()
        ]
        worst = report.number(one["worst_ratio"], "{:.2f}")
        rows.append((title(one), *cells, worst, verdict(one)))
    return rows


def draw(results):
    lines = [(title(one), points(one)) for one in results]
    return chart.line_plot(lines, "MB of cache", "Seconds to train against the size of the cache")


if __name__ == "__main__":
    sys.exit(main())
