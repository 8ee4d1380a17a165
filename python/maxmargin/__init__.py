"""Large-margin classifiers on a CPU, with a certificate of optimality on every fit.

With the estimators come `maxmargin.kernels` (kernels as objects), `maxmargin.diagnostics` (margins,
bounds, certificates recomputed), `maxmargin.plotting` (pictures, with matplotlib), `maxmargin.io`
(LIBSVM's data and model files) and `maxmargin.datasets`; all but the first are imported when they
are first used.
"""

from typing import TYPE_CHECKING

from maxmargin import kernels
from maxmargin._core import __version__
from maxmargin._estimator.certificate import Certificate, LinearCertificate
from maxmargin._estimator.former_modules import keep_names
from maxmargin._threadpool import register_controller
from maxmargin.config import get_cmake_dir, get_include, get_library, show_config
from maxmargin.exceptions import Cancelled, ConvergenceWarning, NotFittedError
from maxmargin.linear.classification import LinearSVC
from maxmargin.linear.cv import LinearSVCCV
from maxmargin.linear.regression import LinearSVR
from maxmargin.online.kernel_perceptron import KernelPerceptron
from maxmargin.online.perceptron import Perceptron
from maxmargin.online.sgd import SGDClassifier
from maxmargin.patch import patch_sklearn, sklearn_patched, unpatch_sklearn
from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.cv import SVCCV
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR, QuantileSVR

__all__ = [
    "SVC",
    "SVCCV",
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
    "QuantileSVR",
    "SGDClassifier",
    "__version__",
    "datasets",
    "diagnostics",
    "get_cmake_dir",
    "get_include",
    "get_library",
    "io",
    "kernels",
    "patch_sklearn",
    "plotting",
    "show_config",
    "sklearn_patched",
    "unpatch_sklearn",
]

keep_names()
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
