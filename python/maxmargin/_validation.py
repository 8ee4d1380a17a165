"""The only judge of what users pass in: arrays, labels, weights and parameters.

Functions return what the C++ core takes, without a copy where the input has that form already, and
raise ValueError naming the argument, its value and what is allowed. Nothing is changed in place.
"""

from __future__ import annotations

import math
import numbers
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._sparse import CsrMatrix, Floats, Matrix, as_float, csr_of
from maxmargin.exceptions import DataConversionWarning, compatible

Gamma: TypeAlias = str | float
ClassWeight: TypeAlias = Mapping[Any, float] | str | None
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

_BLOCK_ELEMENTS = 1 << 16


# -- samples ---------------------------------------------------------------------------------------


def check_matrix(X: Any, owner: str) -> Matrix:
    """Return `X` in the form that the core takes.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        A C-contiguous float32 or float64 array and canonical CSR are not copied.
    owner : str
        The estimator's name, for messages.

    Raises
    ------
    ValueError
        If `X` is not a matrix of finite real numbers with at least one row and one column, or holds
        values whose squares overflow float64.
    """
    matrix: Matrix
    if hasattr(X, "tocsr"):
        matrix = csr_of(X)
    else:
        array = np.asarray(X)
        _check_dimensions(array, owner)
        matrix = as_float(array)
    _check_size(matrix.shape, owner)
    values = matrix.data if isinstance(matrix, CsrMatrix) else matrix
    _check_values(values, matrix, owner)
    return matrix


def _check_dimensions(array: NDArray[Any], owner: str) -> None:
    if array.ndim < 2:
        kind = "1D" if array.ndim == 1 else "scalar"
        raise ValueError(
            f"Expected 2D array, got {kind} array instead of shape {array.shape}. Reshape your "
            "data using X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a "
            "single sample"
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. {owner} expected <= 2.")


def _check_size(shape: tuple[int, ...], owner: str) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={tuple(shape)}) while a minimum of 1 is "
                f"required by {owner}."
            )


def _check_values(values: Floats, matrix: Matrix, owner: str) -> None:
    low, high = _extremes(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        has_nan = math.isnan(low)
        kind = "NaN" if has_nan else f"infinity or a value too large for {values.dtype}"
        raise ValueError(
            f"Input X contains {kind}. {owner} does not accept missing or infinite values; the "
            f"first is in {_first_non_finite(values, matrix)}"
        )
    largest = max(-low, high)
    # Squared distances are at most 4 d max|x|^2.
    if largest > math.sqrt(np.finfo(np.float64).max / (4.0 * matrix.shape[1])):
        raise ValueError(
            f"X holds values as large as {largest:.3g}: their squares overflow. Scale the data, "
            "for example every feature to [0, 1] or to unit variance"
        )


def _extremes(values: Floats) -> tuple[float, float]:
    """Return the least and the greatest element (0, 0 of none); NaN where there is one."""
    flat = values.reshape(-1)
    if flat.size == 0:
        return 0.0, 0.0
    parts = [flat[i : i + _BLOCK_ELEMENTS] for i in range(0, flat.size, _BLOCK_ELEMENTS)]
    with np.errstate(invalid="ignore"):
        lows = np.array([part.min() for part in parts])
        highs = np.array([part.max() for part in parts])
        return float(lows.min()), float(highs.max())


def _first_non_finite(values: Floats, matrix: Matrix) -> str:
    place = int(np.argmin(np.isfinite(values.reshape(-1))))
    if isinstance(matrix, CsrMatrix):
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        return f"row {row}, column {matrix.indices[place]}"
    row, column = divmod(place, matrix.shape[1])
    return f"row {row}, column {column}"


def feature_names(X: Any) -> NDArray[np.object_] | None:
    """Return the names of a data frame's columns if all are strings, else None."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def check_features(
    X: Any, n_features: int, owner: str, fitted_n: int, fitted_names: NDArray[np.object_] | None
) -> None:
    """Compare the features of `X` with those that the estimator was fitted on."""
    names = feature_names(X)
    if names is not None and fitted_names is None:
        warnings.warn(
            f"X has feature names, but {owner} was fitted without feature names", stacklevel=4
        )
    elif names is None and fitted_names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names",
            stacklevel=4,
        )
    elif names is not None and fitted_names is not None:
        _compare_names(list(names), list(fitted_names))
    if n_features != fitted_n:
        raise ValueError(
            f"X has {n_features} features, but {owner} is expecting {fitted_n} features as input"
        )


def _compare_names(names: list[str], fitted_names: list[str]) -> None:
    if names == fitted_names:
        return
    faults = []
    unseen = [name for name in names if name not in set(fitted_names)]
    missing = [name for name in fitted_names if name not in set(names)]
    for title, listed in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if listed:
            faults += [title, *(f"- {name}" for name in sorted(listed)[:5])]
            faults += ["- ..."] if len(listed) > 5 else []
    if not faults:
        faults = ["Feature names must be in the same order as they were in fit."]
    text = "\n".join(["The feature names should match those that were passed during fit.", *faults])
    raise ValueError(text + "\n")


# -- labels and weights ----------------------------------------------------------------------------


def check_labels(y: Any, n_samples: int, owner: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the class index of every sample and the sorted classes.

    Raises
    ------
    ValueError
        If `y` is missing, not one label for each sample, not discrete, holds NaN or one class only.
    """
    labels = column_of_labels(y, n_samples, owner)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"{owner} needs samples of at least two classes, but y holds only one class: "
            f"{classes[0]!r}"
        )
    return codes.astype(np.int64).reshape(-1), classes


