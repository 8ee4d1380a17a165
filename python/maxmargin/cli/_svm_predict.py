"""`maxmargin svm-predict`: LIBSVM's svm-predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.files import check_writable, replacing
from maxmargin._input.sparse import Matrix
from maxmargin.cli._data import load_model_for, load_samples, widen, widened
from maxmargin.cli._flags import Flag, FlagCommand, Given, choice, on
from maxmargin.cli._reports import accuracy_of, errors_of
from maxmargin.cli._svm_train import noise_model
from maxmargin.svm._machine import KernelMachine, model_of
from maxmargin.svm.classification import PairwiseClassifier
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import RegressionMachine


def _run(given: Given) -> None:
    data, model_file, output = given.files
    check_writable(output)
    model = load_model_for(data, model_file, SVM_PREDICT.files, zero_based=False)
    X, y = _samples_for(model, data)
    says = (lambda text: None) if given.get("-q") else print
    text = ""
    if given.get("-b") == 1:
        predicted, text = _probable(model, X, model_file, says)
    else:
        if model_of(model).core.is_calibrated:
            says("Model supports probability estimates, but disabled in prediction.")
        predicted = model.predict(X).astype(np.float64)
    with replacing(output) as file:
        lines = text or "".join(f"{label:.17g}\n" for label in predicted.tolist())
        file.write(lines.encode("ascii"))
    if isinstance(model, RegressionMachine):
        error, correlation = errors_of(predicted, y)
        says(f"Mean squared error = {error:g} (regression)")
        says(f"Squared correlation coefficient = {correlation:g} (regression)")
    else:
        accuracy, n_right = accuracy_of(predicted, y)
        says(f"Accuracy = {accuracy:g}% ({n_right}/{len(y)}) (classification)")


SVM_PREDICT = FlagCommand(
    "svm-predict",
    "predict the labels of a data file with LIBSVM's flags",
    "test_file model_file output_file",
    range(3, 4),
    (
        Flag(
            "-b",
            "probability",
            "0 or 1: whether to write probabilities (default 0)",
            choice("0", "1"),
        ),
        Flag("-q", "", "print errors and warnings only", on),
    ),
    _run,
)


def _samples_for(model: KernelMachine, path: str) -> tuple[Matrix, NDArray[np.float64]]:
    """Return the samples of a file with as many features as the model knows, and their labels.

    A file shows only the last column that it uses; columns unknown to the other side are zero.
    """
    is_precomputed = model_of(model).kernel.type == "precomputed"
    X, y = load_samples(path, zero_based=is_precomputed)
    if is_precomputed:  # column 0 holds serials
        last = X.n_cols - 1
        if last < model.n_features_in_:
            raise ValueError(
                f"{path} holds kernel values with {last} training samples, but the model needs "
                f"those with sample {model.n_features_in_}"
            )
        return np.ascontiguousarray(X.to_dense()[:, 1 : model.n_features_in_ + 1]), y
    widen(model, X.n_cols)
    return widened(X, model.n_features_in_), y


def _probable(
    model: KernelMachine, X: Matrix, model_file: str, says: Any
) -> tuple[NDArray[np.float64], str]:
    """Return the predictions, and what to write in their place where there are probabilities."""
    if isinstance(model, RegressionMachine) and model_of(model).core.noise_scale is not None:
        says(noise_model(model))
        return model.predict(X), ""
    if not model_of(model).core.is_calibrated:
        raise ValueError(f"-b 1: {model_file} holds no probabilities; train it with -b 1")
    assert isinstance(model, (PairwiseClassifier, OneClassSVM))
    probabilities = model.predict_proba(X)
    if isinstance(model, PairwiseClassifier):
        predicted = model.classes_[probabilities.argmax(axis=1)]
        order = model_of(model).core.vote_order
        names, probabilities = model.classes_[order].tolist(), probabilities[:, order]
    else:
        predicted, names = model.predict(X), ["normal", "outlier"]
    lines = [" ".join(["labels", *map(str, names)])]
    for label, row in zip(predicted.tolist(), probabilities.tolist(), strict=True):
        lines.append(" ".join([str(label), *(f"{p:g}" for p in row)]))
    return predicted.astype(np.float64), "\n".join([*lines, ""])
