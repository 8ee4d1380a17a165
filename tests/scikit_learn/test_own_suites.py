"""scikit-learn's own tests of what the patch reaches, with the patch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sklearn

import maxmargin

BY_TOL = "equal to tol, not to six digits: kernel='linear' trains on centred samples"
# By the names of the tests, without their parameters.
LISTED = {
    "svm.tests.test_svm::test_precomputed": BY_TOL,
    "svm.tests.test_svm::test_svc_clone_with_callable_kernel": BY_TOL,
    "svm.tests.test_svm::test_linear_svm_convergence_warnings": "one pass is enough, no warning",
    "svm.tests.test_svm::test_svm_with_infinite_C": "SVR: C=inf falls through, C=1e10 does not",
}
SUITES = {
    "svm": ["svm", "linear_model.tests.test_perceptron"],
    "common": ["tests.test_common", "-k", "SVC or SVR or OneClassSVM or Perceptron"],
    "meta": ["tests.test_multiclass", "tests.test_calibration", "tests.test_metaestimators"],
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
            failed.add(f"{module}::{case.attrib['name'].partition('[')[0]}")
        elif case.find("skipped") is None:
            n_passed += 1
    assert not failed - set(LISTED), run.stdout[-5000:]
    assert n_passed > 100