def check_classes(classes: Any) -> NDArray[Any]:
    """Return the sorted classes, of which there must be at least two."""
    labels = np.asarray(classes)
    known = np.unique(column_of_labels(labels, len(labels) if labels.ndim else 0, "classes"))
    if len(known) < 2:
        raise ValueError(f"classes must hold at least two classes, got {known.tolist()}")
    return known


def check_known_labels(
    y: Any, n_samples: int, owner: str, classes: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the class index of every sample; every label must be one of the sorted `classes`."""
    labels = column_of_labels(y, n_samples, owner)
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {labels[unknown].tolist()[0]!r}, which is not in {classes.tolist()}"
        )
    return np.searchsorted(classes, labels).astype(np.int64)


def column_of_labels(y: Any, n_samples: int, owner: str) -> NDArray[Any]:
    """Return `y` as a 1-D array of discrete labels that can be sorted."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples,), for example using ravel().",
            compatible(DataConversionWarning),
            stacklevel=4,
        )
        labels = labels.reshape(-1)
    if labels.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(labels)} labels")
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


def _labels_of_objects(labels: NDArray[Any]) -> NDArray[Any]:
    if any(isinstance(label, str) for label in labels):
        raise ValueError("y mixes strings with labels of other types; labels must be comparable")
    numbers_only = np.array(labels.tolist())
    if numbers_only.dtype.kind == "O":
        raise ValueError("Unknown label type: unknown. y must hold numbers, booleans or strings")
    return numbers_only


def check_sample_weight(
    sample_weight: Any, n_samples: int, *, may_vanish: bool = False
) -> NDArray[np.float64]:
    """Return one finite weight >= 0 for each sample; ones for None.

    Raises
    ------
    ValueError
        If the weights are not numbers, not 1-D, of another length, NaN or infinite, negative, or
        all zero (unless they may); each with its own message.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from error
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
    class_weight: ClassWeight, classes: NDArray[Any], codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return one weight for each class.

    'balanced' gives n_samples / (n_classes * count of the class). Classes that a mapping leaves out
    weigh 1; a mapping that leaves out a class and names one that `y` does not hold is refused, as
    in scikit-learn, since that is most often a misspelt label.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return len(codes) / (len(classes) * np.bincount(codes, minlength=len(classes)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict of class weights, got "
            f"{class_weight!r}"
        )
    weights = np.ones(len(classes))
    unweighted = []
    for index, label in enumerate(classes.tolist()):
        if label in class_weight:
            weight = class_weight[label]
            if not _is_real(weight) or not math.isfinite(weight) or weight < 0:
                raise ValueError(
                    f"class_weight must map class {label!r} to a finite number >= 0, got {weight!r}"
                )
            weights[index] = weight
        else:
            unweighted.append(label)
    if unweighted and len(class_weight) > len(classes) - len(unweighted):
        raise ValueError(
            f"The classes, {unweighted}, are not in class_weight, which names "
            f"{list(class_weight)}; y holds {classes.tolist()}"
        )
    return weights


def upper_bounds(
    C: float,
    class_weights: NDArray[np.float64],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64],
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    """Return C_i = C * class weight * sample weight, the upper bound of every alpha_i.

    Raises
    ------
    ValueError
        If a bound overflows, or a class has no sample of positive weight.
    """
    with np.errstate(over="ignore"):
        upper: NDArray[np.float64] = C * class_weights[codes] * sample_weight
    if not np.isfinite(upper).all():
        raise ValueError(f"C={C} times class_weight and sample_weight overflows; reduce them")
    for index, label in enumerate(classes.tolist()):
        if not upper[codes == index].any():
            raise ValueError(
                f"class {label!r} has no weight: sample_weight or class_weight is zero for every "
                "sample of it"
            )
    return upper


# -- parameters ------------------------------------------------------------------------------------


def check_real(
    name: str, value: Any, *, above: float | None = None, at_least: float | None = None
) -> float:
    """Return `value` as a float; it must be a finite number > `above` or >= `at_least`."""
    allowed = "a finite number"
    if above is not None:
        allowed += f" > {above:g}"
    if at_least is not None:
        allowed += f" >= {at_least:g}"
    if (
        not _is_real(value)
        or not math.isfinite(value)
        or (above is not None and value <= above)
        or (at_least is not None and value < at_least)
    ):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return float(value)


def check_integer(name: str, value: Any, *, at_least: int, at_most: int = 2**31 - 1) -> int:
    """Return `value` as an int in [at_least, at_most]."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not at_least <= value <= at_most:
        limit = "" if at_most == 2**31 - 1 else f" and <= {at_most}"
        raise ValueError(f"{name} must be an integer >= {at_least}{limit}, got {value!r}")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_C(C: Any) -> float:  # noqa: N802
    """Return the penalty as a float > 0."""
    if _is_real(C) and math.isinf(C) and C > 0:
        raise ValueError(
            "C must be a finite number > 0, got inf: the hard margin is not available; use a "
            "large C"
        )
    return check_real("C", C, above=0)


