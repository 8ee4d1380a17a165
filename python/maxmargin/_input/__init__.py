"""The only judge of what users pass in: arrays, labels, weights and parameters.

Functions return what the C++ core takes, without a copy where the input has that form already, and
raise ValueError naming the argument, its value and what is allowed. Nothing is changed in place.
"""

from maxmargin._input.labels import *
from maxmargin._input.parameters import *
from maxmargin._input.samples import *
from maxmargin._input.state import *
