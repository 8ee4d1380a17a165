#pragma once

#include "maxmargin/base/export.hpp"

#include <stdexcept>
#include <string>

namespace maxmargin {

// The caller's mistake: the message names what was wrong, the value and what is allowed.
struct MAXMARGIN_API InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The computation left the range of its number type (a kernel value overflowed, for one).
struct MAXMARGIN_API NumericError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller's progress hook asked to stop and wants no result.
struct MAXMARGIN_API Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled by the caller") {}
};

inline void require(bool condition, const std::string& message) {
  if (!condition) throw InvalidArgument(message);
}

} // namespace maxmargin
