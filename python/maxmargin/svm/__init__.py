"""Kernel machines: classification, regression, novelty detection."""

from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.cv import SVCCV
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR, QuantileSVR

__all__ = ["SVC", "SVCCV", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "QuantileSVR"]
