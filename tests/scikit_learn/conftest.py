"""What the tests of the patch share."""

from __future__ import annotations

import pytest

from maxmargin import sklearn_patched
from maxmargin.patch import _stand_ins


@pytest.fixture
def patched():
    """Patch scikit-learn for the test."""
    with sklearn_patched():
        yield


@pytest.fixture
def reasons(monkeypatch):
    """The reasons why calls fall through, as they do."""
    found = []
    monkeypatch.setattr(_stand_ins, "write", found.append)
    return found
