"""The model that the training of linear machines returns: predictions, pickles, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, LinearSVR, Perceptron, _core
from maxmargin._input.sparse import CsrMatrix

X = np.random.default_rng(0).normal(size=(300, 5))
CODES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVR(), Perceptron(tol=0.0)], ids=repr)
def test_it_predicts_what_the_estimator_does(estimator, n_classes, dtype, n_threads):
    samples = X.astype(dtype)
    model = estimator.fit(samples, np.minimum(CODES, n_classes - 1))
    core = model._model.core
    values = getattr(model, "decision_function", model.predict)(samples)
    csr = sp.csr_matrix(samples)
    for matrix in (samples, CsrMatrix(csr.data, csr.indices, csr.indptr, 5)):
        found = core.decision_values(matrix, n_threads)
        np.testing.assert_allclose(np.squeeze(found), values, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(core.predict(matrix, n_threads), model.predict(samples), 1e-12)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(core, protocol))
        assert again.coef.tobytes() == core.coef.tobytes()
        assert again.predict(samples).tobytes() == core.predict(samples).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": np.ones((2, 5))}, "coef must have a row for every element of intercept"),
        ({"coef": np.ones(5)}, "coef must have a row for every element of intercept"),
        ({"coef": np.full((3, 5), np.inf)}, "coef holds a number that is not finite"),
        ({"intercept": np.full(3, np.nan)}, "intercept holds a number that is not finite"),
        ({"n_classes": 0}, "intercept must have an element for every function"),
        ({"n_classes": 1}, "n_classes must be 0 or at least 2"),
        ({"n_classes": 4}, "intercept must have an element for every function"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change, message):
    parts = {"coef": np.ones((3, 5)), "intercept": np.ones(3), "n_classes": 3}
    with pytest.raises(ValueError, match=message):
        _core.LinearModel(**{**parts, **change})


def test_samples_of_other_features_are_refused():
    model = _core.LinearModel(np.ones((1, 5)), np.ones(1))
    with pytest.raises(ValueError, match="X must have the features of the model"):
        model.predict(X[:, :4].copy())
