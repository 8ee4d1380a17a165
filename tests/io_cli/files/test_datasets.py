"""The data set that comes with the package."""

from __future__ import annotations

import numpy as np

from maxmargin.datasets import load_digits


def test_digits_are_the_published_ones():
    from sklearn.datasets import load_digits as test_part_of_scikit_learn

    digits, theirs = load_digits(), test_part_of_scikit_learn()
    np.testing.assert_array_equal(digits.X_test * 16, theirs.data)
    np.testing.assert_array_equal(digits.y_test, theirs.target)
    assert digits.X_train.shape == (3823, 64)
    assert digits.X_train.dtype == np.float32
    assert repr(digits).startswith("Digits(X_train=(3823, 64), y_train=(3823,), X_test=(1797, 64),")
    assert len(repr(digits)) < 200
    # Counts of the published training part.
    assert np.bincount(digits.y_train).tolist() == [
        376, 389, 380, 389, 387, 376, 377, 387, 380, 382,
    ]  # fmt: skip
