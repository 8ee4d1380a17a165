#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/dual/dual_problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace maxmargin::dual {

// The numbers of some variables, in one piece of memory. All zero, they cannot move.
struct VariableArrays {
  void resize_zeros(index_t size) {
    memory_.resize_discard(4 * size);
    std::ranges::fill(memory_.span(), 0.0);
    index_t begin = 0;
    for (auto* array : {&beta, &gradient, &lower, &upper}) {
      *array = memory_.span().subspan(begin, size);
      begin += size;
    }
  }

  std::span<double> beta, gradient, lower, upper;

 private:
  AlignedBuffer<double> memory_;
};

// One item for each group, of which there are one or two: in place, since to allocate memory takes
// as long as a pair step on few variables.
template <class T> class PerGroup {
 public:
  PerGroup() = default;
  explicit PerGroup(const T& only) : items_{only}, size_(1) {}

  void push_back(const T& item) { items_[size_++] = item; }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t g) { return items_[g]; }
  const T& operator[](std::size_t g) const { return items_[g]; }
  T& back() { return items_[size_ - 1]; }
  const T& back() const { return items_[size_ - 1]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, 2> items_{};
  std::size_t size_ = 0;
};

// The ends of the optimality interval of a group; -infinity and infinity where no variable of it
// may grow, or none may fall.
struct Interval {
  double up = 0.0;  // max -gradient over the variables that may grow
  double low = 0.0; // min -gradient over those that may fall
};

// The gradient is K beta + ridge beta + linear.
struct Solution : VariableArrays {
  PerGroup<Interval> intervals;
  index_t n_iter = 0; // pair steps
  optim::StopReason stop_reason = optim::StopReason::converged;
  bool is_inexact = false; // the gradient, except at the ends of the intervals
  double drift = 0.0;      // of the gradient from that of beta, by rounding in float64
  double total_step = 0.0; // sum of |change| over all steps and variables

  double kkt_violation() const {
    double largest = 0.0;
    for (const Interval& ends : intervals) largest = std::max(largest, ends.up - ends.low);
    return largest;
  }
};

// The multiplier of a group's sum: the gradient of its free variables, or without one the middle of
// the interval, or the end of it where it has only one (LIBSVM's rule).
inline double multiplier_of(const Solution& solution, const DualProblem& problem, std::size_t g) {
  const Group group = problem.group(g);
  double sum = 0.0;
  index_t n_free = 0;
  for (index_t i = group.begin; i < group.end; ++i)
    if (solution.beta[i] > problem.lower[i] && solution.beta[i] < problem.upper[i]) {
      sum += solution.gradient[i];
      ++n_free;
    }
  if (n_free > 0) return sum / static_cast<double>(n_free);
  const Interval& ends = solution.intervals[g];
  if (std::isinf(ends.up) || std::isinf(ends.low))
    return std::isinf(ends.up) ? (std::isinf(ends.low) ? 0.0 : -ends.low) : -ends.up;
  return -(ends.up + ends.low) / 2.0;
}

} // namespace maxmargin::dual
