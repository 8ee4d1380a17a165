"""Fixtures that several test files share."""

from __future__ import annotations

import locale
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

from support.repository import ROOT

# How long an example takes is the machine's affair.
settings.register_profile("no_deadline", settings.default, deadline=None)
settings.load_profile("no_deadline")


def data_folder() -> Path:
    """The folder of the large data sets: MAXMARGIN_DATA, or shared/data next to the repository."""
    return Path(os.environ.get("MAXMARGIN_DATA", ROOT.parent / "shared" / "data"))


def _load(name: str) -> SimpleNamespace:
    path = data_folder() / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs the data set {name} in {data_folder()} (or set MAXMARGIN_DATA)")
    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    data = SimpleNamespace(name=name, y=arrays["y"], X_test=None, y_test=arrays.get("y_test"))
    for part in ("", "_test"):
        if f"X{part}" in arrays:
            setattr(data, f"X{part}", arrays[f"X{part}"])
        elif f"data{part}" in arrays:
            csr = tuple(arrays[f"{key}{part}"] for key in ("data", "indices", "indptr"))
            setattr(data, f"X{part}", sp.csr_matrix(csr, shape=tuple(arrays[f"shape{part}"])))
    return data


def pytest_configure() -> None:
    # A shell starts what runs in the background with Ctrl-C ignored, and children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # LIBSVM's threads would otherwise spin between its loops, and take the processors from others.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], SimpleNamespace]:
    """Return a function from a data set's name to X, y, X_test and y_test; it skips the test where
    the file is absent. Tests that use it are marked slow."""
    return _load


@pytest.fixture
def decimal_comma() -> Iterator[None]:
    """A locale whose numbers have a decimal comma; skips the test where there is none."""
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "de_DE"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma")
    yield
    locale.setlocale(locale.LC_NUMERIC, before)
