"""Large-margin classifiers on a CPU, with a certificate of optimality on every fit.

With the estimators come `maxmargin.kernels` (kernels as objects), `maxmargin.diagnostics` (margins,
bounds, certificates recomputed), `maxmargin.plotting` (pictures, with matplotlib), `maxmargin.io`
(LIBSVM's data and model files) and `maxmargin.datasets`; all but the first are imported when they
are first used.
"""

from typing import TYPE_CHECKING

from maxmargin import kernels
from maxmargin._certificate import Certificate, LinearCertificate
from maxmargin._core import __version__
from maxmargin._threadpool import register_controller
from maxmargin.config import show_config
from maxmargin.exceptions import Cancelled, ConvergenceWarning, NotFittedError
from maxmargin.kernel_perceptron import KernelPerceptron
from maxmargin.linear import LinearSVC
from maxmargin.linear_cv import LinearSVCCV
from maxmargin.linear_regression import LinearSVR
from maxmargin.one_class import OneClassSVM
from maxmargin.patch import patch_sklearn, sklearn_patched, unpatch_sklearn
from maxmargin.perceptron import Perceptron
from maxmargin.regression import SVR, NuSVR
from maxmargin.sgd import SGDClassifier
from maxmargin.svm import SVC, NuSVC

__all__ = [
    "SVC",
    "SVR",
    "Cancelled",
    "Certificate",
    "ConvergenceWarning",
    "KernelPerceptron",
    "LinearCertificate",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "NotFittedError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "SGDClassifier",
    "__version__",
    "datasets",
    "diagnostics",
    "io",
    "kernels",
    "patch_sklearn",
    "plotting",
    "show_config",
    "sklearn_patched",
    "unpatch_sklearn",
]

register_controller()

if TYPE_CHECKING:
    from maxmargin import datasets, diagnostics, io, plotting
else:

    def __getattr__(name: str) -> object:
        if name not in ("datasets", "diagnostics", "io", "plotting"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
