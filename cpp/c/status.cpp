#include "c/handles.hpp"

#include <new>

namespace maxmargin::c {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

mm_status keep(mm_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) { // no memory for the message
    last_error().clear();
  }
  return status;
}

} // namespace

mm_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const InvalidArgument& error) {
    return keep(MM_INVALID_ARGUMENT, error.what());
  } catch (const NumericError& error) {
    return keep(MM_NUMERIC_ERROR, error.what());
  } catch (const Cancelled& error) {
    return keep(MM_CANCELLED, error.what());
  } catch (const FileError& error) {
    return keep(MM_FILE_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return keep(MM_NO_MEMORY, "not enough memory");
  } catch (const std::exception& error) {
    return keep(MM_INTERNAL_ERROR, error.what());
  } catch (...) {
    return keep(MM_INTERNAL_ERROR, "unknown error");
  }
}

} // namespace maxmargin::c

const char* mm_last_error(void) {
  return maxmargin::c::last_error().c_str();
}

const char* mm_version(void) {
  return MAXMARGIN_VERSION;
}
