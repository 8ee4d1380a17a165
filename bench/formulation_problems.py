"""Problems of the formulations but C-SVC, and their dual objectives recomputed in float64."""

from dataclasses import dataclass

import numpy as np

import problems
import verify


@dataclass(frozen=True)
class FormulationProblem:
    """A problem for the estimator of scikit-learn's name, with the RBF kernel."""

    name: str
    source: str
    estimator: str
    parameters: dict
    gamma: float
    scaling: str = "standardise"


PROBLEMS = (
    FormulationProblem("SVR casp", "casp", "SVR", {"C": 1.0, "epsilon": 0.1}, 1 / 9),
    FormulationProblem("SVR cpusmall", "cpusmall", "SVR", {"C": 100.0, "epsilon": 0.1}, 1 / 12),
    FormulationProblem("NuSVR casp", "casp", "NuSVR", {"C": 1.0, "nu": 0.5}, 1 / 9),
    FormulationProblem("one-class w8a", "w8a", "OneClassSVM", {"nu": 0.5}, 1 / 300, "none"),
    FormulationProblem("NuSVC a9a", "a9a", "NuSVC", {"nu": 0.4}, 1 / 123, "none"),
)
QUICK = (
    FormulationProblem("SVR diabetes", "sklearn:diabetes", "SVR", {"C": 9.0, "epsilon": 1.0}, 0.1),
    FormulationProblem("one-class wine", "sklearn:wine", "OneClassSVM", {"nu": 0.5}, 0.1),
)


def problem_of(fields):
    return FormulationProblem(**fields)


def load(problem, folder):
    data = problems.load(
        problems.Problem(problem.name, problem.source, 1.0, problem.gamma, problem.scaling), folder
    )
    if problem.estimator in ("SVR", "NuSVR"):
        data.y = np.asarray(data.y, dtype=np.float64)
    return data


@dataclass
class Fit:
    """Coefficients beta of the support vectors."""

    support: np.ndarray
    coef: np.ndarray

    def save(self, path):
        np.savez(path, support=self.support, coef=self.coef)

    @staticmethod
    def load(path):
        with np.load(path) as stored:
            return Fit(stored["support"], stored["coef"])


def dual_objective(problem, data, fit):
    """1/2 beta' K beta, less y' beta and with epsilon sum |beta| for the regressions.

    A nu-SVC is scaled by its margin: its objective then compares the shapes of two solutions.
    """
    vectors, beta = data.X[fit.support], fit.coef.astype(np.float64)
    norms = verify.squared_norms(vectors)
    quadratic = 0.0
    step = max(1, verify.BLOCK_VALUES // max(1, len(beta)))
    for begin in range(0, len(beta), step):
        block = slice(begin, begin + step)
        K = verify.rbf_block(vectors[block], vectors, problem.gamma, norms)
        quadratic += float(beta[block] @ (K @ beta))
    objective = 0.5 * quadratic
    if problem.estimator in ("SVR", "NuSVR"):
        objective -= float(data.y[fit.support] @ beta)
        objective += problem.parameters.get("epsilon", 0.0) * float(np.abs(beta).sum())
    return objective
