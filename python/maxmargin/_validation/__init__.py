"""The only judge of what users pass in: arrays, labels, weights and parameters.

Functions return what the C++ core takes, without a copy where the input has that form already, and
raise ValueError naming the argument, its value and what is allowed. Nothing is changed in place.
"""

from maxmargin._validation.labels import (
    ClassWeight,
    check_class_factor,
    check_class_weight,
    check_classes,
    check_known_labels,
    check_labels,
    check_sample_weight,
    column_of_labels,
    upper_bounds,
)
from maxmargin._validation.parameters import (
    Callback,
    Gamma,
    check_C,
    check_cache_size,
    check_callback,
    check_choice,
    check_flag,
    check_gamma,
    check_integer,
    check_max_iter,
    check_n_jobs,
    check_real,
    check_seed,
    check_time_limit,
    gamma_of,
    is_real,
    usable_cores,
)
from maxmargin._validation.samples import (
    check_features,
    check_matrix,
    feature_names,
)

__all__ = [
    "Callback",
    "ClassWeight",
    "Gamma",
    "check_C",
    "check_cache_size",
    "check_callback",
    "check_choice",
    "check_class_factor",
    "check_class_weight",
    "check_classes",
    "check_known_labels",
    "check_features",
    "check_flag",
    "check_gamma",
    "check_integer",
    "check_labels",
    "check_matrix",
    "check_max_iter",
    "check_n_jobs",
    "check_real",
    "check_seed",
    "check_sample_weight",
    "check_time_limit",
    "column_of_labels",
    "feature_names",
    "gamma_of",
    "is_real",
    "upper_bounds",
    "usable_cores",
]
