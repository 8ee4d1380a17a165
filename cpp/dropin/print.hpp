#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace maxmargin::dropin {

using PrintFunction = void (*)(const char*);

// The print function of a library: of all threads, to be changed at any time.
class Printer {
 public:
  // NULL: standard output, as both libraries have it, unless MAXMARGIN_QUIET is set: for programs
  // whose own copy of a library was made silent.
  void set(PrintFunction function) { function_.store(function); }

  template <class... Values> void operator()(const char* format, Values... values) const noexcept {
    char text[512];
    const int size = std::snprintf(text, sizeof text, format, values...);
    if (const PrintFunction function = function_.load()) {
      function(text);
    } else if (size > 0 && !is_quiet()) {
      std::fwrite(text, 1, std::char_traits<char>::length(text), stdout);
      std::fflush(stdout);
    }
  }

 private:
  static bool is_quiet() {
    static const bool is_set = std::getenv("MAXMARGIN_QUIET") != nullptr;
    return is_set;
  }

  std::atomic<PrintFunction> function_{nullptr};
};

} // namespace maxmargin::dropin
