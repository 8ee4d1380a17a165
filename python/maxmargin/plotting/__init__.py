"""Pictures of data, machines and fits, drawn with matplotlib.

matplotlib is optional, and imported when the first picture is asked for. Every function draws on
the axes it is given, or on those of a new figure, and returns them; nothing global is changed.

For an estimator, every function also takes a fitted pipeline of scikit-learn's that ends in one,
and a fitted search, whose `best_estimator_` is meant. `X` is then what the pipeline takes, and the
plane is that of its two features.
"""

from maxmargin.plotting._convergence import plot_convergence
from maxmargin.plotting._decision_regions import plot_decision_regions
from maxmargin.plotting._grid import plot_grid
from maxmargin.plotting._kernel_matrix import plot_kernel_matrix
from maxmargin.plotting._passes import plot_mistakes, plot_passes
from maxmargin.plotting._style import require_matplotlib

__all__ = [
    "plot_convergence",
    "plot_decision_regions",
    "plot_grid",
    "plot_kernel_matrix",
    "plot_mistakes",
    "plot_passes",
    "require_matplotlib",
]


def __dir__() -> list[str]:
    return sorted(__all__)
