"""The commands `demo`, `train`, `predict` and `info`: C-SVC with scikit-learn's words."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import _input, config, io
from maxmargin._estimator.wording import counted
from maxmargin._input.files import check_writable, replacing
from maxmargin.cli._data import load_model_for, load_samples, shape_of, widen, widened
from maxmargin.cli._reports import convergence_warnings_on_stderr
from maxmargin.kernels._parameter import KERNELS
from maxmargin.progress import ProgressLine
from maxmargin.svm.classification import SVC


def add_commands(commands: Any) -> None:
    """Add the parsers of these commands to the subparsers `commands` of the main one."""

    def add_command(name: str, run: Callable[[Any], None], what: str) -> argparse.ArgumentParser:
        sentence = f"{what[0].upper()}{what[1:]}."
        command: argparse.ArgumentParser = commands.add_parser(
            name, help=what, description=sentence
        )
        command.set_defaults(run=run, parser=command)
        return command

    demo = add_command(
        "demo", _demo, "train on the handwritten digits that ship with the package, and report"
    )
    _add_threads(demo)

    train = add_command("train", _train, "train a C-SVC on a data file and write the model")
    _add_training_arguments(train)

    predict = add_command("predict", _predict, "predict the labels of a data file")
    predict.add_argument("model", metavar="MODEL", help="a C-SVC model file, ours or LIBSVM's")
    predict.add_argument("data", metavar="DATA", help="data; its labels are compared")
    predict.add_argument("-o", "--output", metavar="OUT", help="file for labels (default: stdout)")
    _add_threads(predict)

    add_command("info", _info, "show version, compiler, SIMD targets and threads")


def _add_training_arguments(parser: argparse.ArgumentParser) -> None:
    def add(name: str, default: Any, help: str, metavar: str = "NUMBER") -> None:
        parameter = name[2:].replace("-", "_")
        parser.add_argument(
            name, type=_checked(parameter), default=default, help=help, metavar=metavar
        )

    parser.add_argument("data", metavar="DATA", help="training data in LIBSVM format")
    parser.add_argument(
        "-o", "--output", metavar="MODEL", help="model file (default: DATA's name + .model)"
    )
    add("--kernel", "rbf", "kernel (default: rbf)", f"{{{','.join(KERNELS)}}}")
    add("--C", 1.0, "penalty of the loss, > 0, inf for the hard margin (default: 1)")
    add(
        "--gamma",
        "scale",
        "of poly, rbf and sigmoid: a number > 0, 'scale' for 1/(features * variance), or "
        "'auto' for 1/features (default: scale)",
    )
    add("--degree", 3, "degree of poly (default: 3)")
    add("--coef0", 0.0, "constant of poly and sigmoid (default: 0)")
    add("--tol", 1e-3, "tolerance on the KKT violation (default: 0.001)")
    add("--cache-size", 200, "kernel cache (default: 200)", "MB")
    add("--max-iter", -1, "cap on iterations (default: -1, the solver's own)")
    add("--time-limit", None, "stop then, and keep what is reached (default: no limit)", "SECONDS")
    parser.add_argument(
        "--class-weight",
        type=_class_weight,
        action="append",
        metavar="LABEL:WEIGHT",
        help="factor of C for the class LABEL, repeatable; or 'balanced' (default: all 1)",
    )
    _add_threads(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors and warnings only")


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_checked("n_jobs"),
        metavar="N",
        help="threads, -2 for all but one (default: all that the process may use)",
    )


def _checked(parameter: str) -> Callable[[str], Any]:
    """Return a type of argument: a parameter of SVC, with SVC's own check."""

    def convert(text: str) -> Any:
        value = _number(text)
        with _as_usage_error():
            if parameter == "kernel":
                return _input.check_choice(parameter, text, KERNELS)
            SVC().set_params(**{parameter: value})._check_parameters()
        return value

    return convert


def _number(text: str) -> int | float | str:
    """Return the number that `text` is, else the text itself."""
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text


