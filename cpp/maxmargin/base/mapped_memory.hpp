#pragma once

#include "maxmargin/base/export.hpp"

#include <cstddef>

namespace maxmargin {

// Gives the pages of a file mapped into memory back to the system, which reads them again when they
// are next touched: the process then holds no more of the file than it has read since. Requires:
// [begin, begin + bytes) lies in a mapping that is read-only or shared, so that nothing is lost.
// Does nothing where the system has no such call.
MAXMARGIN_INSIDE void release_mapped(const void* begin, std::size_t bytes);

} // namespace maxmargin