def check_max_iter(max_iter: Any) -> int:
    """Return the cap on iterations; -1 is the solver's own."""
    return check_integer("max_iter", max_iter, at_least=-1, at_most=2**62)


def check_cache_size(cache_size: Any) -> int:
    """Return the size of the row cache, given in MB (2^20 bytes), in bytes."""
    megabytes = check_real("cache_size", cache_size, above=0)
    return max(1, int(min(megabytes * 2**20, 2.0**62)))


def check_time_limit(time_limit: Any) -> float:
    """Return the limit in seconds, infinity for None."""
    return math.inf if time_limit is None else check_real("time_limit", time_limit, above=0)


def check_seed(random_state: Any) -> int:
    """Return a seed of 64 bits: the given one, drawn from a given generator, or a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    is_integer = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not is_integer or not 0 <= random_state < 2**64:
        raise ValueError(
            "random_state must be None, an integer from 0 to 2^64 - 1, a numpy Generator or a "
            f"RandomState, got {random_state!r}"
        )
    return int(random_state)


def check_callback(callback: Any) -> Callback | None:
    """Return `callback`, which must be None or callable."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be None or a callable, got {callback!r}")
    return callback  # type: ignore[no-any-return]


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads for the core: 0 (OpenMP's default) for None, all for -1."""
    if n_jobs is None:
        return 0
    is_integer = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not is_integer or (n_jobs != -1 and n_jobs < 1):
        raise ValueError(f"n_jobs must be None, -1 or an integer >= 1, got {n_jobs!r}")
    return usable_cores() if n_jobs == -1 else int(min(n_jobs, 4096))


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_gamma(gamma: Any) -> Gamma:
    """Return `gamma`: 'scale', 'auto' or a float > 0."""
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        return gamma
    if not _is_real(gamma) or not math.isfinite(gamma) or gamma <= 0:
        raise ValueError(f"gamma must be 'scale', 'auto' or a finite number > 0, got {gamma!r}")
    return float(gamma)


def gamma_of(gamma: Gamma, X: Matrix) -> float:
    """Return the number that `gamma` stands for: 'scale' is 1 / (d Var(X)), 'auto' is 1 / d."""
    n_features: int = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    variance = _variance(X)
    result = 1.0 / (n_features * variance) if variance > 0 else 1.0
    if not math.isfinite(result) or result == 0.0:
        raise ValueError(
            f"gamma='scale' leaves the range of float64, since the variance of X is "
            f"{variance:.3g}: scale the data"
        )
    return result


def _variance(X: Matrix) -> float:
    """Return the variance of all elements in float64, 0 where it is within rounding of 0."""
    n_elements = X.shape[0] * X.shape[1]
    stored = X.data if isinstance(X, CsrMatrix) else X.reshape(-1)
    parts = [stored[i : i + _BLOCK_ELEMENTS] for i in range(0, stored.size, _BLOCK_ELEMENTS)]
    mean = sum(float(part.sum(dtype=np.float64)) for part in parts) / n_elements
    squares = [float(np.square(part.astype(np.float64, copy=False) - mean).sum()) for part in parts]
    n_zeros = n_elements - stored.size
    variance: float = (sum(squares) + n_zeros * mean * mean) / n_elements
    rounding = 8.0 * math.ulp(1.0) * abs(mean)
    return variance if variance > rounding * rounding else 0.0


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
