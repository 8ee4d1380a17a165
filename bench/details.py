"""The benchmarks that docs/benchmarks.md shows besides the comparison of compare.py."""

from typing import NamedTuple

import busy
import cache_size
import formulations
import kernel_perceptron
import kernel_work
import linear
import memory
import perceptron
import small_fits
import stream


class Detail(NamedTuple):
    """How the results of one command are shown."""

    title: str
    text: str
    table: object  # from results to rows
    pictures: tuple = ()


DETAILS = {
    "cache_size": Detail(
        "Cache size",
        "Seconds of one fit by MB of cache, and the worst ratio of a time to the least time at any "
        "smaller cache.",
        cache_size.table,
        ("![Seconds to train by size of the cache](cache_size.svg)",),
    ),
    "small_fits": Detail(
        "Small fits",
        "Microseconds per fit, ten features, two overlapping classes, many fits in a loop.",
        small_fits.table,
    ),
    "busy": Detail(
        "Busy machines",
        "Seconds of a fit alone, and multiples of it: next to so many processes that never sleep, "
        "next to a process that does the same, and in two threads that both do it.",
        busy.table,
    ),
    "formulations": Detail(
        "Regression, one class and nu",
        "Seconds to train; ! marks a dual objective, recomputed in float64, that is worse by more "
        "than 1e-4, and - a library that has no such machine of its own.",
        formulations.table,
    ),
    "kernel_work": Detail(
        "Kernel work of the formulations",
        "Processor time of a fit on one thread, for each kernel row and for each kernel value that "
        "it computed, as multiples of C-SVC's on the same samples; values are also those of the "
        "solver's square blocks and of the evaluation in float64.",
        kernel_work.table,
    ),
    "linear": Detail(
        "Linear machines",
        "Seconds of LinearSVC to a relative duality gap of tol, and of a peer at the largest "
        "tolerance at which its primal objective, recomputed in float64, is within 1e-4 of that; ! "
        "marks a peer that never gets there. Ours and scikit-learn's begin with the arrays of the "
        "caller. LIBLINEAR's begin when its package has brought them into its own form, which is "
        "timed separately.",
        linear.table,
    ),
    "perceptron": Detail(
        "Passes of the perceptron",
        "Rows in the order given. The sum is a plain one over the same array, and the share that "
        "of its bandwidth; the last column has the seconds of scikit-learn's fit over each.",
        perceptron.table,
    ),
    "kernel_perceptron": Detail(
        "Kernel perceptron",
        "Seconds to train, against a straightforward implementation in numpy.",
        kernel_perceptron.table,
    ),
    "stream": Detail(
        "Files larger than memory",
        "Training from a mapped file of float64 rows, with the largest resident size of the "
        "process, and that before.",
        stream.table,
    ),
    "memory": Detail(
        "Memory of a fit",
        "MB that the largest resident size during the fit exceeds that before it by, next to the "
        "float64 data and the cache.",
        memory.table,
    ),
}
