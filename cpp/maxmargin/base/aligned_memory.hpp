#pragma once

#include "maxmargin/base/types.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace maxmargin {

// Memory on cache-line boundaries. Large pieces ask for whole huge pages, since the first touch of
// every small page costs more than computing what is written there (2.5 ms for 8 MB, where huge
// ones take 0.3). Small pieces are parts of ordinary ones, a byte before which says where those
// begin: aligned ones pass by what malloc keeps at hand (0.1 microseconds).
class AlignedMemory {
 public:
  static void* allocate(std::size_t bytes) {
    if (bytes <= kSmall) {
      auto* const whole = static_cast<std::uint8_t*>(::operator new(bytes + kAlignment));
      const std::size_t shift = kAlignment - reinterpret_cast<std::uintptr_t>(whole) % kAlignment;
      whole[shift - 1] = static_cast<std::uint8_t>(shift);
      return whole + shift;
    }
    if (!is_large(bytes)) return ::operator new(bytes, std::align_val_t{kAlignment});
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = ::operator new(bytes, std::align_val_t{kHugePage});
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
  }
  // Of so many bytes, when they were allocated.
  static void free(void* memory, std::size_t bytes) {
    if (bytes <= kSmall) {
      auto* const part = static_cast<std::uint8_t*>(memory);
      return ::operator delete(part - part[-1]);
    }
    ::operator delete(memory, std::align_val_t{is_large(bytes) ? kHugePage : kAlignment});
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kSmall = 960; // glibc keeps up to 1032 at hand
  static bool is_large(std::size_t bytes) { return bytes >= kHugePage; }
};

template <class T> struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U> AlignedAllocator(const AlignedAllocator<U>& /*other*/) {}

  T* allocate(std::size_t n) { return static_cast<T*>(AlignedMemory::allocate(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t n) { AlignedMemory::free(memory, n * sizeof(T)); }
  bool operator==(const AlignedAllocator& /*other*/) const { return true; }
};

// A vector whose first touch may take long.
template <class T> using AlignedVector = std::vector<T, AlignedAllocator<T>>;

} // namespace maxmargin
