"""A trained machine as the arrays that scikit-learn's estimators keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from maxmargin._input.sparse import CsrMatrix
from maxmargin.svm._model import TrainedMachine


def machine_arrays(model: TrainedMachine) -> dict[str, Any]:
    """Return copies of the parts under the names of scikit-learn's attributes, in its types.

    The signs are LIBSVM's, as those of scikit-learn's private attributes are.
    """
    core, certificate = model.core, model.certificate
    n_vectors = model.n_support_vectors
    # The machines of regression and of one class count as two classes there.
    n_support = core.n_support if model.classes is not None else [n_vectors, n_vectors]
    support = core.support if len(core.support) > 0 else np.arange(n_vectors)
    n_iter = np.zeros(core.n_machines)
    if certificate is not None:
        n_iter[:] = [machine.n_iter for machine in certificate.machines or (certificate,)]
    sigmoids = np.array(core.sigmoids).reshape(2, -1)
    vectors: Any = model.support_vectors
    if model.kernel.is_given:
        vectors = np.empty((0, 0))
    elif isinstance(vectors, CsrMatrix):
        parts = (vectors.indices.astype(np.int32), vectors.indptr.astype(np.int32))
        vectors = csr_matrix((np.array(vectors.data, np.float64), *parts), shape=vectors.shape)
    else:
        vectors = np.array(vectors, np.float64, order="C")
    return {
        "support_": np.array(support, np.int32),
        "support_vectors_": vectors,
        "_n_support": np.array(n_support, np.int32),
        "_dual_coef_": np.array(core.dual_coef),
        "_intercept_": -core.rho,
        "_probA": sigmoids[0].copy(),
        "_probB": sigmoids[1].copy(),
        "_num_iter": n_iter.astype(np.int32),
    }
