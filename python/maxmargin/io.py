"""Files: svmlight / LIBSVM data and LIBSVM models."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maxmargin import _core
from maxmargin._estimator.base import commit
from maxmargin._estimator.wording import shown
from maxmargin._input import check_flag, check_integer
from maxmargin._input.files import Source, Target, naming, read_bytes, writing
from maxmargin._input.sparse import CsrMatrix, Matrix, as_float, csr_of
from maxmargin.kernels._parameter import KernelParams
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm._model import TrainedMachine

__all__ = ["load_model", "load_svmlight", "save_model", "save_svmlight"]

ZeroBased: TypeAlias = bool | Literal["auto"]

_ROWS_PER_WRITE = 4096
_NUMBERS_PER_WRITE = 1 << 18  # between two of which Ctrl-C is noticed; 0.05 s
_LARGEST_EXACT_INTEGER = 2**53


def __dir__() -> list[str]:
    return sorted(__all__)


# -- data ------------------------------------------------------------------------------------------


def load_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: ZeroBased = "auto",
    query_id: bool = False,
    dense: bool = False,
    multilabel: bool = False,
) -> tuple[Any, ...]:
    """Read data in the svmlight / LIBSVM format.

    Every line is a sample: a label, optionally ``qid:number``, then ``index:value`` pairs whose
    indices ascend strictly, separated by blanks. ``#`` starts a comment; empty lines are skipped.
    The result does not depend on the locale.

    Parameters
    ----------
    source : str, path, binary file or bytes
        What to read. A str is a path. What begins like .gz, .bz2 or .xz is decompressed.
    n_features : int, default=None
        Number of columns. None: the largest index decides.
    dtype : {np.float64, np.float32}, default=np.float64
        Type of the values of X.
    zero_based : bool or 'auto', default='auto'
        Whether the first column has the index 0. 'auto' takes it to be 1 unless an index 0 occurs,
        so a file that counts from 0 and never fills its first column comes out one column to the
        left: say True for such a file.
    query_id : bool, default=False
        Whether to return the qid as well; then every sample must have one.
    dense : bool, default=False
        Whether to return X as an array instead of a sparse matrix.
    multilabel : bool, default=False
        Whether a sample has any number of labels, none too, joined by commas.

    Returns
    -------
    X : scipy.sparse.csr_matrix or ndarray of shape (n_samples, n_features)
        In canonical form. The indices are int32, or int64 where that is too small.
    y : ndarray of shape (n_samples,), float64
        With `multilabel` a list: of every sample the tuple of its labels, ascending.
    query_id : ndarray of shape (n_samples,), int64
        Only if asked for.

    Raises
    ------
    ValueError
        If the text is not of the format, with line number and token. NaN, infinity and numbers
        too large for `dtype` are refused; one too small for float64 is 0.
    ImportError
        If a sparse matrix is wanted and scipy is not installed.
    """
    if n_features is not None:
        n_features = check_integer("n_features", n_features, at_least=1, at_most=2**63 - 1)
    base = _check_zero_based(zero_based)
    check_flag("query_id", query_id)
    check_flag("multilabel", multilabel)
    value_type = _check_dtype(dtype)
    if not check_flag("dense", dense):
        _require_scipy()
    csr, labels, query_ids, ends = read_csr(source, base, n_features, query_id, multilabel)
    y = _split(labels, ends) if multilabel else labels
    with naming(source):
        csr = csr._replace(data=_as_type(csr.data, value_type))
    X = csr.to_dense() if dense else csr.to_scipy()
    return (X, y, query_ids) if query_id else (X, y)


def read_csr(
    source: Source,
    zero_based: bool | None = None,
    n_features: int | None = None,
    query_id: bool = False,
    multilabel: bool = False,
) -> tuple[CsrMatrix, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return samples, labels, qids and ends of labels of svmlight data, without scipy.

    `zero_based` None is `load_svmlight`'s 'auto'. Raises its ValueError.
    """
    with naming(source):
        data = read_bytes(source)
    with naming(source):
        X, labels, query_ids, label_ends = _core.read_svmlight(
            data, zero_based, n_features, query_id, multilabel
        )
    return CsrMatrix(*X), labels, query_ids, label_ends


def _split(labels: NDArray[np.float64], ends: NDArray[np.int64]) -> list[tuple[float, ...]]:
    """Return the labels of every sample, which end at `ends`."""
    begins, numbers = [0, *ends.tolist()], labels.tolist()
    return [tuple(numbers[begin:end]) for begin, end in zip(begins, ends.tolist(), strict=False)]


