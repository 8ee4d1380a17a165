"""Linear machines: classification, its choice of C, regression."""

from maxmargin.linear.classification import LinearSVC
from maxmargin.linear.cv import LinearSVCCV
from maxmargin.linear.regression import LinearSVR

__all__ = ["LinearSVC", "LinearSVCCV", "LinearSVR"]
