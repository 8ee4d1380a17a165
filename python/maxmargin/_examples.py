"""Training data and the state of training as the core's online trainer takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._mapped import is_mapped
from maxmargin._sparse import CsrMatrix, Matrix

Settings = dict[str, Any]

NONE = np.zeros(0)


def core_settings(settings: Settings, matrix: Matrix) -> _core.OnlineSettings:
    """Return the core's settings for these samples."""
    arrays = (matrix.data, matrix.indices) if isinstance(matrix, CsrMatrix) else (matrix,)
    return _core.OnlineSettings(**settings, is_mapped=any(map(is_mapped, arrays)))


class RowCoder:
    """Codes the rows of samples as they are checked, which saves reading them once more."""

    def __init__(self, settings: Settings) -> None:
        self.coded: _core.CodedRows | None = None
        self._settings = settings

    def code(self, matrix: Matrix) -> None:
        """Code the rows, if that is likely to pay."""
        if _core.pays_to_code(matrix, core_settings(self._settings, matrix)):
            self.coded = _core.CodedRows(matrix, self._settings["n_threads"])

    def are_bounded(self, matrix: Matrix) -> bool:
        """Code the rows; return whether they turned out finite, 1e30 at most in magnitude."""
        self.code(matrix)
        return self.coded is not None and self.coded.are_bounded


class Examples(NamedTuple):
    """Training data in the core's form."""

    X: Matrix
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    weight: NDArray[np.float64] | None
    class_weight: NDArray[np.float64]
    positive: NDArray[np.int64]  # classes against the rest; empty: all classes in one problem
    coded: _core.CodedRows | None = None  # X once more

    def given_weight(self) -> NDArray[np.float64]:
        """Return the weights as the core takes them: none, or one for every row."""
        return NONE if self.weight is None else self.weight


def weights_of(
    state: dict[str, NDArray[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the averages if there are any, else the last w and b."""
    if len(state["average_b"]) > 0:
        return state["average_w"], state["average_b"]
    return state["w"], state["b"]


# Where training stands: what `zero_state` has.
STATE_PARTS = {"w", "b", "average_w", "average_b", "n_steps", "n_averaged", "lost", "due"}


def is_state(state: Any, n_functions: int, n_features: int) -> bool:
    """Return whether `state` has the parts of `zero_state`, finite and of fitting shapes."""
    if not (isinstance(state, dict) and state.keys() == STATE_PARTS):
        return False
    lengths = {name: len(part) for name, part in state.items()}
    n_averages, n_lost, n_problems = (lengths[name] for name in ("average_b", "lost", "due"))
    if not ({n_averages, n_lost} <= {0, n_functions} and n_problems in (1, n_functions)):
        return False
    shapes = {
        "w": (n_functions, n_features),
        "b": (n_functions,),
        "average_w": (n_averages, n_features),
        "average_b": (n_averages,),
        "n_steps": (n_problems,),
        "n_averaged": (n_problems,),
        "lost": (n_lost, n_features),
        "due": (n_problems,),
    }
    return all(
        _validation.is_finite_array(
            state[name], np.int64 if name in ("n_steps", "n_averaged") else np.float64, shape
        )
        for name, shape in shapes.items()
    )


def zero_state(examples: Examples) -> dict[str, NDArray[Any]]:
    """Return where training begins: w = 0 and b = 0, before any step."""
    n_functions = len(examples.positive) or len(examples.classes)
    n_problems = len(examples.positive) or 1
    n_features = examples.X.shape[1]
    return {
        "w": np.zeros((n_functions, n_features)),
        "b": np.zeros(n_functions),
        "average_w": np.zeros((0, n_features)),
        "average_b": NONE,
        "n_steps": np.zeros(n_problems, dtype=np.int64),
        "n_averaged": np.zeros(n_problems, dtype=np.int64),
        "lost": np.zeros((0, n_features)),
        "due": np.zeros(n_problems),
    }
