"""The only judge of what users pass in: arrays, labels, weights and parameters.

Functions return what the C++ core takes, without a copy where the input has that form already, and
raise ValueError naming the argument, its value and what is allowed. Nothing is changed in place.
"""

from maxmargin._input.labels import (
    ClassWeight,
    check_class_factor,
    check_class_weight,
    check_classes,
    check_feasible_nu,
    check_known_labels,
    check_labels,
    check_ridge,
    check_sample_weight,
    check_targets,
    check_weighted_classes,
    column_of_labels,
    upper_bounds,
    weighted_bounds,
)
from maxmargin._input.parameters import (
    Callback,
    Gamma,
    check_C,
    check_cache_size,
    check_callback,
    check_choice,
    check_flag,
    check_gamma,
    check_grid,
    check_integer,
    check_intercept_scaling,
    check_max_iter,
    check_n_jobs,
    check_nu,
    check_real,
    check_scores_of_grid,
    check_seed,
    check_time_limit,
    check_verbose,
    gamma_of,
    is_real,
)
from maxmargin._input.samples import (
    check_features,
    check_matrix,
    check_values,
    feature_names,
    with_weights,
)
from maxmargin._input.state import (
    are_classes,
    check_fits,
    check_part,
    is_array,
    is_finite_array,
    is_matrix,
    valid_indices,
)
