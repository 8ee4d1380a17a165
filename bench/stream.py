"""Train from a file larger than one would load, and report the largest resident size.

A file of float64 rows is written, mapped into memory and trained on in fresh processes: the
perceptron and SGDClassifier with `fit`, the latter also with `fit_stream` on chunks of the file,
and a prediction. The resident size counts the pages of the file that the process holds. The file
is deleted at the end.
"""

import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import children
import cli
import common
import report
import runners
import samples

D = 100
BLOCK = 1 << 16  # rows; the file repeats one block
JOBS = ("Perceptron.fit", "SGDClassifier.fit", "SGDClassifier.fit_stream", "Perceptron.predict")
KEYS = ("fit_seconds", "peak_memory_mb", "before_mb")


@dataclass(frozen=True)
class Job:
    """What a process does with the file."""

    name: str
    n_blocks: int

    @property
    def gigabytes(self):
        return self.n_blocks * BLOCK * D * 8 / 1e9


def main(arguments=None):
    options = parse_arguments(arguments)
    machine = common.machine_info()
    print(report.header(machine, options))
    n_blocks = 2 if options.quick else max(1, round(options.gigabytes * 1e9 / (BLOCK * D * 8)))
    results = []
    with tempfile.TemporaryDirectory(prefix="maxmargin-bench-", dir=options.folder) as folder:
        file = Path(folder) / "rows"
        write(file, n_blocks)
        for job in (Job(name, n_blocks) for name in JOBS):
            results.append(measure(job, file, options))
            print("\n".join(report.errors(results[-1]["libraries"])), end="", flush=True)
    print("\n".join(["\nTraining from a mapped file", *report.aligned(table(results))]))
    common.write_json("stream", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def parse_arguments(arguments):
    parser = cli.new_parser("stream.py", __doc__)
    parser.add_argument("--gigabytes", type=float, default=8.0, help="size of the file (default 8)")
    parser.add_argument("--folder", metavar="FOLDER", help="where the file is written for the time")
    options = cli.parse(parser, arguments)
    options.cache_mb, options.data = 0, None
    return options


def write(file, n_blocks):
    X, _ = samples.two_clouds(BLOCK, D, distance=4.0)
    with file.open("wb") as out:
        for _ in range(n_blocks):
            X.tofile(out)


def measure(job, file, options):
    def request(library, _):
        return children.fit_request(job, library, options, task="stream", file=str(file))

    outcomes = children.in_turn(["maxmargin_f64"], request, options.repeats)
    children.take_medians(outcomes, KEYS)
    return {"problem": asdict(job), "gigabytes": job.gigabytes, "libraries": outcomes}


def table(results):
    rows = [("what", "file, GB", "seconds", "peak resident, MB", "before, MB")]
    for one in results:
        (outcome,) = one["libraries"].values()
        cells = [report.number(outcome[key], "{:.1f}") for key in KEYS]
        rows.append((one["problem"]["name"], f"{one['gigabytes']:.2f}", *cells))
    return rows


def run(request, save):
    """One measurement in a child process."""
    import maxmargin

    job = Job(**request["problem"])
    n = job.n_blocks * BLOCK
    X = np.memmap(request["file"], dtype=np.float64, mode="r", shape=(n, D))
    _, labels = samples.two_clouds(BLOCK, D, distance=4.0)
    y = np.tile(labels.astype(np.int8), job.n_blocks)
    perceptron = maxmargin.Perceptron(max_iter=2, tol=None).fit(X[:1000], y[:1000])
    sgd = maxmargin.SGDClassifier(max_iter=1, shuffle=False, tol=None)
    chunks = ((X[start : start + BLOCK], y[start : start + BLOCK]) for start in range(0, n, BLOCK))
    calls = {
        "Perceptron.fit": lambda: perceptron.fit(X, y),
        "SGDClassifier.fit": lambda: sgd.fit(X, y),
        "SGDClassifier.fit_stream": lambda: sgd.fit_stream(chunks, classes=[0, 1]),
        "Perceptron.predict": lambda: perceptron.predict(X),
    }
    runners.forget_peak_memory()
    before = runners.memory_mb("VmRSS")
    seconds, _ = runners.timed(calls[job.name], request["timeout"])
    peak = runners.memory_mb("VmHWM")
    save({"fit_seconds": seconds, "peak_memory_mb": peak, "before_mb": before})


if __name__ == "__main__":
    sys.exit(main())
