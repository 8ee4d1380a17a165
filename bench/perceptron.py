"""Time one pass of the perceptron against scikit-learn's and against a plain sum over the array.

Rows in the order given, no penalty, no tolerance: both do the same. A pass is the difference
between two fits, of 11 passes and of 1, divided by 10, so that what a fit does besides (checks,
allocation) drops out. The sum reads every number once too: its seconds over those of the pass are
the share of the memory bandwidth that a pass reaches. It can be more than 1: long fits code the
rows, which is part of these passes, and read the codes. One fresh process per measurement.
"""

import sys
from dataclasses import asdict, dataclass

import numpy as np

import children
import cli
import common
import report
import runners
import samples

LIBRARIES = ("maxmargin_f64", "maxmargin_f32", "sklearn")
PASSES = 11
KEYS = ("fit_seconds", "pass_seconds", "sum_seconds", "share_of_bandwidth")


@dataclass(frozen=True)
class Rows:
    """Two distant clouds with 0.5 % of the labels wrong: few mistakes, but some in every pass."""

    name: str
    n: int
    d: int

    def load(self, dtype):
        X, y = samples.two_clouds(self.n, self.d, dtype, distance=8.0)
        wrong = np.random.default_rng(1).random(self.n) < 0.005
        return X, np.where(wrong, 1 - y, y)


PROBLEMS = (Rows("200,000 x 100", 200_000, 100), Rows("20,000 x 1,000", 20_000, 1_000))
QUICK = (Rows("2,000 x 100", 2_000, 100),)


def main(arguments=None):
    options = cli.parse(cli.new_parser("perceptron.py", __doc__), arguments)
    options.cache_mb, options.data = 0, None
    libraries = cli.choose_libraries(options, LIBRARIES)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in QUICK if options.quick else PROBLEMS:
        outcomes = measure(problem, libraries, options)
        children.take_medians(outcomes, KEYS)
        results.append({"problem": asdict(problem), "libraries": outcomes})
        print("\n".join(report.errors(outcomes)), end="", flush=True)
    print("\n".join(["\nOne pass of the perceptron", *report.aligned(table(results))]))
    common.write_json("perceptron", options, machine, {"results": results})
    return cli.exit_code(one["libraries"] for one in results)


def measure(problem, libraries, options):
    def request(library, _):
        return children.fit_request(problem, library, options, task="perceptron")

    return children.in_turn(libraries, request, options.repeats)


def table(results):
    """A row for every problem and library."""
    rows = [("problem", "library", f"fit of {PASSES}, s", "pass, ms", "sum, ms", "share", "ratio")]
    for one in results:
        peer = one["libraries"].get("sklearn", {}).get("fit_seconds")
        for name, outcome in one["libraries"].items():
            seconds = [outcome[key] for key in KEYS]
            milliseconds = [None if s is None else 1e3 * s for s in seconds[1:3]]
            ratio = peer / seconds[0] if peer and seconds[0] else None
            cells = [report.number(s) for s in (seconds[0], *milliseconds, seconds[3], ratio)]
            rows.append((one["problem"]["name"], name, *cells))
    return rows


def run(request, save):
    """One measurement in a child process."""
    library = request["library"]
    X, y = Rows(**request["problem"]).load(runners.LIBRARIES[library].dtype)
    if runners.is_ours(library):
        from maxmargin import Perceptron
    else:
        from sklearn.linear_model import Perceptron

    def fit(n_passes):
        return Perceptron(max_iter=n_passes, tol=None, shuffle=False).fit(X, y)

    Perceptron(max_iter=1, tol=None).fit(X[:60], y[:60])
    one, _ = runners.timed(lambda: fit(1), request["timeout"])
    seconds, model = runners.timed(lambda: fit(PASSES), request["timeout"])
    plain_sum = min(runners.timed(X.sum, request["timeout"])[0] for _ in range(9))
    one_pass = max(1e-9, (seconds - one) / (PASSES - 1))
    save(
        {
            "fit_seconds": seconds,
            "pass_seconds": one_pass,
            "sum_seconds": plain_sum,
            "share_of_bandwidth": plain_sum / one_pass,
            "coef_norm": float(np.linalg.norm(model.coef_)),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
