"""Data for LIBLINEAR's programs, comparison of predictions, a session of its Python interface."""

import random
import sys
from pathlib import Path


def samples(n, n_classes):
    """Clouds of normal numbers: their labels, targets and rows of entries."""
    draw = random.Random(1)
    centres = [[draw.gauss(0, 1) for _ in range(8)] for _ in range(n_classes)]
    labels = [1 + i % n_classes for i in range(n)]
    rows = [[round(c + draw.gauss(0, 1), 4) for c in centres[label - 1]] for label in labels]
    targets = [round(sum(row[:3]) + draw.gauss(0, 0.5), 4) for row in rows]
    return labels, targets, [{j + 1: x for j, x in enumerate(row)} for row in rows]


def write(path, targets, rows):
    with open(path, "w", encoding="ascii") as file:
        for y, row in zip(targets, rows, strict=True):
            print(y, *(f"{j}:{x}" for j, x in row.items()), file=file)


def near(first, second):
    """Whether two files of numbers are the same to a hundredth, but for one line in 500.

    At the optimum of Crammer and Singer's machine, the values of two classes may be equal.
    """
    lines = [Path(path).read_text(encoding="ascii").split() for path in (first, second)]
    pairs = list(zip(*lines, strict=True))
    n_apart = sum(abs(float(a) - float(b)) > 1e-2 for a, b in pairs)
    assert n_apart <= len(pairs) / 500, f"{n_apart} predictions differ"


def fit():
    """What the README of the Python interface shows."""
    try:
        from liblinear import liblinearutil as util
    except ImportError:
        import liblinearutil as util
    labels, targets, rows = samples(300, 3)
    model = util.train(labels, rows, "-q -s 0 -c 4 -B 1")
    assert model.get_labels() == [1, 2, 3]
    assert model.get_nr_feature() == 8
    assert model.is_probability_model()
    predicted, (accuracy, _, _), values = util.predict(labels, rows, model, "-b 1 -q")
    assert accuracy > 70
    assert abs(sum(values[0]) - 1) < 1e-12
    util.save_model("session.model", model)
    again = util.load_model("session.model")
    assert util.predict(labels, rows, again, "-q")[0] == predicted
    assert again.get_decfun() == model.get_decfun()
    cross_validated = util.train(labels, rows, "-q -s 2 -v 3")
    regression = util.train(targets, rows, "-q -s 11")
    assert regression.is_regression_model()
    print(f"accuracy {accuracy:.2f}, cross-validated {cross_validated:.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        labels, targets, rows = samples(600, 3)
        write(sys.argv[2], labels, rows)
        write(sys.argv[3], targets, rows)
    elif sys.argv[1] == "near":
        near(*sys.argv[2:])
    else:
        fit()
