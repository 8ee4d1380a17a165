"""`maxmargin svm-scale`: LIBSVM's svm-scale."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.files import check_writable, replacing
from maxmargin._input.sparse import CsrMatrix, take_rows
from maxmargin.cli._data import load_samples
from maxmargin.cli._flags import Flag, FlagCommand, Given, real, text
from maxmargin.cli._reports import warn

# Numbers in the dense block of samples that is scaled at a time.
_BLOCK_ELEMENTS = 1 << 20

# Least and greatest value by number of a feature, from 1.
Ranges = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Scaling:
    """The map of [low, high] to [lower, upper], by feature."""

    lower: float
    upper: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled values; the ends are met exactly."""
        low, high = self.low, self.high
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaled = self.lower + (self.upper - self.lower) * (values - low) / (high - low)
            overflows = ~(np.isfinite(scaled) & np.isfinite(high - low)) & (low < high)
            if overflows.any():
                share = (0.5 * values - 0.5 * low) / (0.5 * high - 0.5 * low)
                mean = self.lower * (1.0 - share) + self.upper * share
                scaled = np.where(overflows, mean, scaled)
        scaled = np.where(values == high, self.upper, scaled)
        return np.where(values == low, self.lower, scaled)


def _limits(name: str, lower: str, upper: str) -> tuple[float, float]:
    limits = real()("lower", lower), real()("upper", upper)
    if limits[0] >= limits[1]:
        raise ValueError(f"lower must be less than upper, got {lower} and {upper}")
    return limits


def _run(given: Given) -> None:
    lower, upper = given.get("-l", -1.0), given.get("-u", 1.0)
    y_range = given.get("-y")
    if lower >= upper:
        raise ValueError(f"svm-scale: -l must be less than -u, got {lower:g} and {upper:g}")
    save_file, restore_file = given.get("-s"), given.get("-r")
    if save_file is not None and restore_file is not None:
        raise ValueError("svm-scale: -r and -s exclude each other")
    if save_file is not None:
        check_writable(save_file)
    X, y = load_samples(given.files[0], zero_based=False)
    y_scaling = None
    if y_range:
        y_scaling = Scaling(y_range[0], y_range[1], np.array([y.min()]), np.array([y.max()]))
    ranges: Ranges = {}
    if restore_file is not None:
        lower, upper, ranges, known = _restored(restore_file)
        y_scaling = known or y_scaling
    features, X = _of_use(X, ranges)
    ends = _extremes(X)
    if restore_file is not None:
        ends = _ends_of(ranges, features, ends, restore_file)
    scaling = Scaling(lower, upper, *ends)
    if save_file is not None:
        with replacing(save_file) as file:
            file.write(_stored(scaling, y_scaling, features).encode("ascii"))
    n_written = _write(X, y if y_scaling is None else y_scaling(y), scaling, features)
    if n_written > len(X.data):
        warn(
            f"the data had {len(X.data)} numbers that are not zero, and now have {n_written}; if "
            "they are sparse and not negative, -l 0 keeps zeros"
        )


SVM_SCALE = FlagCommand(
    "svm-scale",
    "scale the features of a data file with LIBSVM's flags",
    "data_file",
    range(1, 2),
    (
        Flag("-l", "lower", "what the least value of a feature becomes (default -1)", real()),
        Flag("-u", "upper", "what the greatest value becomes (default 1)", real()),
        Flag("-y", "lower upper", "the same for the labels (default: as they are)",
             _limits),
        Flag("-s", "file", "file to write the ranges of the features to", text),
        Flag("-r", "file", "file of ranges to scale by, written with -s", text),
    ),
    _run,
)  # fmt: skip


def _of_use(X: CsrMatrix, ranges: Ranges) -> tuple[NDArray[np.int64], CsrMatrix]:
    """Return the numbers, from 1, of the features that X or the ranges hold, and X with these."""
    features = np.unique([*(np.unique(X.indices) + 1).tolist(), *ranges])
    features = features.astype(np.int64)
    places = np.searchsorted(features, X.indices.astype(np.int64) + 1)
    return features, CsrMatrix(X.data, places, X.indptr.astype(np.int64), max(1, len(features)))


