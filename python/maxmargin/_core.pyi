from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str
compiler: str
LIBSVM_KERNELS: tuple[str, ...]
STOP_REASONS: tuple[str, ...]

class Cancelled(Exception): ...  # noqa: N818
class NumericError(ArithmeticError): ...

class KernelParams:
    def __init__(
        self, type: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3
    ) -> None: ...
    @staticmethod
    def composed(
        steps: list[tuple[KernelParams, float] | str], factors: NDArray[np.float64] | None = None
    ) -> KernelParams: ...
    @property
    def type(self) -> str: ...
    @property
    def gamma(self) -> float: ...
    @property
    def coef0(self) -> float: ...
    @property
    def degree(self) -> int: ...

def kernel_values(
    A: Any,
    B: Any,
    kernel: KernelParams,
    factors: NDArray[np.float64] | None = None,
    n_threads: int = 0,
) -> NDArray[np.float64]: ...
def rounding_error(
    X: Any,
    coef: NDArray[np.float64],
    kernel: KernelParams,
    sums_to_zero: bool,
    total: float,
    tol: float,
) -> tuple[float, float]: ...

class TrainingOptions:
    def __init__(
        self,
        *,
        tol: float = 0.001,
        max_iter: int = -1,
        cache_bytes: int = 209715200,
        shrinking: bool = True,
        time_limit: float = ...,
        n_threads: int = 0,
        precision: str = "auto",
    ) -> None: ...

