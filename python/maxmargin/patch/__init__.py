"""maxmargin's estimators in the place of scikit-learn's, for code that imports those.

    import maxmargin
    maxmargin.patch_sklearn()
    from sklearn.svm import SVC  # trains with maxmargin

or, without touching the code, ``python -m maxmargin.patch script.py``. The classes keep
scikit-learn's signatures, attributes and conventions, and derive from the classes that they stand
for; what maxmargin does not do falls through to those, one `fit` at a time. `docs/scikit-learn.md`
lists which combinations of parameters do.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from maxmargin.patch import _report

__all__ = ["REPLACED", "patch_sklearn", "sklearn_patched", "unpatch_sklearn"]

# The module of every class that is replaced; the class that takes its place has the same name in
# `maxmargin.patch._classes`.
REPLACED = {
    "SVC": "sklearn.svm",
    "NuSVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "NuSVR": "sklearn.svm",
    "OneClassSVM": "sklearn.svm",
    "LinearSVC": "sklearn.svm",
    "LinearSVR": "sklearn.svm",
    "Perceptron": "sklearn.linear_model",
}

# scikit-learn's own classes, while others stand in their place.
_originals: dict[str, Any] = {}


def patch_sklearn(names: Iterable[str] | None = None, *, verbose: bool = False) -> None:
    """Put maxmargin's estimators in the place of scikit-learn's.

    It holds for what is imported from `sklearn.svm` and `sklearn.linear_model` afterwards: a name
    that a module has imported before stays scikit-learn's.

    Parameters
    ----------
    names : iterable of str, default=None
        Classes to replace, keys of `maxmargin.patch.REPLACED`; None is all of them.
    verbose : bool, default=False
        Whether to write to stderr what is replaced and, for every `fit` that falls through to
        scikit-learn, why.

    Raises
    ------
    ValueError
        If a class of that name cannot be replaced; then none is.
    ImportError
        If scikit-learn is not installed.
    """
    wanted = list(REPLACED) if names is None else list(names)
    for name in wanted:
        if name not in REPLACED:
            raise ValueError(f"names must hold some of {list(REPLACED)}, got {name!r}")
    replacements = importlib.import_module("maxmargin.patch._classes")
    for name in wanted:
        module = importlib.import_module(REPLACED[name])
        _originals.setdefault(name, getattr(module, name))
        setattr(module, name, getattr(replacements, name))
    _report.is_verbose = verbose
    _report.write(f"in the place of scikit-learn's: {', '.join(wanted)}")


def unpatch_sklearn() -> None:
    """Put scikit-learn's own estimators back; objects made meanwhile stay what they are."""
    for name, original in _originals.items():
        setattr(importlib.import_module(REPLACED[name]), name, original)
    _originals.clear()


@contextmanager
def sklearn_patched(names: Iterable[str] | None = None, *, verbose: bool = False) -> Iterator[None]:
    """Run a block with maxmargin's estimators in the place of scikit-learn's.

    Parameters and errors are those of `patch_sklearn`. Afterwards everything is as it was before,
    patched or not.
    """
    before, was_verbose = list(_originals), _report.is_verbose
    patch_sklearn(names, verbose=verbose)
    try:
        yield
    finally:
        unpatch_sklearn()
        if before:
            patch_sklearn(before)
        _report.is_verbose = was_verbose
