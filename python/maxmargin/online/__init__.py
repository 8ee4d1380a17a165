"""Estimators that learn a sample at a time: perceptrons and subgradient training."""

from maxmargin.online.kernel_perceptron import KernelPerceptron
from maxmargin.online.perceptron import Perceptron
from maxmargin.online.sgd import SGDClassifier

__all__ = ["KernelPerceptron", "Perceptron", "SGDClassifier"]
