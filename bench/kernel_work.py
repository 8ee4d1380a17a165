"""What kernel work costs in the other formulations, as a multiple of what it costs in C-SVC.

Every formulation is fitted to the same samples with the same kernel, on one thread, in turn. A
formulation needs more or fewer kernel values than C-SVC; what is compared is the processor time of
a fit, the least over the repeats, for each value that it computed, and for each row. Values are
those of rows, of the square blocks of the solver, and of the evaluation in float64 that proves the
solution; with many pair steps, as in regression, a row carries more of the others. nu is what the
solution with C, or with epsilon, implies, so that the two have the same solution.
"""

import sys
import time

import numpy as np

import cli
import common
import problems
import report

FOLDER = ("a9a", "usps", "letter", "w8a")
MOST_ROWS = 8000
QUICK = ("breast_cancer",)


def main(arguments=None):
    options = parse_arguments(arguments)
    machine = common.machine_info()
    print(report.header(machine, options))
    results = []
    for problem in cli.choose_problems(options, FOLDER, QUICK):
        results.append({"problem": problem.name, "fits": measure(problem, options)})
    print("\n".join(["\nProcessor time for kernel work", *report.aligned(table(results))]))
    common.write_json("kernel_work", options, machine, {"results": results})
    return 0


def parse_arguments(arguments):
    parser = cli.new_parser("kernel_work.py", __doc__, known=("maxmargin_f64",))
    cli.add_problems(parser)
    cli.add_cache(parser, default=200)
    return cli.parse(parser, arguments, lambda options: cli.choose_problems(options, FOLDER, QUICK))


def measure(problem, options):
    """Seconds, kernel work and support vectors by formulation: the lower half of the classes
    against the upper one, and the regressions of the same labels."""
    from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

    data = problems.load(problem, options.data)
    X, y = data.X[:MOST_ROWS], data.y[:MOST_ROWS]
    y = np.where(y > np.median(np.unique(y)), 1, -1)
    C = problem.C
    common_parameters = {
        "gamma": problem.gamma,
        "tol": options.tol,
        "cache_size": options.cache_mb,
        "n_jobs": 1,
    }

    def implied_nu(model):
        return min(1.0, np.abs(model.dual_coef_).sum() / (C * len(y)))

    makes = {
        "C-SVC": lambda: SVC(C=C, **common_parameters),
        "nu-SVC": lambda: NuSVC(nu=implied_nu(models["C-SVC"]), **common_parameters),
        "squared hinge": lambda: SVC(C=C, loss="squared_hinge", **common_parameters),
        "one-class": lambda: OneClassSVM(nu=0.2, **common_parameters),
        "SVR": lambda: SVR(C=C, epsilon=0.1, **common_parameters),
        "nu-SVR": lambda: NuSVR(C=C, nu=implied_nu(models["SVR"]), **common_parameters),
    }
    models, seconds = {}, {name: [] for name in makes}
    for _ in range(options.repeats):
        for name, make in makes.items():
            models[name] = make()
            begin = time.process_time()
            models[name].fit(X, y.astype(float))
            seconds[name].append(time.process_time() - begin)
    return {
        name: {
            "seconds": min(seconds[name]),
            "kernel_rows": model.certificate_.kernel_rows,
            "kernel_values": model.certificate_.kernel_values,
            "n_iter": int(np.sum(model.n_iter_)),
            "n_support": len(model.support_),
        }
        for name, model in models.items()
    }


def table(results):
    """A row for every fit; the last three columns are multiples of what C-SVC needs."""
    heads = ("problem", "formulation", "s", "pair steps", "kernel rows", "kernel values")
    rows = [(*heads, "values", "time for a row", "time for a value")]
    for one in results:
        base = one["fits"]["C-SVC"]
        for name, fit in one["fits"].items():
            counts = (f"{fit[key]:,}" for key in ("n_iter", "kernel_rows", "kernel_values"))
            seconds = fit["seconds"] / base["seconds"]
            by_rows, by_values = (share(fit, base, key) for key in ("kernel_rows", "kernel_values"))
            ratios = (by_values, by_rows and seconds / by_rows, by_values and seconds / by_values)
            cells = (report.number(ratio, "{:.2f}") for ratio in ratios)
            rows.append((one["problem"], name, report.number(fit["seconds"]), *counts, *cells))
    return rows


def share(fit, base, key):
    """The work of a fit as a multiple of another's; None where either did none."""
    return fit[key] / base[key] if fit[key] and base[key] else None


if __name__ == "__main__":
    sys.exit(main())
