"""maxmargin's solvers inside scikit-learn's estimators, for code that imports those.

    import maxmargin
    maxmargin.patch_sklearn()
    from sklearn.svm import SVC  # trains with maxmargin

or, without touching the code, ``python -m maxmargin.patch script.py``. The classes are
scikit-learn's own and stay what they are: only the functions of LIBSVM and LIBLINEAR, and the loop
of the perceptron, that their methods call have others in their place. What maxmargin does not do
falls through to scikit-learn's, one call at a time. `docs/scikit-learn.md` lists which combinations
of parameters do.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from maxmargin.patch import _stand_ins

__all__ = ["PATCHED", "patch_sklearn", "sklearn_patched", "unpatch_sklearn"]

# The classes whose training and predictions can be maxmargin's.
PATCHED = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "Perceptron")

# The functions that the stand-ins have replaced, with their modules and names.
_originals: list[tuple[Any, str, Any]] = []


def patch_sklearn(names: Iterable[str] | None = None, *, verbose: bool = False) -> None:
    """Let scikit-learn's estimators train and predict with maxmargin.

    The classes stay the same objects, so that it holds wherever they were imported, before or
    afterwards, and for their subclasses.

    Parameters
    ----------
    names : iterable of str, default=None
        Classes to patch, names in `maxmargin.patch.PATCHED`; None is all of them.
    verbose : bool, default=False
        Whether to write to stderr what is patched and, for every call that falls through to
        scikit-learn, why.

    Raises
    ------
    ValueError
        If a class of that name cannot be patched; then none is.
    ImportError
        If scikit-learn is not installed.
    """
    wanted = list(PATCHED) if names is None else list(names)
    for name in wanted:
        if name not in PATCHED:
            raise ValueError(f"names must hold some of {list(PATCHED)}, got {name!r}")
    if not _originals:
        modules = (f"maxmargin.patch.{name}" for name in ("_kernel_machines", "_linear_machines"))
        stand_ins = [one for name in modules for one in importlib.import_module(name).STAND_INS]
        # All are looked up before one is replaced: scikit-learn may have moved some.
        _originals[:] = [(one.module, one.name, getattr(one.module, one.name)) for one in stand_ins]
        for stand_in, (module, name, original) in zip(stand_ins, _originals, strict=True):
            setattr(module, name, stand_in.in_place_of(original))
    _stand_ins.active.update(wanted)
    _stand_ins.is_verbose = verbose
    _stand_ins.write(f"acts in scikit-learn's estimators: {', '.join(wanted)}")


def unpatch_sklearn() -> None:
    """Let scikit-learn's estimators use its own solvers again; fitted models stay what they are."""
    for module, name, original in _originals:
        setattr(module, name, original)
    _originals.clear()
    _stand_ins.active.clear()


@contextmanager
def sklearn_patched(names: Iterable[str] | None = None, *, verbose: bool = False) -> Iterator[None]:
    """Run a block with scikit-learn's estimators patched.

    Parameters and errors are those of `patch_sklearn`. Afterwards everything is as it was before,
    patched or not.
    """
    before, was_verbose = set(_stand_ins.active), _stand_ins.is_verbose
    patch_sklearn(names, verbose=verbose)
    try:
        yield
    finally:
        unpatch_sklearn()
        _stand_ins.is_verbose = False
        if before:
            patch_sklearn(before)
        _stand_ins.is_verbose = was_verbose
