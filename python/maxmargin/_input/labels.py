"""Labels and the weights of samples and classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._estimator.wording import counted, shown
from maxmargin._input.parameters import is_real, real_array
from maxmargin.exceptions import DataConversionWarning, warn_caller

ClassWeight: TypeAlias = Mapping[Any, float] | str | None

_LARGEST_TARGET = 1e150
_LARGEST_RIDGE = 1e140
_LARGEST_TABLE = 1 << 16


def check_labels(y: Any, n_samples: int, owner: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the class index of every sample and the sorted classes.

    Raises ValueError if `y` is missing, not one label for each sample, not discrete, holds NaN or
    one class only.
    """
    labels = column_of_labels(y, n_samples, owner)
    classes, codes = _classes_and_codes(labels)
    if len(classes) == 1:
        raise ValueError(
            f"{owner} needs samples of at least two classes, but y holds only one class: "
            f"{shown(classes[0])}"
        )
    return codes, classes


def _classes_and_codes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels, and the index of every label among them."""
    if labels.dtype.kind in "biuf" and len(labels) > 0:
        low, high = int(labels.min()), int(labels.max())
        # A table of what lies between is faster than sorting, and smaller.
        if high - low < _LARGEST_TABLE and max(abs(low), abs(high)) < 2**53:
            places = np.subtract(labels, low, dtype=np.int64, casting="unsafe")
            is_present = np.bincount(places, minlength=high - low + 1) > 0
            classes = (np.flatnonzero(is_present) + low).astype(labels.dtype)
            if is_present.all():
                return classes, places
            return classes, (np.cumsum(is_present, dtype=np.int64) - 1)[places]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int64).reshape(-1)


def check_classes(classes: Any) -> NDArray[Any]:
    """Return the sorted classes, of which there must be at least two."""
    labels = np.asarray(classes)
    known = np.unique(column_of_labels(labels, len(labels) if labels.ndim else 0, "classes"))
    if len(known) < 2:
        raise ValueError(f"classes must hold at least two classes, got {shown(known.tolist())}")
    return known


def check_known_labels(
    y: Any, n_samples: int, owner: str, classes: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the class index of every sample; every label must be one of the sorted `classes`."""
    labels = column_of_labels(y, n_samples, owner)
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {shown(labels[unknown][0])}, which is not in {shown(classes.tolist())}"
        )
    return np.searchsorted(classes, labels).astype(np.int64)


def column_of_labels(y: Any, n_samples: int, owner: str) -> NDArray[Any]:
    """Return `y` as a 1-D array of discrete labels that can be sorted."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    labels = _raveled(np.asarray(y), n_samples, "label")
    if labels.dtype.kind in "SU" and isinstance(y, (list, tuple)):
        _check_one_kind(y)
    if labels.dtype.kind == "O":
        if all(isinstance(label, str) for label in labels):
            return labels
        labels = _labels_of_objects(labels)
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: y must hold class labels")
    if kind not in "biufUST":
        raise ValueError(f"Unknown label type: y must hold class labels, got dtype {labels.dtype}")
    if kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label")
        if not (labels == np.floor(labels)).all():
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which "
                "expects discrete classes, on a regression target with continuous values"
            )
    return labels


def _raveled(y: NDArray[Any], n_samples: int, what: str) -> NDArray[Any]:
    """Return `y` as one value for each sample; a column is taken with a warning."""
    if y.ndim == 2 and y.shape[1] == 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        y = y.reshape(-1)
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != n_samples:
        raise ValueError(f"X has {counted(n_samples, 'sample')}, but y has {counted(len(y), what)}")
    return y


def _labels_of_objects(labels: NDArray[Any]) -> NDArray[Any]:
    if any(_is_missing(label) for label in labels):
        raise ValueError("Input y contains NaN, None or NA; every sample needs a label")
    _check_one_kind(labels)
    numbers_only = np.array(labels.tolist())
    if numbers_only.dtype.kind == "O":
        raise ValueError("Unknown label type: unknown. y must hold numbers, booleans or strings")
    return numbers_only


def _check_one_kind(labels: Iterable[Any]) -> None:
    """Refuse strings or bytes among labels of other types, which numpy would make into strings."""
    kinds = set(map(type, labels))
    for text in (str, bytes):
        if len({issubclass(kind, text) for kind in kinds}) > 1:
            name = "strings" if text is str else "bytes"
            raise ValueError(
                f"y mixes {name} with labels of other types; labels must be comparable"
            )


def _is_missing(label: Any) -> bool:
    """Return whether it stands for no label: None, NaN or pandas's NA."""
    is_nan = isinstance(label, float) and math.isnan(label)
    return label is None or is_nan or type(label).__name__ == "NAType"


