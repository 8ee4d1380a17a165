#pragma once

#include "maxmargin/base/wake_up.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace maxmargin {

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long a thread spins before it sleeps, from what its last waits were like. A spin costs its
// time where the wait is longer, and saves a wake-up where it is not: of a few lengths, the one
// that would have cost least lately is taken (Karlin, Li, Manasse and Owicki, SOSP 1991). A thread
// that is taken off its processor while it spins shares that with others, and for a while only
// sleeps.
class Patience {
 public:
  using Clock = WakeUp::Clock;

  // Waits until `is_over()`; at last by `sleep()`, which may return early.
  template <class IsOver, class Sleep> void wait(const IsOver& is_over, const Sleep& sleep) {
    if (is_over()) return;
    const Clock::time_point begin = Clock::now();
    const Clock::duration spin = begin < shared_until_ ? Micro(0) : kSpins[best_];
    for (Clock::time_point now = begin; now - begin < spin;) {
      for (int i = 0; i < kPauses; ++i) pause_processor();
      const Clock::time_point before = now;
      now = Clock::now();
      if (now - before > kAbsence) note_absence(now);
      if (is_over()) return learn(now - begin);
      if (now < shared_until_) break;
    }
    while (!is_over()) sleep();
    learn(Clock::now() - begin);
  }

 private:
  using Micro = std::chrono::microseconds;
  using Milli = std::chrono::milliseconds;
  static constexpr std::array kSpins{Micro(0), Micro(5), Micro(20), Micro(60), Micro(250)};
  // The cost of a wake-up, in microseconds of spinning. It takes 15 to 25 of them, and 7 of the
  // thread that wakes. With 30, SVC on 2,000 samples of 20 features took 6 % longer than with
  // barriers that only spin; with 250, as long (2 processors of a virtual machine, 60 to 140
  // between two meetings). Where wake-ups are slow, this times WakeUp::ratio().
  static constexpr float kWakeUp = 250.0F;
  static constexpr float kMemory = 1.0F / 16.0F; // the share of the last wait in the mean costs
  static constexpr int kPauses = 8;
  // Longer than what the kernel does between two pauses, shorter than another thread's turn.
  static constexpr Milli kAbsence{1};
  // Time without spinning after an absence, and its limit after repeated ones: an absence costs a
  // turn of another thread, 3 to 4 ms, so that no more than 7 % and at last 0.3 % go to it.
  static constexpr Milli kRest{50}, kRestLimit{1600};

  void note_absence(Clock::time_point now) {
    rest_ = now - shared_until_ < 2 * rest_ ? std::min(2 * rest_, kRestLimit) : kRest;
    shared_until_ = now + rest_;
  }

  void learn(Clock::duration wait) {
    const float wake_up = kWakeUp * static_cast<float>(WakeUp::of_process().ratio());
    const float waited = std::chrono::duration<float, std::micro>(wait).count();
    for (std::size_t s = 0; s < kSpins.size(); ++s) {
      const auto spin = static_cast<float>(kSpins[s].count());
      mean_cost_[s] += kMemory * ((waited < spin ? waited : spin + wake_up) - mean_cost_[s]);
    }
    best_ = static_cast<std::size_t>(std::ranges::min_element(mean_cost_) - mean_cost_.begin());
  }

  std::array<float, kSpins.size()> mean_cost_{}; // by length of spin
  std::size_t best_ = 0;
  Clock::time_point shared_until_{};
  Milli rest_ = kRest;
};

} // namespace maxmargin