def _extremes(X: CsrMatrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest value of every feature, which may be a zero left out."""
    low, high = np.full(X.n_cols, np.inf), np.full(X.n_cols, -np.inf)
    np.minimum.at(low, X.indices, X.data)
    np.maximum.at(high, X.indices, X.data)
    has_zeros = np.bincount(X.indices, minlength=X.n_cols) < X.shape[0]
    low[has_zeros] = np.minimum(low[has_zeros], 0.0)
    high[has_zeros] = np.maximum(high[has_zeros], 0.0)
    return low, high


def _write(
    X: CsrMatrix, y: NDArray[np.float64], scaling: Scaling, features: NDArray[np.int64]
) -> int:
    """Write the scaled samples to stdout; return how many numbers they have that are not zero."""
    n_written = 0
    varies = scaling.low != scaling.high  # a feature of a single value is left out
    step = max(1, _BLOCK_ELEMENTS // X.n_cols)
    for begin in range(0, len(y), step):
        rows = np.arange(begin, min(begin + step, len(y)))
        part = take_rows(X, rows)
        assert isinstance(part, CsrMatrix)
        scaled = np.where(varies, scaling(part.to_dense()), 0.0)
        lines = []
        for label, values in zip(y[rows].tolist(), scaled, strict=True):
            columns = np.flatnonzero(values)
            entries = zip(features[columns].tolist(), values[columns].tolist(), strict=True)
            lines.append(f"{label:.17g} {''.join([f'{j}:{value:g} ' for j, value in entries])}\n")
            n_written += len(columns)
        sys.stdout.write("".join(lines))
    return n_written


# -- files of ranges -------------------------------------------------------------------------------


def _stored(scaling: Scaling, y_scaling: Scaling | None, features: NDArray[np.int64]) -> str:
    """Return the text of a file of ranges, in LIBSVM's format."""
    lines = []
    if y_scaling is not None:
        lines += ["y", _numbers(y_scaling.lower, y_scaling.upper)]
        lines += [_numbers(y_scaling.low[0], y_scaling.high[0])]
    lines += ["x", _numbers(scaling.lower, scaling.upper)]
    for j in np.flatnonzero(scaling.low != scaling.high).tolist():
        lines.append(f"{features[j]} {_numbers(scaling.low[j], scaling.high[j])}")
    return "\n".join([*lines, ""])


def _numbers(*values: float) -> str:
    return " ".join(f"{value:.17g}" for value in values)


def _restored(path: str) -> tuple[float, float, Ranges, Scaling | None]:
    """Return the limits and ranges of features, and the scaling of labels, in a file of ranges."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = list(enumerate(file.read().splitlines(), start=1))

    def take(count: int) -> list[float]:
        number, line = lines.pop(0) if lines else (0, "")
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(map(math.isfinite, values)):
            where = f"{path}, line {number}" if number else f"{path} ends too early"
            raise ValueError(f"{where}: expected {count} finite numbers, got {line!r}")
        return values

    y_scaling = None
    if lines and lines[0][1].strip() == "y":
        lines.pop(0)
        limits, ends = take(2), take(2)
        y_scaling = Scaling(limits[0], limits[1], np.array(ends[:1]), np.array(ends[1:]))
    if not lines or lines.pop(0)[1].strip() != "x":
        raise ValueError(f"{path} is not a file of ranges: expected a line 'x'")
    lower, upper = take(2)
    ranges: Ranges = {}
    while lines:
        number = lines[0][0]
        index, least, greatest = take(3)
        if not (index.is_integer() and 1 <= index < 2**63):
            raise ValueError(
                f"{path}, line {number}: expected the index of a feature, got {index:g}"
            )
        ranges[int(index)] = (least, greatest)
    return lower, upper, ranges, y_scaling


def _ends_of(
    ranges: Ranges,
    features: NDArray[np.int64],
    own: tuple[NDArray[np.float64], NDArray[np.float64]],
    path: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the ranges; a feature without one counts as one of a single value."""
    varies = own[0] != own[1]
    for feature in features[varies[: len(features)]].tolist():
        if feature not in ranges:
            warn(f"{path} has no range of feature {feature}, which becomes 0")
    low, high = np.zeros((2, len(varies)))
    for j, feature in enumerate(features.tolist()):
        low[j], high[j] = ranges.get(feature, (0.0, 0.0))
    return low, high
