#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// By row of X, the first row that is equal to it, bit for bit, as is its label (where there are
// labels): the row itself where none before it is. The time is that of reading X once.
std::vector<index_t> first_equal_rows(const MatrixView& X, std::span<const double> labels,
                                      int threads, Control& control);

} // namespace maxmargin
