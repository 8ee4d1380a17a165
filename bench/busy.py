"""Seconds of fits and predictions on a busy machine, next to busy processes or to the same work.

One fresh process per measurement, libraries in turn; it repeats the fit for some seconds and gives
the median. The figure is a multiple of the time alone. `busy n`: n processes that never sleep.
`a process` and `a thread`: the same fits in another process, in another thread of the same one.
"""

import contextlib
import json
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace

import children
import cli
import common
import problems
import report
import runners
import samples

NAMES = ("a9a", "usps")  # of the data folder
SIZES = ((500, 20), (20_000, 20))  # of two overlapping clouds
LIBRARIES = ("maxmargin_f64", "intelex_f64")
ITSELF, A_THREAD = "a process", "a thread"


@dataclass(frozen=True)
class Work:
    """Fits of a problem over and over, or predictions; of a data set, or of clouds of a shape."""

    name: str
    problem: dict
    shape: tuple[int, int] | None = None
    predicts: bool = False


def main(arguments=None):
    options = parse_arguments(arguments)
    libraries = cli.choose_libraries(options, LIBRARIES)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for work in choose_work(options):
        results.append(measure(work, libraries, options))
        print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    print("\n".join(["\nSeconds alone, and multiples of it", *report.aligned(table(results))]))
    common.write_json("busy", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("busy.py", __doc__)
    cli.add_problems(parser)
    cli.add_cache(parser, default=200)
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="of fits for a measurement (default 2)"
    )
    options = cli.parse(parser, arguments, choose_work)
    if options.quick:
        options.seconds = min(options.seconds, 0.1)
    return options


def choose_work(options):
    """What is done over and over: fits of clouds and of data sets, and predictions of the last."""
    found = cli.standard_problems(options, in_folder=NAMES, quick=("breast_cancer",))
    fits = [Work(one.name, vars(one)) for one in found]
    if options.quick:
        return cli.named(options, fits)
    clouds = [Work(f"{n}x{d}", {"C": 1.0, "gamma": 1 / d}, shape=(n, d)) for n, d in SIZES]
    return cli.named(options, [*clouds, *fits, replace(fits[-1], name="predict", predicts=True)])


def loads(options):
    """Numbers of busy processes, and the two sorts of company."""
    n = options.threads
    return [0, ITSELF] if options.quick else [0, n, 2 * n, 4 * n, ITSELF, A_THREAD]


def measure(work, libraries, options):
    outcomes = {name: {"loads": {}, "error": None} for name in libraries}
    for load in loads(options):

        def request(library, _, load=load):
            return {
                "task": "busy",
                "library": library,
                "problem": work.problem,
                "work": asdict(work),
                "data_folder": options.data,
                "tol": options.tol,
                "cache_mb": options.cache_mb,
                "threads": children.threads_of(library, options),
                "timeout": options.timeout,
                "seconds": options.seconds,
                "load": load,
            }

        with busy_processes(load if isinstance(load, int) else 0):
            found = children.in_turn(libraries, request, options.repeats)
        children.take_medians(found, ["seconds"])
        for name, outcome in found.items():
            outcomes[name]["loads"][str(load)] = outcome
            outcomes[name]["error"] = outcomes[name]["error"] or outcome["error"]
    return {"name": work.name, "libraries": outcomes}


@contextlib.contextmanager
def busy_processes(n):
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def run(request, save):
    """Repeats the fit, or the prediction, for the seconds asked for, in the company asked for."""
    work = Work(**request["work"])
    if work.shape:
        X, y = samples.two_clouds(*work.shape, seed=0)
    else:
        data = problems.load(problems.Problem(**work.problem), request["data_folder"])
        X, y = data.X, data.y
    callers = 2 if request["load"] == A_THREAD else 1
    fitted = [runners.new_runner(request, X, y) for _ in range(callers)]
    calls = [one.fit for one in fitted]
    if work.predicts:
        for one in fitted:
            one.fit()
            one.prepare_predict(X)
        calls = [one.predict for one in fitted]
    companion = None
    if request["load"] == ITSELF:
        companion = subprocess.Popen([sys.executable, children.PROGRAM], stdin=subprocess.PIPE)
        forever = {**request, "load": 0, "seconds": request["timeout"], "answer_file": "-"}
        companion.stdin.write(json.dumps(forever).encode())
        companion.stdin.close()
        time.sleep(request["seconds"])  # until it has read its data
    try:
        seconds = in_threads(calls, request["seconds"])
    finally:
        if companion:
            companion.kill()
            companion.wait()
    save({"seconds": statistics.median(seconds), "fits": len(seconds), **fitted[0].info()})


def in_threads(calls, duration):
    """The seconds of every call, each repeated in a thread of its own."""
    seconds = []

    def repeat(call):
        call()  # threads are made, memory is paged in
        end = time.perf_counter() + duration
        while time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - begin)

    others = [threading.Thread(target=repeat, args=[call]) for call in calls[1:]]
    for other in others:
        other.start()
    repeat(calls[0])
    for other in others:
        other.join()
    return seconds


def table(results):
    """A row for each work and library: seconds alone, and the multiples under every load."""
    first = next(iter(results[0]["libraries"].values()))
    others = [load for load in first["loads"] if load != "0"]
    heads = [f"busy {load}" if load.isdigit() else load for load in others]
    rows = [("work", "library", "alone", *heads)]
    for one in results:
        for library, outcome in one["libraries"].items():
            alone = outcome["loads"]["0"]["seconds"]
            times = [outcome["loads"][load]["seconds"] for load in others]
            multiples = [t / alone if t and alone else None for t in times]
            cells = [report.number(multiple, "{:.2f}") for multiple in multiples]
            rows.append(
                (one["name"], report.short_name(library), report.number(alone, "{:.3g}"), *cells)
            )
    return rows


if __name__ == "__main__":
    sys.exit(main())
