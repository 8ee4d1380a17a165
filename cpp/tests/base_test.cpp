// How long wake-ups take, base/wake_up; aligned memory, base/aligned_buffer.
#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/wake_up.hpp"

#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

using maxmargin::WakeUp;
using namespace std::chrono_literals;

TEST_CASE("the shortest of the first wake-ups counts, where it is slow") {
  const WakeUp::Clock::time_point begin{1s};
  WakeUp wake_up;
  for (int i = 0; i < WakeUp::kMeasurements - 1; ++i)
    wake_up.measure(begin, begin + 1ms, begin + 1ms + 3ms);
  wake_up.measure(begin + 1ms, begin + 1ms + 5us, begin + 1ms + 6us); // not yet asleep
  CHECK(wake_up.ratio() == 1.0);
  wake_up.measure(begin, begin + 1ms, begin + 1ms + 100us);
  CHECK(wake_up.ratio() == doctest::Approx(5.0));
  wake_up.measure(begin, begin + 1ms, begin + 1ms + 1us); // once per process
  CHECK(wake_up.ratio() == doctest::Approx(5.0));
}

TEST_CASE("a usual wake-up changes nothing") {
  const WakeUp::Clock::time_point begin{1s};
  WakeUp wake_up;
  for (int i = 0; i < WakeUp::kMeasurements; ++i)
    wake_up.measure(begin, begin + 1ms, begin + 1ms + 8us);
  CHECK(wake_up.ratio() == 1.0);
}

TEST_CASE("buffers of every size begin on a cache line and keep what is written") {
  std::vector<maxmargin::AlignedBuffer<double>> buffers;
  for (maxmargin::index_t size = 1; size < 300; ++size) {
    buffers.emplace_back(size);
    for (double& x : buffers.back().span()) x = static_cast<double>(size);
  }
  for (const auto& buffer : buffers) {
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % maxmargin::kAlignment == 0);
    CHECK(buffer[0] == static_cast<double>(buffer.size()));
    CHECK(buffer[buffer.size() - 1] == static_cast<double>(buffer.size()));
  }
}