def save_svmlight(
    path: Target,
    X: Any,
    y: Any,
    *,
    zero_based: bool = False,
    comment: str | None = None,
    query_id: Any = None,
    multilabel: bool = False,
) -> None:
    """Write data in the svmlight / LIBSVM format.

    Zeros are left out. Numbers have as many digits as `load_svmlight` needs to return the same
    float64 values. The file appears whole or not at all: it is written under another name first.

    Parameters
    ----------
    path : str, path or binary file
        The file; one that exists is replaced. One that is open is written to.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,)
        Finite numbers; whole ones are written without a fraction. With `multilabel` a sequence
        with the labels of every sample, or an array or sparse matrix of shape
        (n_samples, n_labels), not zero where a sample has the label of that column.
    zero_based : bool, default=False
        Whether the first column has the index 0, as not every reader expects, or 1.
    comment : str, default=None
        Text for the head of the file; every line of it is put behind ``#``.
    query_id : array-like of shape (n_samples,), default=None
        Integers, written as ``qid:number``.
    multilabel : bool, default=False
        Whether a sample has any number of labels.

    Raises
    ------
    ValueError
        If `X` or `y` is not finite or not numeric, their lengths differ, or a sample has neither
        labels nor features.
    OSError
        If the file cannot be written.
    """
    check_flag("zero_based", zero_based)
    if comment is not None and not isinstance(comment, str):
        raise ValueError(f"comment must be a string or None, got {shown(comment)}")
    matrix: Matrix = csr_of(X) if hasattr(X, "tocsr") else as_float(np.asarray(X))
    n_rows = matrix.shape[0]
    labels, ends = _label_lists(y) if check_flag("multilabel", multilabel) else (y, None)
    labels = _numeric_labels(labels)
    query_ids = None if query_id is None else _query_ids(query_id)
    with writing(path) as file:
        for line in (comment or "").splitlines():
            file.write(f"# {line}\n".encode())
        n_numbers = len(matrix.data) if isinstance(matrix, CsrMatrix) else matrix.size
        step = max(1, min(_ROWS_PER_WRITE, _NUMBERS_PER_WRITE * n_rows // max(1, n_numbers)))
        for begin in range(0, max(1, n_rows), step):
            end = min(begin + step, n_rows)
            file.write(
                _core.write_svmlight(matrix, labels, begin, end, zero_based, ends, query_ids)
            )


def _check_zero_based(zero_based: ZeroBased) -> bool | None:
    if isinstance(zero_based, str) and zero_based == "auto":
        return None
    if not isinstance(zero_based, (bool, np.bool_)):
        raise ValueError(f"zero_based must be True, False or 'auto', got {shown(zero_based)}")
    return bool(zero_based)


def _check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    value_type = np.dtype(dtype)
    if value_type not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    return value_type


def _require_scipy() -> None:
    try:
        import scipy.sparse  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "sparse matrices need scipy; install it, or pass dense=True for an array"
        ) from error


def _as_type(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        converted = values.astype(dtype, copy=False)
    if not np.isfinite(converted).all():
        largest = np.abs(values).max()
        raise ValueError(f"the value {largest:g} is beyond the range of {dtype}")
    return converted


def _label_lists(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels of all samples, and where those of each end."""
    if hasattr(y, "tocsr"):
        y = y.toarray()
    if isinstance(y, np.ndarray) and y.dtype != object:
        if y.ndim != 2:
            raise ValueError(f"y must have two dimensions, got an array of shape {y.shape}")
        rows, labels = np.nonzero(y)
        return labels, np.cumsum(np.bincount(rows, minlength=len(y)), dtype=np.int64)
    lists = [np.unique(np.asarray(labels, dtype=np.float64)) for labels in y]
    ends = np.cumsum([len(labels) for labels in lists], dtype=np.int64)
    return np.concatenate([np.empty(0), *lists]), ends


def _query_ids(query_id: Any) -> NDArray[np.int64]:
    ids = np.asarray(query_id)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.max(initial=0) > 2**63 - 1:
        raise ValueError(f"query_id must hold integers, got {shown(query_id)}")
    return np.require(ids, np.int64, "C")


def _numeric_labels(y: Any) -> NDArray[np.float64]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got an array of shape {labels.shape}")
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"y must hold real numbers, got dtype {labels.dtype}")
    if labels.dtype.kind in "iu" and labels.size > 0:
        low, high = int(labels.min()), int(labels.max())
        if max(-low, high) > _LARGEST_EXACT_INTEGER:
            raise ValueError(
                f"labels must lie within +-2**53, which float64 holds exactly, got {low} to {high}"
            )
    return np.require(labels, np.float64, "C")


# -- models ----------------------------------------------------------------------------------------


def save_model(estimator: KernelMachine, path: Target) -> None:
    """Write a fitted support vector machine as a LIBSVM model file.

    LIBSVM's own programs read it. Unlike LIBSVM, every number has as many digits as it takes to
    load it again bit for bit. The file holds what predictions need: kernel, support vectors,
    coefficients and classes; not C, the certificate, or which training rows are support vectors
    (but for a precomputed kernel, whose support vectors are row numbers). It appears whole or not
    at all.

    The format holds only integer classes and no kernels that are callables; a pickle holds any
    estimator whole.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted; a classifier with classes that are whole numbers of at most 32 bits (also of type
        float or bool, which come back as integers).
    path : str, path or binary file
        The file; one that exists is replaced. One that is open is written to.

    Raises
    ------
    TypeError
        If `estimator` is not one of these.
    NotFittedError
        If it is not fitted.
    ValueError
        If its classes are not integers, or its kernel is a callable.
    OSError
        If the file cannot be written.
    """
    estimator_types = _estimator_types()
    if not isinstance(estimator, tuple(estimator_types.values())):
        names = ", ".join(kind.__name__ for kind in estimator_types.values())
        kind = type(estimator)
        hint = ""
        if isinstance(getattr(estimator, "steps", None), list):
            hint = "; the last step of a pipeline is model[-1], and the file holds no other"
        elif hasattr(estimator, "best_estimator_"):
            hint = "; what a search has found is its best_estimator_"
        raise TypeError(
            f"estimator must be one of maxmargin's {names}, got "
            f"{kind.__module__}.{kind.__name__}{hint}"
        )
    model = model_of(estimator)
    if model.kernel.function is not None:
        raise ValueError(
            "LIBSVM's model format does not know kernels that are callables or composed; pickle "
            "the estimator"
        )
    text = model.core.to_libsvm(None if model.classes is None else _integer_classes(model.classes))
    with writing(path) as file:
        file.write(text)


_FEATURE_HINT = "; a model file does not hold their number: pass n_features to load_model"


def load_model(
    source: Source, *, n_features: int | None = None, zero_based: ZeroBased = "auto"
) -> Any:
    """Read a LIBSVM model file.

    LIBSVM lists the classes in the order in which it met them; here they are put in ascending
    order. Decision values stay the same, up to the sign of a pair of classes that changed places,
    and where one-vs-one votes tie the class that LIBSVM lists first wins, as there.

    Parameters
    ----------
    source : str, path, binary file or bytes
        What to read. A str is a path.
    n_features : int, default=None
        Number of features (of a precomputed kernel, of training samples), which the format does not
        hold. None: the largest index of a support vector decides, and 1 where there is no support
        vector.
    zero_based : bool or 'auto', default='auto'
        Whether the first feature has the index 0; see `load_svmlight`.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted. Its support vectors are sparse if fewer than a tenth of their entries are not zero.
        Where that is how they were when saved, it predicts the same to the last bit, otherwise
        within rounding. The parameters that the file does not hold (C, loss, nu, epsilon, tol
        ..) have their defaults, so set them before `fit` is called again; `certificate_`,
        `support_`, `n_iter_` and other attributes that it does not hold raise AttributeError.

    Raises
    ------
    ValueError
        If the text is not a whole LIBSVM model, with line number.
    """
    if n_features is not None:
        n_features = check_integer("n_features", n_features, at_least=1, at_most=2**63 - 1)
    base = _check_zero_based(zero_based)
    with naming(source):
        data = read_bytes(source)
    with naming(source):
        core = _core.KernelModel.from_libsvm(data, base, n_features)
    kernel = KernelParams(
        *(core.kernel.type, core.kernel.gamma, core.kernel.coef0, core.kernel.degree)
    )
    estimator = _estimator_types()[core.type]()
    # A linear model may come with any gamma.
    gamma = kernel.gamma if kernel.gamma > 0 else "scale"
    estimator.set_params(kernel=kernel.type, degree=kernel.degree, gamma=gamma, coef0=kernel.coef0)
    if core.is_calibrated:
        estimator.set_params(probability=True)
    model = TrainedMachine(
        core,
        kernel,
        core.n_features,
        classes=core.labels.astype(np.int64) if core.labels.size > 0 else None,
        feature_hint=_FEATURE_HINT if n_features is None else "",
    )
    model.check()
    commit(estimator, model)
    return estimator


def _estimator_types() -> dict[str, type[KernelMachine]]:
    """Return the estimators by the names of their formulations in LIBSVM's files."""
    from maxmargin.svm.classification import SVC, NuSVC
    from maxmargin.svm.one_class import OneClassSVM
    from maxmargin.svm.regression import SVR, NuSVR

    return {kind._svm_type: kind for kind in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}


def _integer_classes(classes: NDArray[Any]) -> NDArray[np.float64]:
    if classes.dtype.kind not in "biuf" or not (classes == np.floor(classes)).all():
        raise ValueError(
            "LIBSVM's model format holds only integer classes, got "
            f"{shown(classes.tolist())}; encode the labels as integers before fit, or pickle the "
            "estimator"
        )
    return np.require(classes, np.float64, "C")