def svc_fit(
    X: Any,
    y: NDArray[np.int64],
    n_classes: int,
    upper: NDArray[np.float64],
    kernel: KernelParams,
    options: TrainingOptions,
    nu: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    squared_hinge: bool = False,
    vote_order: NDArray[np.int64] | None = None,
) -> tuple[KernelModel, dict[str, NDArray[Any]]]: ...
def svc_search(
    X: Any,
    y: NDArray[np.int64],
    n_classes: int,
    Cs: NDArray[np.float64],
    folds: list[tuple[NDArray[np.float64], NDArray[np.int64]]],
    kernels: list[KernelParams],
    options: TrainingOptions,
    keeps_fits: bool = False,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    squared_hinge: bool = False,
    vote_order: NDArray[np.int64] | None = None,
) -> list[tuple[dict[str, NDArray[Any]], NDArray[np.int64], list[KernelModel]]]: ...
def svr_fit(
    X: Any,
    targets: NDArray[np.float64],
    upper: NDArray[np.float64],
    kernel: KernelParams,
    options: TrainingOptions,
    epsilon: float = 0.1,
    nu: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> tuple[KernelModel, dict[str, NDArray[Any]]]: ...
def quantile_svr_fit(
    X: Any,
    targets: NDArray[np.float64],
    upper: NDArray[np.float64],
    kernel: KernelParams,
    options: TrainingOptions,
    quantiles: NDArray[np.float64],
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> tuple[KernelModel, dict[str, NDArray[Any]]]: ...
def one_class_fit(
    X: Any,
    upper: NDArray[np.float64],
    kernel: KernelParams,
    options: TrainingOptions,
    nu: float,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> tuple[KernelModel, dict[str, NDArray[Any]]]: ...

class KernelModel:
    def __init__(
        self,
        type: str,
        kernel: KernelParams,
        n_features: int,
        support_vectors: Any,
        dual_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        n_support: NDArray[np.int64] | None = None,
        vote_order: NDArray[np.int64] | None = None,
        labels: NDArray[np.float64] | None = None,
        support: NDArray[np.int64] | None = None,
        equivalent: NDArray[np.float64] | None = None,
        sigmoids: NDArray[np.float64] | None = None,
        noise_scale: float | None = None,
        density_marks: NDArray[np.float64] | None = None,
    ) -> None: ...
    @property
    def type(self) -> str: ...
    @property
    def kernel(self) -> KernelParams: ...
    @property
    def n_features(self) -> int: ...
    @property
    def support_vectors(self) -> Any: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def rho(self) -> NDArray[np.float64]: ...
    @property
    def n_support(self) -> NDArray[np.int64]: ...
    @property
    def vote_order(self) -> NDArray[np.int64]: ...
    @property
    def labels(self) -> NDArray[np.float64]: ...
    @property
    def support(self) -> NDArray[np.int64]: ...
    @property
    def equivalent(self) -> NDArray[np.float64]: ...
    @property
    def sigmoids(self) -> NDArray[np.float64]: ...
    @property
    def noise_scale(self) -> float | None: ...
    @property
    def density_marks(self) -> NDArray[np.float64]: ...
    @property
    def is_calibrated(self) -> bool: ...
    @property
    def n_machines(self) -> int: ...
    def expansion(self, machine: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def decision_values(
        self, X: Any, n_threads: int = 0, factors: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]: ...
    def predict(self, X: Any, n_threads: int = 0) -> NDArray[np.float64]: ...
    def vote_winners(self, values: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def class_scores(self, values: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_libsvm(self, labels: NDArray[np.float64] | None = None) -> bytes: ...
    @staticmethod
    def from_libsvm(
        data: bytes, zero_based: bool | None = None, n_features: int | None = None
    ) -> KernelModel: ...

def density_marks(
    values: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def fit_sigmoid(
    values: NDArray[np.float64], is_first: NDArray[np.bool_], counts: NDArray[np.float64]
) -> tuple[float, float]: ...
def noise_scale(errors: NDArray[np.float64]) -> float: ...

class PassOptions:
    def __init__(self) -> None: ...
    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool
    seed: int

class MarginLoss:
    def __init__(self, margin: float, is_squared: bool = False) -> None: ...

class LinearPenalty:
    def __init__(self, l2: float, l1: float) -> None: ...
    @property
    def l2(self) -> float: ...
    @property
    def l1(self) -> float: ...

class StepSize:
    def __init__(self) -> None: ...
    @staticmethod
    def constant(eta0: float) -> StepSize: ...
    @staticmethod
    def adaptive(eta0: float) -> StepSize: ...
    @staticmethod
    def inverse_time(factor: float, offset: float) -> StepSize: ...
    @staticmethod
    def power(eta0: float, exponent: float) -> StepSize: ...

class OnlineSettings:
    def __init__(self) -> None: ...
    loss: MarginLoss
    penalty: LinearPenalty
    fit_intercept: bool
    passes: PassOptions
    follows_loss: bool
    step: StepSize
    batch_size: int
    average_from: int
    is_mapped: bool
    n_threads: int

class MistakeRecord:
    def __init__(self) -> None: ...
    @property
    def mistakes_per_pass(self) -> NDArray[np.int64]: ...
    @property
    def is_separated(self) -> bool: ...
    @property
    def is_stalled(self) -> bool: ...
    @property
    def measure(self) -> float: ...

class OnlineStates:
    def __init__(
        self,
        w: NDArray[np.float64],
        b: NDArray[np.float64],
        average_w: NDArray[np.float64],
        average_b: NDArray[np.float64],
        n_steps: NDArray[np.int64],
        n_averaged: NDArray[np.int64],
        lost: NDArray[np.float64],
        due: NDArray[np.float64],
    ) -> None: ...
    @property
    def w(self) -> NDArray[np.float64]: ...
    @property
    def b(self) -> NDArray[np.float64]: ...
    @property
    def average_w(self) -> NDArray[np.float64]: ...
    @property
    def average_b(self) -> NDArray[np.float64]: ...
    @property
    def n_steps(self) -> NDArray[np.int64]: ...
    @property
    def n_averaged(self) -> NDArray[np.int64]: ...
    @property
    def lost(self) -> NDArray[np.float64]: ...
    @property
    def due(self) -> NDArray[np.float64]: ...
    @property
    def has_averages(self) -> bool: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def model(self, n_classes: int) -> LinearModel: ...
    def with_weights(self, w: NDArray[np.float64], b: NDArray[np.float64]) -> OnlineStates: ...

class OnlineResult:
    def __init__(self) -> None: ...
    @property
    def states(self) -> OnlineStates: ...
    @property
    def records(self) -> list[MistakeRecord]: ...

def online_fit(
    X: Any,
    y: NDArray[np.int64],
    weight: NDArray[np.float64],
    validation_weight: NDArray[np.float64],
    class_weight: NDArray[np.float64],
    positive: NDArray[np.int64],
    settings: OnlineSettings,
    start: OnlineStates | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> OnlineResult: ...
def online_objective(
    X: Any,
    y: NDArray[np.int64],
    weight: NDArray[np.float64],
    class_weight: NDArray[np.float64],
    positive: NDArray[np.int64],
    settings: OnlineSettings,
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def largest_magnitude(array: NDArray[Any]) -> float: ...
def scan_columns(indices: NDArray[Any], indptr: NDArray[Any]) -> tuple[int, int, bool]: ...
def release_mapped(array: NDArray[Any]) -> None: ...

class KernelPerceptronFit:
    def __init__(self) -> None: ...
    @property
    def alpha(self) -> NDArray[np.int64]: ...
    @property
    def beta(self) -> NDArray[np.float64]: ...
    @property
    def records(self) -> list[MistakeRecord]: ...
    @property
    def kernel_rows(self) -> int: ...

def kernel_perceptron_fit(
    X: Any,
    y: NDArray[np.int64],
    positive: NDArray[np.int64],
    kernel: KernelParams,
    passes: PassOptions,
    *,
    is_joint: bool = False,
    offset: float = 1.0,
    average: bool = False,
    cache_bytes: int = 209715200,
    n_threads: int = 0,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> KernelPerceptronFit: ...

class LinearModel:
    def __init__(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64], n_classes: int = 0
    ) -> None: ...
    @property
    def coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def n_classes(self) -> int: ...
    def decision_values(
        self, X: Any, n_threads: int = 0, is_mapped: bool = False
    ) -> NDArray[np.float64]: ...
    def predict(self, X: Any, n_threads: int = 0) -> NDArray[np.float64]: ...

class LinearOutcome:
    def __init__(self) -> None: ...
    @property
    def primal_objective(self) -> float: ...
    @property
    def dual_objective(self) -> float: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def n_free(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def stop_reason(self) -> str: ...

class LinearFormulation:
    def __init__(
        self,
        *,
        loss: str,
        penalty: str = "l2",
        epsilon: float = 0.0,
        intercept_scaling: float = 1.0,
        is_multiclass: bool = False,
    ) -> None: ...

class LinearOptions:
    def __init__(
        self,
        *,
        tol: float = 0.0001,
        max_iter: int = -1,
        time_limit: float = ...,
        seed: int = 0,
        n_threads: int = 0,
    ) -> None: ...
    @property
    def n_threads(self) -> int: ...
    time_limit: float

def linear_svc_fit(
    X: Any,
    y: NDArray[np.int64],
    weight: NDArray[np.float64],
    class_weight: NDArray[np.float64],
    fold_of: NDArray[np.int64],
    n_folds: int,
    C: NDArray[np.float64],
    formulation: LinearFormulation,
    options: LinearOptions,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> list[tuple[LinearModel, list[LinearOutcome]]]: ...
def linear_svr_fit(
    X: Any,
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    C: NDArray[np.float64],
    formulation: LinearFormulation,
    options: LinearOptions,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> list[tuple[LinearModel, list[LinearOutcome]]]: ...

class Decision:
    def __init__(
        self,
        support_vectors: Any,
        dual_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        kernel: KernelParams,
    ) -> None: ...
    def decision_function(
        self, X: Any, n_threads: int = 0, factors: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]: ...

def simd_targets() -> list[str]: ...
def active_target() -> str: ...
def thread_count(requested: int = 0) -> int: ...

class CpuLimits:
    def __init__(self) -> None: ...
    @property
    def in_mask(self) -> int: ...
    @property
    def quota(self) -> float: ...
    @property
    def by_variable(self) -> int: ...
    @property
    def variable(self) -> str: ...
    @property
    def by_call(self) -> int: ...

def cpu_quota(root: str = "") -> float: ...
def limit_threads(limit: int) -> None: ...
def read_svmlight(
    data: bytes,
    zero_based: bool | None,
    n_features: int | None,
    query_id: bool,
    multilabel: bool = False,
) -> tuple[Any, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
def write_svmlight(
    X: Any,
    y: NDArray[np.float64],
    begin: int,
    end: int,
    zero_based: bool,
    label_ends: NDArray[np.int64] | None = None,
    query_ids: NDArray[np.int64] | None = None,
) -> bytes: ...
