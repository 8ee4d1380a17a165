"""Time LinearSVC on both sides of each border at which it takes another method.

Normal samples with labels of a random direction, a fifth of them flipped. A border is one of n, d
or density; the figure is the least processor time of the repeats on either side. Where the method
is chosen well, one side takes about as long as the other.
"""

import itertools
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

import cli
import common
import report
from maxmargin import LinearSVC

# (n, d, density) below the border and above it.
BORDERS = {
    "features": ((560, 512, 1.0), (560, 513, 1.0)),
    "features, more samples": ((2000, 512, 1.0), (2000, 513, 1.0)),
    "features, sparse": ((5000, 512, 0.03), (5000, 513, 0.03)),
    "samples a feature": ((1250, 256, 1.0), (1310, 256, 1.0)),
    "fewer samples than features": ((400, 401, 1.0), (402, 401, 1.0)),
    "few samples": ((2048, 2200, 0.05), (2049, 2200, 0.05)),
    "few samples, l1": ((1024, 1100, 0.05), (1025, 1100, 0.05)),
    "features of a matrix": ((2200, 2048, 0.05), (2200, 2049, 0.05)),
    "density": ((2000, 200, 0.24), (2000, 200, 0.26)),
}
QUICK_BORDERS = {"features": ((40, 30, 1.0), (40, 31, 1.0))}
MACHINES = (("l2", "hinge"), ("l2", "squared_hinge"), ("l1", "squared_hinge"))
VALUES_OF_C = (0.01, 1.0, 100.0)


def main(arguments=None):
    options = parse_arguments(arguments)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    chosen = QUICK_BORDERS if options.quick else BORDERS
    for (name, sides), (penalty, loss), C in itertools.product(
        chosen.items(), MACHINES, VALUES_OF_C
    ):
        model = LinearSVC(penalty=penalty, loss=loss, C=C, tol=options.tol, n_jobs=options.threads,
                          time_limit=options.timeout)  # fmt: skip
        seconds = [seconds_to_fit(model, *side, options.repeats) for side in sides]
        results.append({"border": name, "penalty": penalty, "loss": loss, "C": C,
                        "sides": sides, "seconds": seconds})  # fmt: skip
    print("\n".join(["\nSeconds to train", *report.aligned(table(results))]))
    common.write_json("linear_borders", options, machine, {"results": results})
    return 0


def parse_arguments(arguments):
    parser = cli.new_parser("linear_borders.py", __doc__, known=("maxmargin",))
    parser.set_defaults(tol=1e-4, threads=1, timeout=10.0)
    return cli.parse(parser, arguments, known=("maxmargin",))


def seconds_to_fit(model, n, d, density, repeats):
    X, y = samples(n, d, density)
    least = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        least = min(least, time.process_time() - begin)
    return least


def samples(n, d, density):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) >= density] = 0.0
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y = np.where(rng.random(n) < 0.2, -y, y)
    return (X if density > 0.2 else sp.csr_matrix(X)), y


def table(results):
    rows = [("border", "penalty", "loss", "C", "below", "above", "above / below")]
    for one in results:
        below, above = one["seconds"]
        rows.append((one["border"], one["penalty"], one["loss"], f"{one['C']:g}",
                     report.number(below), report.number(above),
                     report.number(above / below, "{:.2f}")))  # fmt: skip
    return rows


if __name__ == "__main__":
    sys.exit(main())
