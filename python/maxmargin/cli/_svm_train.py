"""`maxmargin svm-train`: LIBSVM's svm-train."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from maxmargin._estimator.base import commit
from maxmargin._input.files import check_writable
from maxmargin.cli._flags import FlagCommand, Given
from maxmargin.cli._reports import accuracy_of, convergence_warnings_on_stderr, errors_of
from maxmargin.cli._svm_options import SVM_FLAGS, Problem, save
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm.classification import SVC, NuSVC, PairwiseClassifier
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import NuSVR, RegressionMachine

# How near a coefficient that was divided by the margin may be to a bound that was, to count as it.
_ROUNDING = 1e-12


def _run(given: Given) -> None:
    data = given.files[0]
    output = given.files[1] if len(given.files) > 1 else f"{Path(data).name}.model"
    n_folds = given.get("-v")
    if n_folds is None:
        check_writable(output)
    problem = Problem(data, given)
    with convergence_warnings_on_stderr():
        if n_folds is not None:
            _cross_validate(problem, n_folds)
            return
        model = problem.fit(problem.estimator())
        if given.get("-b") == 1 and isinstance(model, RegressionMachine):
            commit(model, model_of(model).changed(noise_scale=problem.noise_scale()))
    if not given.get("-q"):
        print("\n".join(_report(problem, model)))
        if model_of(model).core.noise_scale is not None:
            print(noise_model(model))
    save(problem, model, output)


SVM_TRAIN = FlagCommand(
    "svm-train",
    "train on a data file with LIBSVM's flags",
    "training_set_file [model_file]",
    range(1, 3),
    SVM_FLAGS,
    _run,
)


def _cross_validate(problem: Problem, n_folds: int) -> None:
    predicted = problem.held_out_predictions(n_folds)
    if problem.is_regression:
        error, correlation = errors_of(predicted, problem.y)
        print(f"Cross Validation Mean squared error = {error:g}")
        print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
    else:
        print(f"Cross Validation Accuracy = {accuracy_of(predicted, problem.y)[0]:g}%")


# -- what LIBSVM says of a solution ----------------------------------------------------------------


def _report(problem: Problem, model: KernelMachine) -> list[str]:
    if not isinstance(model, PairwiseClassifier):
        return _report_single(problem, model)
    core = model_of(model).core
    lines = []
    certificates = model.certificate_.machines or (model.certificate_,)
    pairs = list(combinations(range(len(model.classes_)), 2))
    machines = model_of(model).expansions()
    class_of = np.repeat(np.arange(len(model.classes_)), core.n_support)
    count = [int((problem.y == label).sum()) for label in model.classes_]
    order = core.vote_order.tolist()
    for first, second in combinations(range(len(order)), 2):
        i, j = order[first], order[second]  # LIBSVM's machine, of the opposite sign where i > j
        p = pairs.index((min(i, j), max(i, j)))
        used, beta = machines[p]
        if isinstance(model, NuSVC):
            upper = np.full(len(beta), model.C_[p])
            known = f"C = {model.C_[p]:f}"
        else:
            assert isinstance(model, SVC)
            C = model.C * model.class_weight_[[i, j]]
            upper = model.C * model.class_weight_[class_of[used]]
            nu = np.abs(beta).sum() / (C[0] * (count[i] + count[j]))
            known = f"nu = {nu:f}" if C[0] == C[1] else ""
        rho = float(core.rho[p]) * (1.0 if i < j else -1.0)
        n_iter, objective = certificates[p].n_iter, certificates[p].dual_objective
        lines += _solution(n_iter, known, objective, rho, beta, upper)
    return [*lines, f"Total nSV = {int(core.n_support.sum())}"]


def _report_single(problem: Problem, model: KernelMachine) -> list[str]:
    core = model_of(model).core
    beta = core.dual_coef[0]
    C = 1.0 if isinstance(model, OneClassSVM) else float(model.C)  # type: ignore[attr-defined]
    known = ""
    if isinstance(model, NuSVR):
        known = f"epsilon = {model.epsilon_:f}"
    elif isinstance(model, RegressionMachine):
        known = f"nu = {np.abs(beta).sum() / (C * len(problem.y)):f}"
    certificate = model.certificate_
    return _solution(
        certificate.n_iter,
        known,
        certificate.dual_objective,
        float(core.rho[0]),
        beta,
        np.full(len(beta), C),
    )


def _solution(
    n_iter: int, known: str, objective: float, rho: float, beta: np.ndarray, upper: np.ndarray
) -> list[str]:
    size = np.abs(beta)
    n_bounded = int((size >= upper * (1.0 - _ROUNDING)).sum())
    return [
        f"optimization finished, #iter = {n_iter}",
        *([known] if known else []),
        f"obj = {objective:f}, rho = {rho:f}",
        f"nSV = {int((size > 0.0).sum())}, nBSV = {n_bounded}",
    ]


def noise_model(model: KernelMachine) -> str:
    """Return LIBSVM's two lines on the errors of a regression that was trained with -b 1."""
    scale = model_of(model).core.noise_scale
    return (
        "Prob. model for test data: target value = predicted value + z,\n"
        f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {scale:g}"
    )
