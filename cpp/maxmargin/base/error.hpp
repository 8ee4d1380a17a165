#pragma once

#include <stdexcept>
#include <string>

namespace maxmargin {

// The caller's mistake: the message names what was wrong, the value and what is allowed.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The computation left the range of its number type (a kernel value overflowed, for one).
struct NumericError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller's progress hook asked to stop and wants no result.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled by the caller") {}
};

inline void require(bool condition, const std::string& message) {
  if (!condition) throw InvalidArgument(message);
}

} // namespace maxmargin
