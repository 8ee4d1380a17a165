#include "maxmargin/base/mapped_memory.hpp"

#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace maxmargin {

void release_mapped([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if __has_include(<sys/mman.h>) && defined(MADV_DONTNEED)
  // Whole pages only: what shares a page with others stays.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + page - 1) / page * page;
  const std::uintptr_t last = (address + bytes) / page * page;
  // A hint: that it is not taken is no error.
  if (last > first)
    static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED));
#endif
}

} // namespace maxmargin
