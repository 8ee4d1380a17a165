#pragma once

namespace maxmargin::dropin {

// What work() returns, or `otherwise` where it throws: no exception leaves a C function.
template <class T, class Work> T guarded(T otherwise, const Work& work) noexcept {
  try {
    return work();
  } catch (...) {
    return otherwise;
  }
}

} // namespace maxmargin::dropin
