"""Large-margin classifiers on a CPU, with a certificate of optimality on every fit."""

from maxmargin._core import __version__

__all__ = ["__version__"]
