"""scikit-learn's own tests of what the patch reaches, with the patch."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sklearn

import maxmargin
from maxmargin.patch import PATCHED

BY_TOL = "equal to tol, not to six digits: kernel='linear' trains on centred samples"
# By the names of the tests, and by their parameters where these stand in brackets.
LISTED = {
    "svm.tests.test_svm::test_precomputed": BY_TOL,
    "svm.tests.test_svm::test_svc_clone_with_callable_kernel": BY_TOL,
    "model_selection.tests.test_search::test_grid_search_sparse_scoring": (
        "fits of random seeds are equal to tol, and one sample lies on the border"
    ),
    "svm.tests.test_sparse::test_sparse_oneclasssvm[linear-X_train0]": (
        "every decision value is 0 but for rounding"
    ),
    "svm.tests.test_svm::test_linear_svm_convergence_warnings": "one pass is enough, no warning",
    "svm.tests.test_svm::test_svm_with_infinite_C": "SVR: C=inf falls through, C=1e10 does not",
}


def is_listed(test):
    name, _, parameters = test.partition("[")
    return name in LISTED or any(
        key.startswith(f"{name}[") and key[len(name) + 1 : -1] in parameters for key in LISTED
    )


# Of these the tests that name a patched class.
USERS = [
    *("ensemble.tests.test_bagging", "ensemble.tests.test_stacking", "ensemble.tests.test_voting"),
    *("ensemble.tests.test_weight_boosting", "feature_selection.tests.test_from_model"),
    *("feature_selection.tests.test_rfe", "model_selection.tests.test_search"),
    *("semi_supervised.tests.test_self_training", "tests.test_multioutput", "tests.test_pipeline"),
]
SECONDS_LONG = {
    *("test_oob_score_classification", "test_parallel_classification", "test_rfe_cv_n_jobs"),
    *("test_rfecv", "test_estimator_meta_estimator", "test_stacking_with_sample_weight"),
    *("test_stacking_cv_influence", "test_stacking_classifier_stratify_default"),
    *("test_stacking_classifier_drop_column_binary_classification", "test_stacking_randomness"),
}


def naming_patched_classes(module: str) -> list[str]:
    """Return the tests of scikit-learn's module whose code names a patched class."""
    code = Path(importlib.util.find_spec(f"sklearn.{module}").origin).read_text(encoding="utf-8")
    classes = re.compile(rf"\b({'|'.join(PATCHED)})\b")
    tests = [one for one in ast.parse(code).body if isinstance(one, ast.FunctionDef)]
    return [
        f"{module}::{test.name}"
        for test in tests
        if test.name.startswith("test_")
        and test.name not in SECONDS_LONG
        and any(classes.search(ast.unparse(part)) for part in (test, *test.decorator_list))
    ]


SUITES = {
    "svm": ["svm", "linear_model.tests.test_perceptron"],
    "common": ["tests.test_common", "-k", "SVC or SVR or OneClassSVM or Perceptron"],
    "meta": ["tests.test_multiclass", "tests.test_calibration", "tests.test_metaestimators"],
    "users": [test for module in USERS for test in naming_patched_classes(module)],
}


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_scikit_learns_own_tests_pass(suite, tmp_path):
    assert len(LISTED) <= 6
    site_packages = Path(sklearn.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parent.parent)}
    words = [word if " " in word or word == "-k" else f"sklearn.{word}" for word in SUITES[suite]]
    run = subprocess.run(
        [
            sys.executable, "-m", "maxmargin.patch", "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-c", os.devnull, "--rootdir", site_packages, "--import-mode", "append",
            "--junitxml", tmp_path / "report.xml", "--pyargs", *words,
        ],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stdout + run.stderr
    failed, n_passed = set(), 0
    for case in ElementTree.parse(tmp_path / "report.xml").iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            module = case.attrib["classname"].split("sklearn.")[-1]
            failed.add(f"{module}::{case.attrib['name']}")
        elif case.find("skipped") is None:
            n_passed += 1
    assert not {name for name in failed if not is_listed(name)}, run.stdout[-5000:]
    assert n_passed > 100
