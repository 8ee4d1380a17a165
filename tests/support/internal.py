"""The inside of the core, which builds with MAXMARGIN_TESTING bind; others skip the tests of it."""

from __future__ import annotations

import pytest

internal = pytest.importorskip(
    "maxmargin._core_internal", reason="needs a build with MAXMARGIN_TESTING"
)
