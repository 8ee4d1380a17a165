"""Names that modules had in version 0.1.0, which its pickles ask for."""

from __future__ import annotations

import sys

NOW = {
    "kernel_perceptron": "online.kernel_perceptron",
    "linear_cv": "linear.cv",
    "linear_regression": "linear.regression",
    "one_class": "svm.one_class",
    "perceptron": "online.perceptron",
    "regression": "svm.regression",
    "sgd": "online.sgd",
    "_certificate": "_estimator.certificate",
    "_kernel": "kernels._parameter",
    "_sparse": "_input.sparse",
}


def keep_names() -> None:
    """Let imports find the modules by those names too."""
    for former, now in NOW.items():
        sys.modules[f"maxmargin.{former}"] = sys.modules[f"maxmargin.{now}"]
