"""Memory that a fit takes beyond its data: growth of the resident size, and the cache allowed.

One fresh process per library, cache size and repeat; the growth is the largest resident size
during the fit minus the size just before, when the data are loaded and in the library's own form.
"""

import sys
from dataclasses import asdict

import children
import cli
import common
import report

IN_FOLDER = ("a9a", "w8a", "mnist10k", "reuters_acq_bigram")
QUICK_NAMES = ("breast_cancer", "digits_csr")
SIZES_MB = [16, 200]
# One thread more or less changes little here.
LIBRARIES = ("maxmargin_f64", "maxmargin_f32", "libsvm", "sklearn", "intelex_f64", "intelex_f32")


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options, LIBRARIES)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in choose_problems(options):
        for size in options.cache_mb:
            results.append(measure(problem, size, libraries, options))
            print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    heading = "\nMB that the resident size grows by during the fit"
    print("\n".join([heading, *report.aligned(table(results))]))
    common.write_json("memory", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("memory.py", __doc__)
    cli.add_problems(parser)
    cli.add_cache_sizes(parser, SIZES_MB, SIZES_MB)
    return cli.parse(parser, arguments, choose_problems)


def choose_problems(options):
    return cli.choose_problems(options, IN_FOLDER, QUICK_NAMES)


def measure(problem, cache_mb, libraries, options):
    def request(library, _):
        return children.fit_request(problem, library, options, cache_mb=cache_mb)

    outcomes = children.in_turn(libraries, request, options.repeats)
    children.take_medians(outcomes, ["fit_memory_mb", "peak_memory_mb", "fit_seconds"])
    sizes = [one["data_mb"] for outcome in outcomes.values() for one in outcome["measurements"]]
    return {
        "problem": asdict(problem),
        "cache_mb": cache_mb,
        "data_mb": sizes[0] if sizes else None,
        "libraries": outcomes,
    }


def table(results):
    """A row for every problem and cache size; the reference is the float64 rows and the cache."""
    libraries = results[0]["libraries"]
    rows = [("problem", "cache", "data + cache", *map(report.short_name, libraries))]
    for one in results:
        reference = None if one["data_mb"] is None else one["data_mb"] + one["cache_mb"]
        cells = [
            "timeout" if outcome["timed_out"] else report.number(outcome["fit_memory_mb"], "{:.1f}")
            for outcome in one["libraries"].values()
        ]
        name, size = one["problem"]["name"], f"{one['cache_mb']:,}"
        rows.append((name, size, report.number(reference, "{:.1f}"), *cells))
    return rows


if __name__ == "__main__":
    sys.exit(main())
