"""Latency of one row in C: the median and the 99th percentile of single calls, and LIBSVM's.

A model of random support vectors, RBF kernel, is loaded by libmaxmargin and by the library of the
package libsvm-official; one_row.c calls them in 1 and in 8 threads, each call timed in C. Runs go
in turn; the figure is the least over the repeats, since a busy machine only adds to it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import cli
import common
import maxmargin
import report

KINDS = ("float32", "float64", "libsvm")
THREADS = (1, 8)
N_ROWS = 64  # as in one_row.c


def main(arguments=None):
    options = parse_arguments(arguments)
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        print("skipped: a C compiler is missing")
        return 0
    library = options.library or maxmargin.get_library()
    machine = common.machine_info()
    print(report.header(machine, options))
    with tempfile.TemporaryDirectory() as folder:
        results = measure(library, compiler, Path(folder), options)
    print("\n".join(["\nMicroseconds for one row", *report.aligned(table(results))]))
    common.write_json("one_row", options, machine, {"results": results})
    return 0


def parse_arguments(arguments):
    parser = cli.new_parser("one_row.py", __doc__, known=KINDS)
    parser.add_argument(
        "--library", metavar="FILE", help="libmaxmargin.so (default: the package's)"
    )
    parser.add_argument("--calls", type=int, default=20_000, help="of a thread (default 20000)")
    parser.add_argument("--vectors", type=int, default=1000, help="support vectors (default 1000)")
    parser.add_argument("--features", type=int, default=100, help="(default 100)")
    options = cli.parse(parser, arguments, known=KINDS)
    if options.quick:
        options.calls = min(options.calls, 1000)
    return options


def measure(library, compiler, folder, options):
    """Nanoseconds by library and number of threads."""
    program, model, rows = (str(folder / name) for name in ("one_row", "model", "rows"))
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-O2", source, "-o", program, "-ldl", "-lpthread"], check=True)
    rng = np.random.default_rng(0)
    Path(model).write_text(model_text(rng, options.vectors, options.features), encoding="ascii")
    rng.standard_normal((N_ROWS, options.features)).tofile(rows)
    chosen = options.libraries.split(",") if options.libraries else KINDS
    libraries = {kind: libsvm_library() if kind == "libsvm" else library for kind in chosen}
    results = {}
    for _ in range(options.repeats):
        for kind, path in libraries.items():
            for n_threads in THREADS if path else ():
                command = [program, path, model, rows, options.features, n_threads, options.calls]
                outcome = subprocess.run(
                    [*map(str, command), kind],
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=options.timeout,
                    # LIBSVM shares one row among OpenMP's threads, which wait for each other.
                    env=common.child_environment(1, kind == "libsvm"),
                ).stdout.split()
                times = np.array(outcome[:2], dtype=float) / 1000
                key = f"{kind}, {n_threads} thread{'s' if n_threads > 1 else ''}"
                before = results.get(key, {"median_us": np.inf, "p99_us": np.inf})
                results[key] = {
                    "median_us": float(min(before["median_us"], times[0])),
                    "p99_us": float(min(before["p99_us"], times[1])),
                    "decision_value": float(outcome[2]),
                }
    values = [result["decision_value"] for result in results.values()]
    if not np.allclose(values, values[0], rtol=1e-5, atol=1e-5):
        raise ValueError(f"the libraries disagree: {values}")
    return results


def model_text(rng, n, d):
    """A model of two classes in LIBSVM's format."""
    half = n // 2
    coef = rng.uniform(0.1, 1.0, n) * np.repeat([1, -1], [half, n - half])
    head = f"svm_type c_svc\nkernel_type rbf\ngamma {1 / d}\nnr_class 2\ntotal_sv {n}\nrho 0.25\n"
    lines = [f"{head}label 1 -1\nnr_sv {half} {n - half}\nSV\n"]
    for a, z in zip(coef, rng.standard_normal((n, d)), strict=True):
        lines.append(f"{a} {' '.join(f'{k}:{x}' for k, x in enumerate(z, 1))}\n")
    return "".join(lines)


def libsvm_library():
    """The shared library of the package libsvm-official, or None."""
    found = importlib.util.find_spec("libsvm")
    if found is None or not found.submodule_search_locations:
        return None
    return next(iter(Path(found.submodule_search_locations[0]).glob("clib*")), None)


def table(results):
    rows = [["library", "median", "99th percentile"]]
    for name, result in results.items():
        rows.append([name, f"{result['median_us']:.2f}", f"{result['p99_us']:.2f}"])
    return rows


if __name__ == "__main__":
    sys.exit(main())
