"""The training of a support vector classifier: one machine for each pair of classes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _one_vs_one, _probability, _validation
from maxmargin._kernel_machine import KernelMachine, Training, finite_solution
from maxmargin._one_vs_one_model import OneVsOneModel
from maxmargin._sparse import Matrix, take_rows
from maxmargin._validation import Callback, ClassWeight

Self = TypeVar("Self", bound="PairwiseSVM")


class TimeLeft:
    """What is left of a time limit, in equal shares for the fits that are still to come.

    The last one, the model, has its share of the whole even where the others took longer than
    theirs: a fit ends a little after its limit, and one without time is no model.
    """

    def __init__(self, seconds: float, n_fits: int) -> None:
        self._end = time.perf_counter() + seconds
        self._n_fits = n_fits
        self._share_of_last = seconds / n_fits

    def share(self) -> float:
        """Return the seconds of the next fit."""
        left = max(0.0, self._end - time.perf_counter()) / self._n_fits
        self._n_fits -= 1
        return left if self._n_fits > 0 else max(left, self._share_of_last)


class PairwiseSVM(OneVsOneModel):
    """What SVC and NuSVC share; they tell the bounds of the dual variables."""

    class_weight: ClassWeight
    random_state: Any

    _has_squared_hinge = False

    _told_by_fit = (*KernelMachine._told_by_fit, "class_weight_")

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything
            else is converted to a copy.
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the bound of each alpha, >= 0. A sample of weight 0 is left out; every class
            must keep one.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the data, the labels or the weights are not as described, or the kernel
            overflows. The estimator then stays as it was.
        Cancelled
            If `callback` returned True. The estimator stays as it was.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before `tol` was reached. The model is usable.
        """
        training = self._check_parameters()
        seed = self._seed_of_folds() if self._calibrates else 0
        matrix = self._matrix_to_fit(X)
        codes, classes = _validation.check_labels(y, matrix.shape[0], type(self).__name__)
        weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        class_weight = _validation.check_class_weight(self.class_weight, classes, codes)
        upper, nu = self._bounds(classes, codes, class_weight, weight)
        if self._calibrates:
            _probability.check_enough_samples(codes, upper, classes)
        samples, training = self._prepare(matrix, training, upper)
        n_fits = 1 + (_probability.N_FOLDS if self._calibrates else 0)
        time_left = TimeLeft(training.settings["time_limit"], n_fits)

        def train(
            samples: Matrix, rows: slice | NDArray[np.int64], callback: Callback | None
        ) -> dict[str, Any]:
            settings = {**training.settings, "time_limit": time_left.share()}
            return _core.svc_fit(
                samples,
                codes[rows],
                len(classes),
                upper[rows],
                training.kernel.to_core(samples),
                _core.TrainingOptions(**settings),
                nu,
                callback,
                self._has_squared_hinge,
            )

        sigmoids = None
        if self._calibrates:
            held_out = self._held_out_values(samples, codes, upper, training, train, seed)
            sigmoids = _probability.fit_sigmoids(held_out, codes, upper)
        result, certificate = self._run(
            lambda callback: train(samples, slice(None), callback), training
        )
        self._kernel_params = training.kernel
        self._set_model(
            classes=classes,
            n_support=result["n_support"],
            dual_coef=result["dual_coef"],
            rho=result["rho"],
            support_vectors=self._keep_support(matrix, result["support"]),
            vote_order=_one_vs_one.class_order(codes, classes),
        )
        self._record_features(X, matrix.shape[1])
        self.support_: NDArray[np.int64] = result["support"]
        self.n_iter_: NDArray[np.int64] = np.asarray(result["n_iter"], dtype=np.int64)
        self.class_weight_ = class_weight
        self.shape_fit_ = matrix.shape
        self._sigmoids = sigmoids
        self._set_counterpart(result["counterpart"])
        self._record_certificate(certificate)
        return self

    def _held_out_values(
        self,
        samples: Matrix,
        codes: NDArray[np.int64],
        upper: NDArray[np.float64],
        training: Training,
        train: Callable[[Matrix, NDArray[np.int64], Callback | None], dict[str, Any]],
        seed: int,
    ) -> NDArray[np.float64]:
        """Return the values of every machine for all samples, by machines trained without them."""
        n_classes = int(codes.max()) + 1
        values = np.zeros((len(codes), n_classes * (n_classes - 1) // 2))
        kernel = training.kernel

        def solution_on(rows: NDArray[np.int64], part: Matrix) -> dict[str, Any]:
            return finite_solution(
                lambda callback: train(part, rows, callback), training.callback, training
            )

        for held_out in _probability.folds(codes, upper, seed):
            rows, others = np.flatnonzero(~held_out & (upper > 0.0)), np.flatnonzero(held_out)
            if kernel.is_given:
                assert isinstance(samples, np.ndarray)
                model = solution_on(rows, np.ascontiguousarray(samples[np.ix_(rows, rows)]))
                coefficients = _one_vs_one.machine_coefficients(
                    model["dual_coef"], model["n_support"]
                )
                products = samples[np.ix_(others, rows[model["support"]])] @ coefficients
                values[others] = products - model["rho"]
            else:
                part = take_rows(samples, rows)
                model = solution_on(rows, part)
                vectors, rest = take_rows(part, model["support"]), take_rows(samples, others)
                decision = _core.Decision(
                    vectors,
                    model["n_support"],
                    model["dual_coef"],
                    model["rho"],
                    kernel.to_core(vectors),
                )
                values[others] = decision.decision_function(rest, factors=kernel.factors(rest))
        return values

    def _check_parameters(self) -> Training:
        """Return the checked parameters; `class_weight` and `probability` are checked later."""
        self._check_decision_options()
        self._check_penalty()
        return self._check_training()

    def _seed_of_folds(self) -> int:
        return 0 if self.random_state is None else _validation.check_seed(self.random_state)

    def _check_penalty(self) -> None:
        """Check the parameter that the formulation has of its own."""
        raise NotImplementedError

    def _bounds(
        self,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        class_weight: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], float | None]:
        """Return the upper bound of every alpha, and nu if the formulation has one."""
        raise NotImplementedError

    def _set_counterpart(self, counterpart: NDArray[np.float64]) -> None:
        """Keep what nu stands for, by machine."""
