"""The command `maxmargin`: train and use C-SVC models on LIBSVM-format files."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import __version__, config
from maxmargin._kernel import KERNELS
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.svm import SVC

EXIT_OK, EXIT_FAILURE, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130

_DESCRIPTION = "Train support vector machines, with a certificate of optimality, and predict."
_EXAMPLE = """\
example:
  maxmargin demo
  maxmargin train heart_scale -o heart.model --kernel rbf --C 1 --gamma 0.05
  maxmargin predict heart.model heart_scale -o labels.txt

Data and model files are LIBSVM's: a line of data is `label index:value index:value ..` with indices
from 1 that ascend. Exit codes: 0 success, 1 failure, 2 wrong usage or input, 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("maxmargin: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has gone; keep the interpreter from failing again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except (ValueError, OSError) as error:
        print(f"maxmargin: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except Exception as error:
        print(f"maxmargin: {type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="maxmargin",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo", help="train on the handwritten digits that ship with the package, and report"
    )
    demo.add_argument("--threads", type=int, metavar="N", help="threads (default: OpenMP's)")
    demo.set_defaults(run=_demo)

    train = commands.add_parser("train", help="train a C-SVC on a data file and write the model")
    _add_training_arguments(train)
    train.set_defaults(run=_train)

    predict = commands.add_parser("predict", help="predict the labels of a data file")
    predict.add_argument("model", metavar="MODEL", help="a C-SVC model file, ours or LIBSVM's")
    predict.add_argument("data", metavar="DATA", help="data; its labels are compared")
    predict.add_argument("-o", "--output", metavar="OUT", help="file for labels (default: stdout)")
    predict.add_argument("--threads", type=int, metavar="N", help="threads (default: OpenMP's)")
    predict.set_defaults(run=_predict)

    info = commands.add_parser("info", help="show version, compiler, SIMD targets and threads")
    info.set_defaults(run=_info)
    return parser


def _add_training_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="training data in LIBSVM format")
    add("-o", "--output", metavar="MODEL", help="model file (default: DATA's name + .model)")
    add("--kernel", choices=KERNELS, default="rbf", help="kernel (default: rbf)")
    add("--C", type=float, default=1.0, help="penalty of the loss, > 0 (default: 1)")
    add(
        "--gamma",
        type=_gamma,
        default="scale",
        help="of poly, rbf and sigmoid: a number > 0, 'scale' for 1/(features * variance), or "
        "'auto' for 1/features (default: scale)",
    )
    add("--degree", type=int, default=3, help="degree of poly (default: 3)")
    add("--coef0", type=float, default=0.0, help="constant of poly and sigmoid (default: 0)")
    add("--tol", type=float, default=1e-3, help="tolerance on the KKT violation (default: 0.001)")
    add("--cache-size", type=float, default=200, metavar="MB", help="kernel cache (default: 200)")
    add(
        "--max-iter", type=int, default=-1, help="cap on iterations (default: -1, the solver's own)"
    )
    add(
        "--class-weight",
        action="append",
        metavar="LABEL:WEIGHT",
        help="factor of C for the class LABEL, repeatable; or 'balanced' (default: all 1)",
    )
    add("--threads", type=int, metavar="N", help="threads (default: OpenMP's)")
    add("-q", "--quiet", action="store_true", help="print errors and warnings only")


def _gamma(text: str) -> str | float:
    return text if text in ("scale", "auto") else float(text)


def _class_weight(texts: list[str] | None) -> dict[float, float] | str | None:
    if texts is None:
        return None
    if texts == ["balanced"]:
        return "balanced"
    weights = {}
    for text in texts:
        label, _, weight = text.rpartition(":")
        try:
            weights[float(label)] = float(weight)
        except ValueError:
            raise ValueError(
                f"--class-weight must be LABEL:WEIGHT (two numbers) or balanced, got {text!r}"
            ) from None
    return weights


def _demo(options: argparse.Namespace) -> None:
    from maxmargin.datasets import load_digits

    digits = load_digits()
    print(f"data              {digits.source}")
    print(f"training part     {_shape(digits.X_train)}, 10 classes")
    model = SVC(C=10.0, n_jobs=options.threads, verbose=True)
    with _plain_warnings():
        model.fit(digits.X_train, digits.y_train)
    start = time.perf_counter()
    accuracy = model.score(digits.X_test, digits.y_test)
    seconds = time.perf_counter() - start
    _report(model)
    print(f"test part         {_shape(digits.X_test)}, predicted in {seconds:.3f} s")
    print(f"test accuracy     {accuracy:.4f}")
    _report_machine(options.threads)


def _train(options: argparse.Namespace) -> None:
    from maxmargin import io

    model = SVC(
        C=options.C,
        kernel=options.kernel,
        gamma=options.gamma,
        degree=options.degree,
        coef0=options.coef0,
        tol=options.tol,
        cache_size=options.cache_size,
        max_iter=options.max_iter,
        class_weight=_class_weight(options.class_weight),
        n_jobs=options.threads,
        verbose=not options.quiet,
    )
    output = options.output or f"{Path(options.data).name}.model"
    X, y = _load(options.data)
    if not options.quiet:
        print(f"training part     {_shape(X)}, {len(np.unique(y))} classes")
    with _plain_warnings():
        model.fit(X, y)
    io.save_model(model, output)
    if not options.quiet:
        _report(model)
        _report_machine(options.threads)
        print(f"model             {output}")


def _predict(options: argparse.Namespace) -> None:
    from maxmargin import io

    model = io.load_model(options.model)
    model.set_params(n_jobs=options.threads)
    X, y = _load(options.data)
    # A file tells only the last column that it uses; columns unknown to the other side are zero.
    model._widen(X.shape[1])
    predicted = model.predict(_widened(X, model.n_features_in_))
    text = "".join(f"{label:.17g}\n" for label in predicted.tolist())
    if options.output is None:
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text, encoding="ascii")
    n_right = int(np.count_nonzero(predicted == y))
    print(
        f"accuracy {n_right / len(y):.4f} ({n_right} of {len(y)})",
        file=sys.stderr if options.output is None else sys.stdout,
    )


def _info(options: argparse.Namespace) -> None:
    print(config.show_config())


def _load(path: str) -> tuple[Any, Any]:
    """Return samples and labels of a file; without scipy the samples become an array."""
    from maxmargin import io

    has_scipy = importlib.util.find_spec("scipy") is not None
    X, y = io.load_svmlight(path, dense=not has_scipy)
    return X, y


def _widened(X: Any, n_features: int) -> Any:
    if hasattr(X, "tocsr"):
        X.resize((X.shape[0], n_features))
        return X
    return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings of convergence as lines of text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    for warning in caught:
        print(f"maxmargin: warning: {warning.message}", file=sys.stderr)


def _shape(X: Any) -> str:
    return f"{X.shape[0]} samples, {X.shape[1]} features"


def _report(model: SVC) -> None:
    print(f"support vectors   {model.n_support_.sum()}")
    print(model.certificate_)


def _report_machine(threads: int | None) -> None:
    used = config.thread_count() if threads is None else threads
    print(f"SIMD target       {config.active_target()}")
    print(f"threads           {used}")