def _class_weight(text: str) -> tuple[float, float] | str:
    if text == "balanced":
        return text
    label, weight = (_number(part) for part in (text.rpartition(":")[::2]))
    with _as_usage_error():
        if isinstance(label, str) or isinstance(weight, str):
            raise ValueError(f"must be LABEL:WEIGHT (two numbers) or balanced, got {text!r}")
        return float(label), _input.check_class_factor(label, weight)


@contextlib.contextmanager
def _as_usage_error() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _class_weights(options: argparse.Namespace) -> dict[float, float] | str | None:
    given = options.class_weight
    if given is None:
        return None
    if given == ["balanced"]:
        return "balanced"
    if "balanced" in given:
        options.parser.error("argument --class-weight: balanced must stand alone")
    return dict(given)


# -- commands --------------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> None:
    from maxmargin.datasets import load_digits

    digits = load_digits()
    print(f"data              {digits.source}")
    print(f"training part     {shape_of(digits.X_train)}, 10 classes", flush=True)
    model = SVC(C=10.0, n_jobs=options.threads)
    _fit(model, digits.X_train, digits.y_train, quiet=False)
    start = time.perf_counter()
    accuracy = model.score(digits.X_test, digits.y_test)
    seconds = time.perf_counter() - start
    _report(model)
    print(f"test part         {shape_of(digits.X_test)}, predicted in {seconds:.3f} s")
    print(f"test accuracy     {accuracy:.4f}")
    _report_machine(options.threads)


def _train(options: argparse.Namespace) -> None:
    model = SVC(
        C=options.C,
        kernel=options.kernel,
        gamma=options.gamma,
        degree=options.degree,
        coef0=options.coef0,
        tol=options.tol,
        cache_size=options.cache_size,
        max_iter=options.max_iter,
        time_limit=options.time_limit,
        class_weight=_class_weights(options),
        n_jobs=options.threads,
    )
    output = options.output or f"{Path(options.data).name}.model"
    check_writable(output)
    X, y = load_samples(options.data)
    if not options.quiet:
        n_classes = counted(len(np.unique(y)), "class", "classes")
        print(f"training part     {shape_of(X)}, {n_classes}", flush=True)
    _fit(model, X, y, quiet=options.quiet)
    io.save_model(model, output)
    if not options.quiet:
        _report(model)
        _report_machine(options.threads)
        print(f"model             {output}")


def _predict(options: argparse.Namespace) -> None:
    if options.output is not None:
        check_writable(options.output)
    model = load_model_for(options.data, options.model, "MODEL DATA")
    model.set_params(n_jobs=options.threads)
    X, y = load_samples(options.data)
    # A file shows only the last column that it uses; columns unknown to the other side are zero.
    widen(model, X.shape[1])
    predicted = model.predict(widened(X, model.n_features_in_))
    text = "".join(f"{label:.17g}\n" for label in predicted.tolist())
    if options.output is None:
        sys.stdout.write(text)
    else:
        with replacing(options.output) as file:
            file.write(text.encode("ascii"))
    n_right = int(np.count_nonzero(predicted == y))
    print(
        f"accuracy {n_right / len(y):.4f} ({n_right} of {len(y)})",
        file=sys.stderr if options.output is None else sys.stdout,
    )


def _info(options: argparse.Namespace) -> None:
    print(config.describe())


def _fit(model: SVC, X: Any, y: Any, quiet: bool) -> None:
    """Fit with a line of progress; warnings of convergence are lines of text."""
    line = ProgressLine(label="progress          ")
    model.set_params(callback=None if quiet else line)
    with convergence_warnings_on_stderr():
        try:
            model.fit(X, y)
        finally:
            line.close()


def _report(model: SVC) -> None:
    print(f"support vectors   {model.n_support_.sum()}")
    print(model.certificate_)


def _report_machine(threads: int | None) -> None:
    print(f"SIMD target       {config.active_target()}")
    print(f"threads           {config.thread_count(threads)}")
