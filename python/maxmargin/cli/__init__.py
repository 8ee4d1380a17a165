"""The command `maxmargin`: train and use support vector machines on LIBSVM-format files."""

from maxmargin.cli._main import main

__all__ = ["main"]
