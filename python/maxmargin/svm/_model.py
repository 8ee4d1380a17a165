"""A trained kernel machine: the core's model, and what only Python knows of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.certificate import Certificate
from maxmargin._estimator.fitted import check_classes, check_names
from maxmargin._input.sparse import CsrMatrix, Matrix, csr_of_dense, rows_between, weighted_row_sum
from maxmargin.kernels._parameter import (
    KernelParams,
    check_samples,
    overflow_message,
    values_of_function,
)
from maxmargin.svm._weights import Weights, sparse_weights, weights_of

# The parts of the core's model besides the kernel: its properties and the arguments it is made of.
_PARTS = (
    *("type", "n_features", "support_vectors", "dual_coef", "rho", "n_support", "vote_order"),
    *("labels", "support", "equivalent", "sigmoids", "noise_scale", "density_marks"),
)


# Values of machines that stand in memory together (64 MB) where classes are what is asked for.
_MOST_VALUES = 1 << 23


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedMachine:
    """What `fit` finds, or a model file holds; estimators show it as their fitted attributes.

    Its parts fit together: those of a fit do, and `check` refuses others.
    """

    core: _core.KernelModel
    kernel: KernelParams
    n_features: int
    feature_names: NDArray[np.object_] | None = None
    classes: NDArray[Any] | None = None
    # What a model file does not hold.
    certificate: Certificate | None = None
    class_weight: NDArray[np.float64] | None = None
    shape_fit: tuple[int, ...] | None = None
    crossing: float = 0.0  # of quantiles, the share of training samples
    # The support vectors, where the core is given kernel values in their place.
    vectors: Matrix | None = None
    # What an error says of a file without the number of features.
    feature_hint: str = ""

    def check(self) -> None:
        """Refuse parts from a file or a pickle that do not fit together; `core` checks its own.

        Raises ValueError if one does not.
        """
        core, classes, weight = self.core, self.classes, self.class_weight
        n_classes = len(core.n_support)
        _input.check_fits(isinstance(self.kernel, KernelParams), "the kernel")
        check_classes(classes, n_classes)
        is_weight = _input.is_finite_array(weight, np.float64, (n_classes,))
        _input.check_fits(weight is None or is_weight, "class_weight_")
        _input.check_fits(isinstance(self.n_features, (int, np.integer)), "n_features_in_")
        if self.kernel.type != "callable":
            _input.check_fits(self.n_features == core.n_features, "n_features_in_")
        elif self.vectors is not None:
            shape = (self.n_support_vectors, self.n_features)
            _input.check_fits(_input.is_matrix(self.vectors, shape), "support_vectors_")
        check_names(self.feature_names, self.n_features)
        _input.check_fits(isinstance(self.feature_hint, str), "the hint")
        if self.certificate is not None:
            _input.check_fits(isinstance(self.certificate, Certificate), "certificate_")
            _input.check_fits(isinstance(self.shape_fit, tuple), "shape_fit_")
            _input.check_fits(isinstance(self.crossing, float), "crossing_")
            _input.check_fits(len(core.support) == self.n_support_vectors, "support_")
            has_nu = core.type in ("nu_svc", "nu_svr")
            _input.check_fits(len(core.equivalent) == has_nu * core.n_machines, "C_ or epsilon_")

    @property
    def support_vectors(self) -> Matrix:
        """The support vectors, of which a given kernel matrix has none."""
        if self.kernel.is_given:
            return np.empty((0, 0)) if self.vectors is None else self.vectors
        return _matrix(self.core.support_vectors)

    @property
    def labels(self) -> NDArray[Any]:
        """The classes, of a classifier."""
        assert self.classes is not None
        return self.classes

    @cached_property
    def intercept(self) -> NDArray[np.float64]:
        """-rho in scikit-learn's sign, as it is shown: the caller may write into it."""
        return self._signed(-self.core.rho)

    def as_shown(self) -> TrainedMachine:
        """Return the same with what a caller has written into the intercept, itself if nothing.

        It may run in many threads at once. ValueError where that is no intercept.
        """
        shown = vars(self).get("intercept")
        if shown is None or np.array_equal(shown, self._signed(-self.core.rho)):
            return self
        return self.with_intercept(shown)

    def with_intercept(self, value: Any) -> TrainedMachine:
        """Return the same with another intercept; ValueError, and the old one, where it is none."""
        try:
            value = _input.check_part("intercept_", value, self.core.rho.shape)
        except ValueError:
            vars(self).pop("intercept", None)
            raise
        return self.changed(rho=-self._signed(value))

    def _signed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return -values if self.is_binary else values

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes: scikit-learn's sign is then the opposite of LIBSVM's."""
        return len(self.core.n_support) == 2

    @property
    def n_support_vectors(self) -> int:
        return int(self.core.dual_coef.shape[1])

    def expansions(self) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Return for each machine which support vectors it uses and their coefficients."""
        return [self.core.expansion(machine) for machine in range(self.core.n_machines)]

    @cached_property
    def weights(self) -> Weights | None:
        """Of a linear kernel, what predictions go by, where it costs less than support vectors."""
        if self.kernel.type != "linear":
            return None
        core = self.core
        return weights_of(
            self.support_vectors, core.dual_coef.size, core.n_machines, self.expansions
        )

    def values(self, matrix: Matrix, n_threads: int) -> NDArray[np.float64]:
        """Return the value of every machine in LIBSVM's sign, shape (n_samples, n_machines)."""
        kernel = self.kernel
        check_samples(kernel, matrix)
        if self.weights is not None:
            values = self.weights.products(matrix) - self.core.rho
        else:
            if kernel.type == "callable":
                assert kernel.function is not None
                matrix = values_of_function(kernel.function, matrix, self.support_vectors)
            values = self.core.decision_values(matrix, n_threads, kernel.factors(matrix))
        if not math.isfinite(_core.largest_magnitude(values)):
            raise ValueError(overflow_message(kernel, "a decision value is not finite"))
        return values

    def coef(self) -> Any:
        """Return w of every machine in scikit-learn's sign, read-only; sparse as the samples."""
        vectors, expansions = self.support_vectors, self.expansions()
        if self.is_binary:
            expansions = [(used, -beta) for used, beta in expansions]
        if isinstance(vectors, CsrMatrix):
            return sparse_weights(vectors, expansions)
        weights = np.array([weighted_row_sum(vectors[used], beta) for used, beta in expansions])
        weights.flags.writeable = False
        return weights

    def by_blocks(
        self, matrix: Matrix, n_threads: int, use: Callable[[NDArray[np.float64]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return use(values) of all samples, which gives a row for each.

        The values of many machines for many samples never stand in memory together.
        """
        n_rows, step = matrix.shape[0], max(1, _MOST_VALUES // self.core.n_machines)
        if n_rows <= step:
            return use(self.values(matrix, n_threads))
        first = use(self.values(rows_between(matrix, 0, step), n_threads))
        result = np.empty((n_rows, *first.shape[1:]), first.dtype)
        result[:step] = first
        for begin in range(step, n_rows, step):
            block = rows_between(matrix, begin, begin + step)
            result[begin : begin + step] = use(self.values(block, n_threads))
        return result

    def changed(self, n_features: int | None = None, **parts: Any) -> TrainedMachine:
        """Return the same with other parts of the core's model."""
        n_features = self.n_features if n_features is None else n_features
        if self.kernel.type != "callable":
            parts["n_features"] = n_features
        core = _core.KernelModel(**{**_parts_of(self.core), "kernel": self.core.kernel, **parts})
        return dataclasses.replace(self, core=core, n_features=n_features)

    def with_parts(self, **parts: Any) -> TrainedMachine:
        """Return the same with other parts than the core's; ValueError where they do not fit."""
        model = dataclasses.replace(self, **parts)
        model.check()
        return model

    def with_vectors(self, vectors: Matrix) -> TrainedMachine:
        """Return the same with other support vectors; ValueError where they cannot be such."""
        shape = (self.n_support_vectors, self.n_features)
        if self.kernel.type == "precomputed":
            raise ValueError("the kernel matrix was given, and no samples")
        if vectors.shape != shape:
            raise ValueError(f"they are of shape {shape}, got {vectors.shape}")
        check_samples(self.kernel, vectors)
        if self.kernel.type == "callable":
            return self.with_parts(vectors=vectors)
        return self.changed(support_vectors=vectors, kernel=self.kernel.to_core(vectors))

    def widened(self, n_features: int) -> TrainedMachine:
        """Return the same for samples of more features, in which the support vectors are zero."""
        vectors = self.support_vectors
        if n_features > 2 * vectors.shape[1] and not isinstance(vectors, CsrMatrix):
            vectors = csr_of_dense(vectors)
        if isinstance(vectors, CsrMatrix):
            vectors = vectors._replace(n_cols=n_features)
        else:
            vectors = np.pad(vectors, ((0, 0), (0, n_features - vectors.shape[1])))
        return self.changed(n_features, support_vectors=vectors)

    def __getstate__(self) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(self) if field.name != "core"]
        state = {name: getattr(self, name) for name in names}
        return {"version": _core.__version__, "parts": _parts_of(self.core), **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle's state.

        Raises ValueError if its parts do not fit together, or another version has others.
        """
        version = None
        try:
            state = dict(state)
            version, parts = state.pop("version", None), state.pop("parts", {})
            kernel: KernelParams = state["kernel"]
            _input.check_fits(isinstance(kernel, KernelParams), "the kernel")
            core_kernel = kernel.to_core(_matrix(parts["support_vectors"]))
            self.__init__(_core.KernelModel(kernel=core_kernel, **parts), **state)  # type: ignore[misc]
            self.check()
        except (
            ArithmeticError,
            LookupError,
            AttributeError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            hint = ""
            if isinstance(version, str) and version != _core.__version__:
                hint = f" (pickled by maxmargin {version}, loaded by {_core.__version__})"
            raise ValueError(
                f"The internal representation of a model was altered: {error}{hint}"
            ) from error


def _parts_of(core: _core.KernelModel) -> dict[str, Any]:
    return {name: getattr(core, name) for name in _PARTS}


def _matrix(vectors: Any) -> Matrix:
    """Return samples that the core shows in the package's form."""
    matrix: Matrix = CsrMatrix(*vectors) if isinstance(vectors, tuple) else vectors
    return matrix