def check_sample_weight(
    sample_weight: Any, n_samples: int, *, may_vanish: bool = False
) -> NDArray[np.float64]:
    """Return one finite weight >= 0 for each sample; ones for None.

    Raises ValueError if the weights are not numbers, not 1-D, of another length, NaN or infinite,
    negative, or all zero (unless they may); each with its own message.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weight = real_array("sample_weight", sample_weight)
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be a 1D array, got one of shape {weight.shape}")
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n_samples},): one weight for each "
            "sample"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; weights must be finite")
    if weight.min() < 0:
        place = int(np.argmax(weight < 0))
        raise ValueError(
            f"sample_weight must not be negative, got {weight[place]} at index {place}"
        )
    if not weight.any() and not may_vanish:
        raise ValueError("sample_weight is zero for every sample; at least one must be positive")
    return weight


def check_class_weight(
    class_weight: ClassWeight,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return one weight for each class.

    'balanced' gives n_samples / (n_classes * count of the class), where a sample counts as often as
    its weight says; a class that counts 0 weighs 1. Classes that a mapping leaves out weigh 1; a
    mapping that leaves out a class and names one that `y` does not hold is refused, as
    in scikit-learn, since that is most often a misspelt label.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        if sample_weight is not None:  # by its share of the largest, which no sum overflows
            sample_weight = sample_weight / (sample_weight.max(initial=0.0) or 1.0)
        counts = np.bincount(codes, weights=sample_weight, minlength=len(classes))
        evenly = np.count_nonzero(counts) * counts
        weights = np.ones(len(classes))
        np.divide(counts.sum(), evenly, out=weights, where=counts > 0)
        return weights
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict of class weights, got "
            f"{shown(class_weight)}"
        )
    weights = np.ones(len(classes))
    unweighted = []
    for index, label in enumerate(classes.tolist()):
        if label in class_weight:
            weights[index] = check_class_factor(label, class_weight[label])
        else:
            unweighted.append(label)
    if unweighted and len(class_weight) > len(classes) - len(unweighted):
        known = set(classes.tolist())
        unknown = [label for label in class_weight if label not in known]
        raise ValueError(
            f"class_weight names {shown(unknown)}, which y does not hold; its classes are "
            f"{shown(classes.tolist())}"
        )
    return weights


def check_class_factor(label: Any, weight: Any) -> float:
    """Return the weight of one class as a float >= 0."""
    if not is_real(weight) or not math.isfinite(weight) or weight < 0:
        raise ValueError(
            f"class_weight must map class {shown(label)} to a finite number >= 0, got "
            f"{shown(weight)}"
        )
    return float(weight)


def upper_bounds(
    C: float,
    class_weights: NDArray[np.float64],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64],
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    """Return C_i = C * class weight * sample weight, the upper bound of every alpha_i.

    Raises ValueError if a bound overflows, or a class has no sample of positive weight.
    """
    with np.errstate(under="ignore"):
        weight = class_weights[codes] * sample_weight
    upper = weighted_bounds(C, weight)
    check_weighted_classes(upper, codes, classes)
    return upper


def check_weighted_classes(
    weight: NDArray[np.float64], codes: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    """Refuse a class without a sample of positive weight."""
    counts = np.bincount(codes[weight > 0.0], minlength=len(classes))
    if not counts.all():
        raise ValueError(
            f"class {classes.tolist()[counts.argmin()]!r} has no weight: sample_weight or "
            "class_weight is zero for every sample of it"
        )


def check_ridge(upper: NDArray[np.float64]) -> None:
    """Refuse C_i > 0 so small that 1 / (2 C_i), which is added to kernel values, overflows them."""
    least = float(upper.min(initial=math.inf, where=upper > 0.0))
    if least < 0.5 / _LARGEST_RIDGE:
        raise ValueError(
            f"C times the weights must be >= {0.5 / _LARGEST_RIDGE:g} with the squared hinge loss, "
            f"got {least:.3g}; increase C or the weights, or set weights to 0"
        )


def weighted_bounds(C: float, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return C times the weight of every sample.

    Raises ValueError if a bound overflows, or none is positive.
    """
    if math.isinf(C):
        return np.where(weight > 0.0, math.inf, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        upper: NDArray[np.float64] = C * weight
    if not np.isfinite(upper).all():
        raise ValueError(f"C={C:g} times the weights overflows; reduce them")
    if not upper.any():
        raise ValueError(f"C={C:g} times every weight is 0; increase them")
    return upper


def check_feasible_nu(
    nu: float, upper: NDArray[np.float64], codes: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    """Check that nu is feasible for every pair of classes.

    The alphas of either class sum up to nu / 2 times the weight of both, which its own weight must
    allow.
    """
    weights = np.bincount(codes, weights=upper)
    light, heavy = weights.min(), weights.max()
    largest = 2.0 * light / (light + heavy)
    if nu > largest * (1.0 + 1e-12):
        few, many = (
            f"{shown(classes[k])} ({_size_of_class(upper, codes == k)})"
            for k in (weights.argmin(), weights.argmax())
        )
        raise ValueError(
            f"nu={nu:g} is infeasible: with classes as unequal as {few} and {many}, nu must be <= "
            f"{float(largest)!r}"
        )


def _size_of_class(upper: NDArray[np.float64], is_mine: NDArray[np.bool_]) -> str:
    """Return how many samples of a class count, or their weight where samples differ in it."""
    counting = upper[upper > 0.0]
    if counting.min() == counting.max():
        return counted(int(np.count_nonzero(upper[is_mine])), "sample")
    return f"weight {upper[is_mine].sum():g}"


def check_targets(y: Any, n_samples: int, owner: str) -> NDArray[np.float64]:
    """Return the targets of a regression as a 1-D array of finite float64 numbers.

    Raises ValueError if `y` is missing, not one real number for each sample, not finite, or so
    large that its square overflows.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    targets = _raveled(np.asarray(y), n_samples, "target")
    if targets.dtype.kind == "O":
        targets = real_array("y", targets)
    if targets.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold real numbers")
    if targets.dtype.kind not in "biuf":
        raise ValueError(f"y must hold real numbers, got dtype {targets.dtype}")
    targets = np.require(targets, np.float64, "C")
    if not np.isfinite(targets).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
    if np.abs(targets).max() > _LARGEST_TARGET:
        raise ValueError(
            f"y holds values as large as {np.abs(targets).max():.3g}, whose squares overflow; "
            f"scale the targets to at most {_LARGEST_TARGET:g}"
        )
    return targets
