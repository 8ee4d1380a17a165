"""Microseconds of a small fit: a thousand fits one after another, as a search or an ensemble does.

Two overlapping clouds in ten dimensions (ten data sets in turn, the same for every library). One
fresh process per library, size and repeat, in turn; the figure is the median over the repeats of
the mean over the fits.
"""

import statistics
import sys
import time

import children
import cli
import common
import report
import runners
import samples

SIZES = (50, 200, 1000, 2000)
QUICK_SIZES = (50, 200)
N_FEATURES = 10


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for n in QUICK_SIZES if options.quick else SIZES:
        results.append(measure(n, libraries, options))
        print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    print("\n".join(["\nMicroseconds per fit", *report.aligned(table(results))]))
    common.write_json("small_fits", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("small_fits.py", __doc__)
    parser.add_argument(
        "--fits",
        type=int,
        default=1000,
        help="fits in a loop, fewer if --timeout ends it (default 1000; 10 with --quick)",
    )
    cli.add_cache(parser, default=200)
    options = cli.parse(parser, arguments)
    if options.quick:
        options.fits = min(options.fits, 10)
    return options


def measure(n, libraries, options):
    def request(library, _):
        return {
            "task": "small_fits",
            "library": library,
            "n": n,
            "d": N_FEATURES,
            "fits": options.fits,
            "problem": {"name": f"{n} rows", "C": 1.0, "gamma": 1 / N_FEATURES},
            "tol": options.tol,
            "cache_mb": options.cache_mb,
            "threads": children.threads_of(library, options),
            "timeout": options.timeout,
        }

    outcomes = children.in_turn(libraries, request, options.repeats)
    children.take_medians(outcomes, ["mean_us", "median_us"])
    return {"n": n, "d": N_FEATURES, "libraries": outcomes}


def table(results):
    """A row for every number of rows, a column for every library."""
    rows = [("rows", *map(report.short_name, results[0]["libraries"]))]
    for one in results:
        cells = [
            report.number(outcome["mean_us"], "{:,.0f}") for outcome in one["libraries"].values()
        ]
        rows.append((f"{one['n']:,}", *cells))
    return rows


def run(request, save):
    """Many fits of ``n`` rows one after another, over ten data sets in turn, until the time is up.

    Every data set has its own runner, prepared before: the clock runs around the fits alone.
    """
    clouds = [samples.two_clouds(request["n"], request["d"], seed=seed) for seed in range(10)]
    fitted = [runners.new_runner(request, X, y) for X, y in clouds]
    seconds = []
    end = time.perf_counter() + request["timeout"]
    while len(seconds) < request["fits"] and time.perf_counter() < end:
        one = fitted[len(seconds) % len(fitted)]
        begin = time.perf_counter()
        one.fit()
        seconds.append(time.perf_counter() - begin)
    save(
        {
            "fits": len(seconds),
            "mean_us": 1e6 * statistics.mean(seconds),
            "median_us": 1e6 * statistics.median(seconds),
            "n_support": fitted[0].machines().n_support(),
            **fitted[0].info(),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
