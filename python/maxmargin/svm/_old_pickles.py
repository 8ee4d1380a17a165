"""Pickles of kernel machines that hold the parts of the model as attributes of the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.svm._model import TrainedMachine


def converted(state: dict[str, Any], svm_type: str) -> tuple[dict[str, Any], TrainedMachine]:
    """Return such a state without those attributes, and the machine that they are of."""
    state = dict(state)

    def take(name: str, default: Any = None) -> Any:
        return state.pop(name, default)

    kernel, vectors, dual_coef = (
        take("_kernel_params"),
        take("_support_vectors"),
        take("_dual_coef"),
    )
    n_features, matrix_support = take("n_features_in_"), take("_matrix_support")
    of_core, n_of_core = vectors, n_features
    if kernel.is_given:
        columns = matrix_support
        if kernel.type == "callable":
            columns = np.arange(dual_coef.shape[1])
            n_of_core = len(columns)
        of_core = (columns[:, np.newaxis] + 1).astype(np.float64)
    equivalent = take("C_", take("epsilon_"))
    core = _core.KernelModel(
        svm_type,
        kernel.to_core(vectors),
        n_of_core,
        of_core,
        dual_coef,
        take("_rho"),
        n_support=take("_n_support"),
        vote_order=take("_vote_order"),
        support=take("support_"),
        equivalent=None if equivalent is None else np.atleast_1d(equivalent),
        sigmoids=take("_sigmoids"),
        noise_scale=take("_noise_scale"),
    )
    for name in ("fit_status_", "n_iter_", "_cache"):
        take(name)
    model = TrainedMachine(
        core,
        kernel,
        n_features,
        feature_names=take("feature_names_in_"),
        classes=take("classes_"),
        certificate=take("certificate_"),
        class_weight=take("class_weight_"),
        shape_fit=take("shape_fit_"),
        vectors=vectors if kernel.type == "callable" else None,
        feature_hint=take("_feature_hint", ""),
    )
    return state, model
