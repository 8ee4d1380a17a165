"""What the command `maxmargin` does first and last: choice of the command, errors, exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from maxmargin import __version__
from maxmargin.cli import _train_predict
from maxmargin.cli._grid import GRID
from maxmargin.cli._svm_predict import SVM_PREDICT
from maxmargin.cli._svm_scale import SVM_SCALE
from maxmargin.cli._svm_train import SVM_TRAIN

EXIT_OK, EXIT_FAILURE, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130

# The commands that take LIBSVM's flags, and exit with 1 after any error as LIBSVM's do.
_FLAG_COMMANDS = {command.name: command for command in (SVM_TRAIN, SVM_PREDICT, SVM_SCALE, GRID)}

_DESCRIPTION = "Train support vector machines, with a certificate of optimality, and predict."
_EXAMPLE = """\
example:
  maxmargin demo
  maxmargin train heart_scale -o heart.model --kernel rbf --C 1 --gamma 0.05
  maxmargin predict heart.model heart_scale -o labels.txt

svm-train, svm-predict, svm-scale and grid take the flags of LIBSVM's programs of these names.

Data and model files are LIBSVM's: a line of data is `label index:value index:value ..` with indices
from 1 that ascend. Exit codes: 0 success, 1 failure, 2 wrong usage or input, 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in _FLAG_COMMANDS:
        command = _FLAG_COMMANDS[words[0]]
        return _exit_code(lambda: command(words[1:]), bad_input=EXIT_FAILURE)
    parser = _parser()
    options, unknown = parser.parse_known_args(words)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.run is None:
        parser.print_help(sys.stderr)
        return EXIT_BAD_INPUT
    return _exit_code(lambda: options.run(options), bad_input=EXIT_BAD_INPUT)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="maxmargin",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    parser.set_defaults(run=None, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _train_predict.add_commands(commands)
    for name, command in _FLAG_COMMANDS.items():
        commands.add_parser(name, help=command.summary)  # for the list alone
    return parser


def _exit_code(run: Callable[[], None], bad_input: int) -> int:
    """Run a command; what it raises becomes a line on stderr and an exit code."""
    try:
        run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("maxmargin: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has gone; keep the interpreter from failing again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except OSError as error:
        print(f"maxmargin: error: {_reason(error)}", file=sys.stderr)
        return bad_input
    except (ValueError, ImportError) as error:
        print(f"maxmargin: error: {error}", file=sys.stderr)
        return bad_input
    except Exception as error:
        print(f"maxmargin: {type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    return EXIT_OK


def _reason(error: OSError) -> str:
    """Return "FILE: what is wrong with it", without the number of the error."""
    if error.filename is None or error.strerror is None:
        return str(error)
    is_missing = error.strerror == os.strerror(errno.ENOENT)
    reason = "no such file" if is_missing else error.strerror
    return f"{error.filename}: {reason[:1].lower()}{reason[1:]}"
