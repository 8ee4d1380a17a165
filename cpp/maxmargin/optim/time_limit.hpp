#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/types.hpp"

namespace maxmargin::optim {

// The seconds that a solver may take, counted from construction. The clock is read and the control
// polled about once in a million elements: both cost more than a short row.
class TimeLimit {
 public:
  TimeLimit(double seconds, Control& control)
      : limit_(seconds), control_(control), begun_(control.seconds()) {}

  // To be called for every row, or column, of so many elements; `progress` is what the caller
  // gets. Returns whether the time is up.
  template <class Get> bool is_up_after(index_t n_elements, const Get& progress) {
    until_look_ -= kElementsPerRow + n_elements;
    return until_look_ <= 0 && poll(progress);
  }

  // Reads the clock.
  bool look() { return is_up_ = seconds() > limit_; }
  // As last read.
  bool is_up() const { return is_up_; }
  double seconds() const { return control_.seconds() - begun_; }

 private:
  static constexpr index_t kElementsPerLook = 1 << 20;
  static constexpr index_t kElementsPerRow = 16; // the cost of a row without its elements

  template <class Get> bool poll(const Get& progress) {
    until_look_ = kElementsPerLook;
    control_.poll(progress);
    return look();
  }

  double limit_;
  Control& control_;
  double begun_;
  index_t until_look_ = 0;
  bool is_up_ = false;
};

} // namespace maxmargin::optim
