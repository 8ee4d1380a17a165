"""The fuzz itself: what fails is made small."""

from __future__ import annotations

import numpy as np

from fuzz import cases


def test_a_failing_case_is_made_small() -> None:
    case = cases.draw(np.random.default_rng(1), "SVC", tame=True)
    assert len(case.X) > 3

    def fails(case: cases.Case) -> bool:
        return len(case.X) >= 3 and "C" in case.params

    small = cases.shrunk(case, fails)
    assert small.X.shape == (3, 1)
    assert list(small.params) == ["C"]
    namespace = {"np": np, "Case": cases.Case}
    exec(small.text(), namespace)
    np.testing.assert_array_equal(namespace["case"].X, small.X)
