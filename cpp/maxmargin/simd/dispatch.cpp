#include "maxmargin/simd/dispatch.hpp"

#include "maxmargin/base/error.hpp"

#include <cstdlib>

namespace maxmargin::simd {

extern const KernelTable baseline_table;
#ifdef MAXMARGIN_REFERENCE
extern const KernelTable reference_table;
#endif
#ifdef MAXMARGIN_X86
extern const KernelTable avx2_table;
extern const KernelTable avx512_table;
#endif

const std::vector<const KernelTable*>& supported_tables() {
  static const std::vector<const KernelTable*> tables = [] {
    std::vector<const KernelTable*> found;
#ifdef MAXMARGIN_REFERENCE
    found.push_back(&reference_table);
#endif
    found.push_back(&baseline_table);
#ifdef MAXMARGIN_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2) found.push_back(&avx2_table);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
      found.push_back(&avx512_table);
#endif
    return found;
  }();
  return tables;
}

const KernelTable& table_named(const std::string& name) {
  std::string known;
  for (const KernelTable* table : supported_tables()) {
    if (name == table->name) return *table;
    known += std::string(known.empty() ? "" : ", ") + table->name;
  }
  throw InvalidArgument("SIMD target must be one of " + known + " on this machine, got '" + name +
                        "'");
}

const KernelTable& active_table() {
  static const KernelTable& table = []() -> const KernelTable& {
    const char* forced = std::getenv("MAXMARGIN_SIMD");
    if (forced != nullptr && *forced != '\0') return table_named(forced);
    return *supported_tables().back();
  }();
  return table;
}

} // namespace maxmargin::simd
